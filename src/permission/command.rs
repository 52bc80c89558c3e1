//! Shell commands: what becomes of each part of one, where no rule decides about the whole tool.
//!
//! The order in which a part is looked at, as measured on 2.1.326: text that cannot be checked, the files that it reads
//! and writes, rules, `acceptEdits`, and at last whether it only reads.

mod files;
mod list;
mod read_only;
mod strip;

pub(super) use files::{Files, files};
use read_only::{expands_harmlessly, is_read_only};
use strip::{sets_harmless, stripped};

use super::{
    access::{Access, Place},
    context::{Context, Placed},
    danger::is_in_place,
    flow::{By, Decision, Outcome, Step},
    pattern::{Ground, Use},
    protect::is_protected,
    rule::{Content, Rule},
    scope::{Behaviour, Mode},
    shell::{Part, Pieces, Word, joined},
};

pub(super) const OUTSIDE: &str = "a file outside the working folders";
const WRITES_OUTSIDE: &str = "writes outside the working folders";
const REDIRECTS: &str = "a redirection writes a file, which only `Edit(path)` allows";
const EXPANDS: &str = "only the shell knows what a word becomes";
const VARIES: &str = "a pattern names the files to write";
const CHANGES: &str = "it changes the folder more than once";
const CHANGES_AND_WRITES: &str = "it changes the folder and writes";
const CHANGES_AND_GIT: &str = "it changes the folder and runs git";
const NOTHING: &str = "it has no command";
const READS: &str = "read-only command";
const ASSIGNS: &str = "sets a variable";

/// Commands that `acceptEdits` takes for edits, with `sed -i`.
const EDITING: &[&str] = &["touch", "mkdir", "rm", "rmdir", "mv", "cp"];

/// What a rule has to be about.
#[derive(Debug)]
pub(super) enum Need<'p> {
    /// Reading this file or folder.
    Read(String),
    /// Writing this file.
    Edit(String),
    /// Running this part.
    Command(&'p Part),
}

/// A command in its context.
pub(super) struct Judge<'c, 'a> {
    pub(super) context: &'c Context,
    pub(super) ground: &'a Ground,
    pub(super) command: &'a str,
    pub(super) pieces: &'a Pieces,
}

impl<'c> Judge<'c, '_> {
    /// What becomes of the whole: it runs if every part does.
    pub(super) fn whole(&self) -> Outcome<'c> {
        if let Some(outcome) = self.refused() {
            return outcome;
        }
        let mut used: Vec<Placed<'c>> = Vec::new();
        let mut by_mode = None;
        for outcome in self.parts() {
            if outcome.decision != Decision::Allow {
                return outcome;
            }
            match outcome.by {
                By::Rules(rules) => rules.into_iter().for_each(|rule| {
                    if !used.contains(&rule) {
                        used.push(rule);
                    }
                }),
                By::Mode(mode) => by_mode = Some(By::Mode(mode)),
                By::Own(_) | By::Asks(_) | By::Depends(_) => {}
                By::Interaction | By::NoPrompts | By::Default => {}
            }
        }
        match by_mode {
            Some(by) => Outcome { decision: Decision::Allow, step: Step::Mode, by },
            None if used.is_empty() => allows(Step::Tool, By::Own(READS)),
            None => allows(Step::Allow, By::Rules(used)),
        }
    }

    /// Why the command is asked about as a whole, before its parts are looked at.
    fn refused(&self) -> Option<Outcome<'c>> {
        let Pieces { parts, doubt, unchecked } = self.pieces;
        let why = doubt.as_ref().map(ToString::to_string).or_else(|| unchecked.map(|why| why.to_string()));
        if let Some(why) = why {
            return Some(asks(why));
        }
        if parts.is_empty() {
            return Some(asks(NOTHING));
        }
        let moves = parts.iter().filter(|part| self.target(part).is_some()).count();
        let all: Vec<Files<'_>> = parts.iter().map(files).collect();
        let writes = all.iter().any(|files| !files.written.is_empty() || !files.redirected.is_empty());
        let git = parts.iter().any(|part| name(part) == "git");
        match moves {
            0 => None,
            1 if writes => Some(asks(CHANGES_AND_WRITES)),
            1 if git => Some(asks(CHANGES_AND_GIT)),
            1 => None,
            _ => Some(asks(CHANGES)),
        }
    }

    /// What becomes of each part.
    pub(super) fn parts(&self) -> Vec<Outcome<'c>> {
        self.pieces.parts.iter().map(|part| self.part(part)).collect()
    }

    fn part(&self, part: &Part) -> Outcome<'c> {
        if part.core().is_empty() && part.redirects.is_empty() && sets_harmless(&part.words) {
            return allows(Step::Tool, By::Own(ASSIGNS));
        }
        let core = stripped(&part.words);
        let mut used = match self.files(part) {
            Ok(rules) => rules,
            Err(why) => return asks(why),
        };
        let accepts = self.context.mode == Mode::AcceptEdits;
        let by_mode = || allows(Step::Mode, By::Mode(Mode::AcceptEdits));
        let writes = part.written().next().is_some();
        if is_read_only(&part.words) {
            return match () {
                () if accepts && writes && used.is_empty() => by_mode(),
                () if used.is_empty() => allows(Step::Tool, By::Own(READS)),
                () => allows(Step::Allow, By::Rules(used)),
            };
        }
        if part.words.iter().any(|word| word.expands) {
            return asks(EXPANDS);
        }
        if let Some(placed) = self.covering(part, core) {
            used.insert(0, placed);
            return allows(Step::Allow, By::Rules(used));
        }
        if accepts && is_edit(core) {
            return by_mode();
        }
        Outcome { decision: Decision::Ask, step: Step::Default, by: By::Default }
    }

    /// The rules that let the files of a part be read and written, or why it is asked about.
    fn files(&self, part: &Part) -> Result<Vec<Placed<'c>>, &'static str> {
        let files = files(part);
        let mut used = Vec::new();
        let grounds = self.grounds();
        for word in &files.read {
            if word.expands && !expands_harmlessly(word) {
                return Err(EXPANDS);
            }
            for ground in &grounds {
                used.extend(self.place(ground).reads(word).ok_or(OUTSIDE)?);
            }
        }
        for word in files.written.iter().chain(&files.redirected) {
            match word {
                word if word.expands => return Err(EXPANDS),
                word if word.varies => return Err(VARIES),
                _ => {}
            }
        }
        for word in &files.written {
            used.extend(self.place(self.ground).writes(word).ok_or(WRITES_OUTSIDE)?);
        }
        for word in &files.redirected {
            used.extend(self.place(self.ground).redirects(word).ok_or(REDIRECTS)?);
        }
        Ok(used)
    }

    /// What a rule has to say for each part that needs one, or why no rule can let the command through.
    pub(super) fn needs(&self) -> Result<Vec<Need<'_>>, String> {
        if let Some(Outcome { by, .. }) = self.refused() {
            return Err(by.to_string());
        }
        let mut needs = Vec::new();
        for part in &self.pieces.parts {
            let files = files(part);
            let unsure = |word: &&&Word| word.expands && !expands_harmlessly(word) || word.document;
            let all = || files.read.iter().chain(&files.written).chain(&files.redirected);
            if all().any(|word| unsure(&word)) {
                return Err(EXPANDS.to_owned());
            }
            if files.written.iter().chain(&files.redirected).any(|word| word.varies) {
                return Err(VARIES.to_owned());
            }
            let place = self.place(self.ground);
            let path = |word: &Word| Access::path(word).and_then(|path| self.ground.resolve(&path));
            let outside = |word: &&&Word| place.reads(word).is_none();
            needs.extend(files.read.iter().filter(outside).filter_map(|word| path(word)).map(Need::Read));
            let outside = |word: &&&Word| place.writes(word).is_none();
            needs.extend(files.written.iter().filter(outside).filter_map(|word| path(word)).map(Need::Edit));
            needs.extend(files.redirected.iter().filter_map(|word| path(word)).map(Need::Edit));
            let sets = part.core().is_empty() && part.redirects.is_empty() && sets_harmless(&part.words);
            if sets || is_read_only(&part.words) {
                continue;
            }
            if part.words.iter().any(|word| word.expands) {
                return Err(EXPANDS.to_owned());
            }
            needs.push(Need::Command(part));
        }
        Ok(needs)
    }

    fn place<'g>(&self, ground: &'g Ground) -> Place<'c, 'g> {
        Place { context: self.context, ground }
    }

    /// The folders that a relative path may start from: in a command with `cd`, also the project's. From a folder below
    /// it, `cd ..` is asked about and `cat ../x` is not (measured).
    fn grounds(&self) -> Vec<Ground> {
        let mut grounds = vec![self.ground.clone()];
        let changes = self.pieces.parts.iter().any(|part| name(part) == "cd");
        if changes && self.ground.cwd != self.ground.project {
            grounds.push(self.ground.within(self.ground.project.clone()));
        }
        grounds
    }

    /// The folder that a part changes to, if it is another one than the folder of the call and the project's.
    fn target(&self, part: &Part) -> Option<String> {
        let (first, rest) = part.core().split_first()?;
        let word = rest.first().filter(|_| first.text == "cd")?;
        let target = self.ground.resolve(&word.text);
        let stays = target.is_some() && (target == self.ground.cwd || target == self.ground.project);
        (!stays).then(|| target.unwrap_or_default())
    }

    /// The rule that covers a part, or the whole command.
    fn covering(&self, part: &Part, core: &[Word]) -> Option<Placed<'c>> {
        let bare = joined(core);
        let bare = bare.strip_prefix('\\').unwrap_or(&bare);
        let spelt = if core.len() == part.words.len() { part.spelt() } else { bare.to_owned() };
        let covers = |rule: &Rule| match rule.content {
            Some(Content::Command(_)) => rule.says(&spelt) || rule.says(self.command),
            Some(Content::Prefix(_) | Content::Wildcard(_)) => rule.says(bare),
            Some(Content::Path(_) | Content::Domain(_) | Content::Other(_)) | None => false,
            Some(Content::Named(_) | Content::NamedLike(_)) => false,
        };
        let mut rules = self.context.rules(Behaviour::Allow).filter(|placed| placed.rule.tool == "Bash");
        rules.find(|placed| covers(placed.rule))
    }
}

/// The rule that keeps a command from a file (measured: `cat`, `cp`, `<` and others by `Read`, `touch`, `>` and others by
/// `Edit`).
pub(super) fn kept_away<'c>(judge: &Judge<'c, '_>) -> Option<Placed<'c>> {
    judge.context.rules(Behaviour::Deny).find(|placed| is_about_files(judge, placed))
}

/// Whether the path of a rule is about a file that a command reads or writes. Commands that cannot be checked, and words
/// that only the shell knows, are not reached.
pub(super) fn is_about_files(judge: &Judge<'_, '_>, placed: &Placed<'_>) -> bool {
    if judge.pieces.doubt.is_some() || judge.pieces.unchecked.is_some() {
        return false;
    }
    let of = Use { behaviour: placed.behaviour, scope: placed.scope };
    let grounds = judge.grounds();
    let about = |word: &&Word| {
        let path = Access::path(word).filter(|_| !word.expands);
        let hits = |ground: &Ground| {
            let full = path.as_deref().and_then(|path| ground.resolve(path));
            full.is_some_and(|full| placed.rule.is_about(&full, ground, of))
        };
        grounds.iter().any(hits)
    };
    judge.pieces.parts.iter().map(files).any(|files| match placed.rule.tool.as_str() {
        "Read" => files.read.iter().any(about),
        "Edit" => files.written.iter().chain(&files.redirected).any(about),
        _ => false,
    })
}

/// Whether a command writes a protected file, as far as it can be checked.
pub(super) fn writes_protected(ground: &Ground, pieces: &Pieces) -> bool {
    let protected = |word: &&Word| ground.resolve(&word.text).is_some_and(|path| is_protected(&path));
    pieces.doubt.is_none()
        && pieces.parts.iter().any(|part| {
            let files = files(part);
            files.written.iter().chain(&files.redirected).any(protected)
        })
}

/// Whether a command is one that `acceptEdits` takes for an edit.
fn is_edit(core: &[Word]) -> bool {
    let Some((first, rest)) = core.split_first() else { return false };
    let substitutes = || {
        let program = files::free(rest, &[]).first().map(|word| list::substitutes(&word.text));
        is_in_place(rest) && program == Some(true)
    };
    EDITING.contains(&first.text.as_str()) || first.text == "sed" && substitutes()
}

fn name(part: &Part) -> &str {
    part.core().first().map_or("", |word| word.text.as_str())
}

fn allows<'c>(step: Step, by: By<'c>) -> Outcome<'c> {
    Outcome { decision: Decision::Allow, step, by }
}

fn asks<'c>(why: impl Into<std::borrow::Cow<'static, str>>) -> Outcome<'c> {
    Outcome { decision: Decision::Ask, step: Step::Tool, by: By::Asks(why.into()) }
}

#[cfg(test)]
mod tests;
