//! Calls that destroy, or that reach further than a project: what a rule must not let through unseen.
//!
//! The lists are judgement, not documentation. They name what is common and hard to undo; they cannot know all.

mod list;

use list::ROWS;
pub(super) use list::{Operands, WRITERS, may_destroy, operands};

use super::{
    Call,
    path::{below, resolve},
    shell::{Part, Word, pieces, program, unversioned},
    tool::{self, Family},
};

/// Why a call is dangerous, if it is: it destroys, or writes outside the project's folder or where programs start from.
///
/// Without a project, the folder that the call ran in is it. A command that cannot be split is judged by all parts that
/// can be seen in it.
pub fn danger(call: &Call<'_>, project: Option<&str>) -> Option<&'static str> {
    let ground = Ground { project: project.or(call.cwd).and_then(|folder| resolve(folder, None)) };
    match tool::known(call.tool).family {
        Family::Command => ground.command(call.text("command")?, call.cwd),
        Family::Edit(_) => ground.place(&tool::path_of(call)?, call.cwd),
        Family::Read(_) | Family::Web | Family::Agent | Family::Skill | Family::Other => None,
    }
}

const OUTSIDE: &str = "writes outside the project folder";
const SOMEWHERE: &str = "writes to a place that may be outside the project folder";
const DEVICE: &str = "writes to a device";
const AS_OTHER: &str = "runs with the rights of another user";
const DOWNLOADED: &str = "runs what it downloads";
const PIPED: &str = "runs text from a pipe as commands";
const REMOVES_INPUT: &str = "removes whatever its input names";

/// Names in a path that make writing there dangerous even within a project.
const SENSITIVE: &[(&str, &str)] = &[
    (".git", "writes into the folder of git"),
    (".claude", "writes to the settings of Claude Code"),
    (".claude.json", "writes to the settings of Claude Code"),
    (".mcp.json", "changes which servers Claude Code starts"),
    (".ssh", "writes to keys and trusted hosts"),
    (".gnupg", "writes to keys"),
    (".aws", "writes to credentials"),
    (".kube", "writes to credentials"),
    (".netrc", "writes to credentials"),
    (".npmrc", "writes to credentials"),
    (".bashrc", "writes to what a shell runs when it starts"),
    (".bash_profile", "writes to what a shell runs when it starts"),
    (".profile", "writes to what a shell runs when it starts"),
    (".zshrc", "writes to what a shell runs when it starts"),
    (".zprofile", "writes to what a shell runs when it starts"),
    (".gitconfig", "changes what git runs"),
];

/// Devices that may be written.
const HARMLESS: &[&str] = &["null", "stdout", "stderr", "tty", "full", "zero"];

const DOWNLOADERS: &[&str] = &["curl", "wget", "fetch", "aria2c"];
const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "fish"];
const INTERPRETERS: &[&str] = &["python", "perl", "ruby", "node", "php"];

/// The folder within which writing is no danger.
struct Ground {
    project: Option<String>,
}

impl Ground {
    fn command(&self, command: &str, cwd: Option<&str>) -> Option<&'static str> {
        let parts = pieces(command).parts;
        let mut folder = cwd.and_then(|cwd| resolve(cwd, None));
        for part in &parts {
            let found = listed(part.core())
                .or_else(|| wrapped(part))
                .or_else(|| self.writes(part, folder.as_deref()));
            if found.is_some() {
                return found;
            }
            if let Some(target) = changed_folder(part) {
                folder = target
                    .filter(|word| !word.expands)
                    .and_then(|word| resolve(&word.text, folder.as_deref()));
            }
        }
        parts.iter().enumerate().find_map(|(at, part)| piped(part, &parts[..at]))
    }

    /// What a part writes: by redirections, and by programs whose operands are files that they write.
    fn writes(&self, part: &Part, folder: Option<&str>) -> Option<&'static str> {
        let judge = |word: &Word| if word.expands { Some(SOMEWHERE) } else { self.place(&word.text, folder) };
        if let Some(reason) = part.written().find_map(judge) {
            return Some(reason);
        }
        let (first, rest) = part.core().split_first()?;
        let (_, which) = WRITERS.iter().find(|(name, _)| *name == program(&first.text))?;
        written_operands(which, rest).into_iter().find_map(judge)
    }

    /// Why writing at a path is dangerous.
    fn place(&self, path: &str, folder: Option<&str>) -> Option<&'static str> {
        let full = resolve(path, folder);
        let shown = full.as_deref().unwrap_or(path);
        if let Some(device) = shown.strip_prefix("/dev/") {
            let harmless = HARMLESS.contains(&device) || device.starts_with("fd/");
            return (!harmless).then_some(DEVICE);
        }
        let sensitive = |name: &str| SENSITIVE.iter().find(|(sensitive, _)| *sensitive == name);
        // Only what is below the project: a project may itself stand in such a folder.
        let inside =
            full.as_deref().zip(self.project.as_deref()).and_then(|(path, folder)| below(path, folder));
        if let Some((_, reason)) = inside.unwrap_or(shown).split('/').find_map(sensitive) {
            return Some(reason);
        }
        match (&full, &self.project) {
            (Some(_), Some(_)) if inside.is_some() => None,
            (Some(_), Some(_)) => Some(OUTSIDE),
            // Without a folder a path without `..` is in it, wherever that is.
            (None, None) if !path.split('/').any(|name| name == "..") => None,
            (Some(_), None) | (None, Some(_) | None) => Some(SOMEWHERE),
        }
    }
}

/// The files that a program is given to write.
pub(super) fn written_operands<'w>(which: &Operands, rest: &'w [Word]) -> Vec<&'w Word> {
    let files = operands(rest);
    match which {
        Operands::All => files,
        Operands::Last => files.last().copied().into_iter().collect(),
        Operands::InPlace if is_in_place(rest) => files.into_iter().skip(1).collect(),
        Operands::InPlace => Vec::new(),
        Operands::After(flags) => {
            let named = rest.windows(2).filter(|pair| flags.contains(&pair[0].text.as_str()));
            named.map(|pair| &pair[1]).collect()
        }
    }
}

/// Whether `sed` changes the files that it is given.
pub(super) fn is_in_place(rest: &[Word]) -> bool {
    rest.iter().any(|word| word.text.starts_with("-i") || word.text.starts_with("--in-place"))
}

/// What the list of destructive commands says about these words.
fn listed(words: &[Word]) -> Option<&'static str> {
    let (first, rest) = words.split_first()?;
    if program(&first.text) == "find" {
        let at = rest.iter().position(|word| ["-exec", "-execdir", "-ok"].contains(&word.text.as_str()));
        if let Some(reason) = at.and_then(|at| found(&rest[at + 1..])) {
            return Some(reason);
        }
    }
    ROWS.iter().find(|row| row.fits(program(&first.text), rest)).map(|row| row.reason)
}

/// What a command does that runs for each file that was found.
fn found(words: &[Word]) -> Option<&'static str> {
    let removes = words.first().is_some_and(|word| program(&word.text) == "rm");
    if removes { Some(REMOVES_INPUT) } else { listed(words) }
}

/// What wrappers make of a command: other rights, or operands that only the input knows.
fn wrapped(part: &Part) -> Option<&'static str> {
    let first = part.core().first().map(|word| program(&word.text));
    for wrapper in part.wrappers() {
        match wrapper {
            "sudo" | "doas" => return Some(AS_OTHER),
            "xargs" if first.is_some_and(|first| WRITERS.iter().any(|(name, _)| *name == first)) => {
                return Some(REMOVES_INPUT);
            }
            _ => {}
        }
    }
    None
}

/// The folder that a part changes to; within, `None` if it cannot be known.
fn changed_folder(part: &Part) -> Option<Option<&Word>> {
    let (first, rest) = part.core().split_first()?;
    let changes = ["cd", "pushd", "popd"].contains(&first.text.as_str());
    changes.then(|| rest.iter().find(|word| !word.text.starts_with('-')))
}

/// Whether a part runs what the parts before it in its pipeline say.
fn piped(part: &Part, before: &[Part]) -> Option<&'static str> {
    let (first, rest) = part.core().split_first()?;
    let name = program(&first.text);
    let (shell, interpreter) = (SHELLS.contains(&name), INTERPRETERS.contains(&unversioned(name)));
    let mut sources = before.iter().filter(|other| other.pipeline == part.pipeline).peekable();
    if !(shell || interpreter) || sources.peek().is_none() {
        return None;
    }
    let downloads =
        |part: &Part| part.core().first().is_some_and(|word| DOWNLOADERS.contains(&program(&word.text)));
    if sources.any(downloads) {
        return Some(DOWNLOADED);
    }
    let script = rest.iter().any(|word| !word.text.starts_with('-'));
    (shell && !script).then_some(PIPED)
}

#[cfg(test)]
mod tests;
