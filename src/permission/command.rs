//! Checks shell commands part by part, if no rule decides about the whole tool.
//!
//! The order of the checks (outcomes measured on 2.1.326): text that the CLI does not check, files that are
//! read and written, read-only commands, allow rules, and `acceptEdits`.

mod files;
mod list;
mod read_only;
mod strip;

pub(super) use files::{Files, files};
use read_only::{expands_harmlessly, is_read_only};
use strip::{sets_harmless, stripped};

use super::{
    access::{Workspace, word_path},
    context::{Context, ScopedRule},
    danger::is_in_place,
    flow::{By, Decision, Outcome, Step},
    pattern::{Folders, RuleRole},
    protect::is_protected,
    rule::{Content, Rule},
    scope::{Behaviour, Mode},
    shell::{ParsedCommand, Part, Word, joined},
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

/// Commands that `acceptEdits` treats as edits, apart from `sed -i`.
const EDITING: &[&str] = &["touch", "mkdir", "rm", "rmdir", "mv", "cp"];

/// The parts of a command that rules have to allow.
#[derive(Debug)]
pub(super) enum Need<'p> {
    /// Reading this file or folder.
    Read(String),
    /// Writing this file.
    Edit(String),
    /// Running this part.
    Command(&'p Part),
}

/// A parsed command and the context to check it in.
pub(super) struct CommandCheck<'c, 'a> {
    pub(super) context: &'c Context,
    pub(super) folders: &'a Folders,
    pub(super) command: &'a str,
    pub(super) parsed: &'a ParsedCommand,
}

impl<'c> CommandCheck<'c, '_> {
    /// Returns the outcome of the whole command: it runs if every part may run.
    pub(super) fn outcome(&self) -> Outcome<'c> {
        if let Some(outcome) = self.asked_as_whole() {
            return outcome;
        }
        let mut used: Vec<ScopedRule<'c>> = Vec::new();
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
                By::Tool(_) | By::ToolAsks(_) | By::Depends(_) => {}
                By::Interaction | By::NoPrompts | By::Default => {}
            }
        }
        match by_mode {
            Some(by) => Outcome::allow(Step::Mode, by),
            None if used.is_empty() => Outcome::allow(Step::Tool, By::Tool(READS)),
            None => Outcome::allow(Step::Allow, By::Rules(used)),
        }
    }

    /// Returns the outcome if the command is asked about as a whole, before its parts are checked.
    fn asked_as_whole(&self) -> Option<Outcome<'c>> {
        let ParsedCommand { parts, split_error, unchecked } = self.parsed;
        let why =
            split_error.as_ref().map(ToString::to_string).or_else(|| unchecked.map(|why| why.to_string()));
        if let Some(why) = why {
            return Some(Outcome::ask(why));
        }
        if parts.is_empty() {
            return Some(Outcome::ask(NOTHING));
        }
        let moves = parts.iter().filter(|part| self.folder_change(part).is_some()).count();
        let all: Vec<Files<'_>> = parts.iter().map(files).collect();
        let writes = all.iter().any(|files| !files.written.is_empty() || !files.redirected.is_empty());
        let git = parts.iter().any(|part| name(part) == "git");
        match moves {
            0 => None,
            1 if writes => Some(Outcome::ask(CHANGES_AND_WRITES)),
            1 if git => Some(Outcome::ask(CHANGES_AND_GIT)),
            1 => None,
            _ => Some(Outcome::ask(CHANGES)),
        }
    }

    /// Returns the outcome of each part.
    pub(super) fn parts(&self) -> Vec<Outcome<'c>> {
        self.parsed.parts.iter().map(|part| self.part(part)).collect()
    }

    fn part(&self, part: &Part) -> Outcome<'c> {
        if part.core().is_empty() && part.redirects.is_empty() && sets_harmless(&part.words) {
            return Outcome::allow(Step::Tool, By::Tool(ASSIGNS));
        }
        let core = stripped(&part.words);
        let mut used = match self.files(part) {
            Ok(rules) => rules,
            Err(why) => return Outcome::ask(why),
        };
        let accepts = self.context.mode == Mode::AcceptEdits;
        let by_mode = || Outcome::allow(Step::Mode, By::Mode(Mode::AcceptEdits));
        let writes = part.written().next().is_some();
        if is_read_only(&part.words) {
            return match () {
                () if accepts && writes && used.is_empty() => by_mode(),
                () if used.is_empty() => Outcome::allow(Step::Tool, By::Tool(READS)),
                () => Outcome::allow(Step::Allow, By::Rules(used)),
            };
        }
        if part.words.iter().any(|word| word.expands) {
            return Outcome::ask(EXPANDS);
        }
        if let Some(scoped) = self.allow_rule(part, core) {
            used.insert(0, scoped);
            return Outcome::allow(Step::Allow, By::Rules(used));
        }
        if accepts && is_edit(core) {
            return by_mode();
        }
        Outcome::NO_RULE
    }

    /// Returns the rules that allow a part to read and write its files, or why it is asked about.
    fn files(&self, part: &Part) -> Result<Vec<ScopedRule<'c>>, &'static str> {
        let files = files(part);
        let mut used = Vec::new();
        let start_folders = self.start_folders();
        for word in &files.read {
            if word.expands && !expands_harmlessly(word) {
                return Err(EXPANDS);
            }
            for folders in &start_folders {
                used.extend(self.workspace(folders).may_use("Read", word).ok_or(OUTSIDE)?);
            }
        }
        for word in files.written.iter().chain(&files.redirected) {
            match word {
                word if word.expands => return Err(EXPANDS),
                word if word.has_pattern => return Err(VARIES),
                _ => {}
            }
        }
        for word in &files.written {
            used.extend(self.workspace(self.folders).may_use("Edit", word).ok_or(WRITES_OUTSIDE)?);
        }
        for word in &files.redirected {
            used.extend(self.workspace(self.folders).may_redirect(word).ok_or(REDIRECTS)?);
        }
        Ok(used)
    }

    /// Returns what rules have to allow so that the command runs, or why no rule can allow it.
    pub(super) fn needs(&self) -> Result<Vec<Need<'_>>, String> {
        if let Some(Outcome { by, .. }) = self.asked_as_whole() {
            return Err(by.to_string());
        }
        let mut needs = Vec::new();
        for part in &self.parsed.parts {
            let files = files(part);
            let unsure = |word: &&&Word| word.expands && !expands_harmlessly(word) || word.is_heredoc;
            let all = || files.read.iter().chain(&files.written).chain(&files.redirected);
            if all().any(|word| unsure(&word)) {
                return Err(EXPANDS.to_owned());
            }
            if files.written.iter().chain(&files.redirected).any(|word| word.has_pattern) {
                return Err(VARIES.to_owned());
            }
            let workspace = self.workspace(self.folders);
            let path = |word: &Word| word_path(word).and_then(|path| self.folders.resolve(&path));
            let outside = |word: &&&Word| workspace.may_use("Read", word).is_none();
            needs.extend(files.read.iter().filter(outside).filter_map(|word| path(word)).map(Need::Read));
            let outside = |word: &&&Word| workspace.may_use("Edit", word).is_none();
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

    fn workspace<'g>(&self, folders: &'g Folders) -> Workspace<'c, 'g> {
        Workspace { context: self.context, folders }
    }

    /// Returns the folders that relative paths may start from. In a command with `cd` these include the
    /// project's folder: from a folder below it, `cd ..` is asked about and `cat ../x` is not (measured).
    fn start_folders(&self) -> Vec<Folders> {
        let mut start_folders = vec![self.folders.clone()];
        let changes = self.parsed.parts.iter().any(|part| name(part) == "cd");
        if changes && self.folders.cwd != self.folders.project {
            start_folders.push(self.folders.within(self.folders.project.clone()));
        }
        start_folders
    }

    /// Returns the folder that a part changes to, unless it is the working folder or the project's folder.
    fn folder_change(&self, part: &Part) -> Option<String> {
        let (first, rest) = part.core().split_first()?;
        let word = rest.first().filter(|_| first.text == "cd")?;
        let target = self.folders.resolve(&word.text);
        let stays = target.is_some() && (target == self.folders.cwd || target == self.folders.project);
        (!stays).then(|| target.unwrap_or_default())
    }

    /// Returns the allow rule that matches a part or the whole command.
    fn allow_rule(&self, part: &Part, core: &[Word]) -> Option<ScopedRule<'c>> {
        let bare = joined(core);
        let bare = bare.strip_prefix('\\').unwrap_or(&bare);
        let exact_text = if core.len() == part.words.len() { part.rule_text() } else { bare.to_owned() };
        let covers = |rule: &Rule| match rule.content {
            Some(Content::Command(_)) => {
                rule.matches_command(&exact_text) || rule.matches_command(self.command)
            }
            Some(Content::Prefix(_) | Content::Wildcard(_)) => rule.matches_command(bare),
            Some(Content::Path(_) | Content::Domain(_) | Content::Other(_)) | None => false,
            Some(Content::Name(_) | Content::NamePrefix(_)) => false,
        };
        let mut rules = self.context.rules(Behaviour::Allow).filter(|scoped| scoped.rule.tool == "Bash");
        rules.find(|scoped| covers(scoped.rule))
    }
}

/// Returns the deny rule that matches a file of a command (measured: `Read` rules apply to `cat`, `cp`, `<`
/// and others, `Edit` rules to `touch`, `>` and others).
pub(super) fn denying_file_rule<'c>(check: &CommandCheck<'c, '_>) -> Option<ScopedRule<'c>> {
    check.context.rules(Behaviour::Deny).find(|scoped| matches_files(check, scoped))
}

/// Returns whether the path of a rule matches a file that a command reads or writes. Commands that cannot be
/// checked and words with expansions never match.
pub(super) fn matches_files(check: &CommandCheck<'_, '_>, scoped: &ScopedRule<'_>) -> bool {
    if check.parsed.split_error.is_some() || check.parsed.unchecked.is_some() {
        return false;
    }
    let role = RuleRole { behaviour: scoped.behaviour, scope: scoped.scope };
    let start_folders = check.start_folders();
    let about = |word: &&Word| {
        let path = word_path(word).filter(|_| !word.expands);
        let hits = |folders: &Folders| {
            let full = path.as_deref().and_then(|path| folders.resolve(path));
            full.is_some_and(|full| scoped.rule.matches_path(&full, folders, role))
        };
        start_folders.iter().any(hits)
    };
    check.parsed.parts.iter().map(files).any(|files| match scoped.rule.tool.as_str() {
        "Read" => files.read.iter().any(about),
        "Edit" => files.written.iter().chain(&files.redirected).any(about),
        _ => false,
    })
}

/// Returns whether a command writes a protected file, as far as it can be checked.
pub(super) fn writes_protected(folders: &Folders, parsed: &ParsedCommand) -> bool {
    let protected = |word: &&Word| folders.resolve(&word.text).is_some_and(|path| is_protected(&path));
    parsed.split_error.is_none()
        && parsed.parts.iter().any(|part| {
            let files = files(part);
            files.written.iter().chain(&files.redirected).any(protected)
        })
}

/// Returns whether `acceptEdits` treats a command as an edit.
fn is_edit(core: &[Word]) -> bool {
    let Some((first, rest)) = core.split_first() else { return false };
    let substitutes = || {
        let program = files::non_flags(rest, &[]).first().map(|word| list::substitutes(&word.text));
        is_in_place(rest) && program == Some(true)
    };
    EDITING.contains(&first.text.as_str()) || first.text == "sed" && substitutes()
}

fn name(part: &Part) -> &str {
    part.core().first().map_or("", |word| word.text.as_str())
}

#[cfg(test)]
mod tests;
