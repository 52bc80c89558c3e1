//! Recognizes dangerous calls: those that destroy data or write outside the project.
//!
//! The lists are our own judgement. They name common commands that are hard to undo, and are not complete.

mod list;

use list::ROWS;
pub(super) use list::{WrittenOperands, may_destroy, operands, written_by};

use super::{
    Call,
    path::{below, resolve},
    shell::{Part, Word, parse, program, unversioned},
    tool::{self, Family},
};

/// Returns why a call is dangerous: it destroys data, writes outside the project's folder, or writes files
/// that programs run or trust. `None` if it is not known to be dangerous.
///
/// Without a project, the working folder is the project. A command that cannot be split is checked by all
/// parts that can be recognized in it.
pub fn danger(call: &Call<'_>, project: Option<&str>) -> Option<&'static str> {
    let check = WriteCheck { project: project.or(call.cwd).and_then(|folder| resolve(folder, None)) };
    match tool::lookup(call.tool).family {
        Family::Command => check.command(call.text("command")?, call.cwd),
        Family::Edit(_) => check.path_danger(&tool::path_of(call)?, call.cwd),
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

/// Names in a path that make writing dangerous even inside the project.
const SENSITIVE: &[(&[&str], &str)] = &[
    (&[".git"], "writes into the folder of git"),
    (&[".claude", ".claude.json"], "writes to the settings of Claude Code"),
    (&[".mcp.json"], "changes which servers Claude Code starts"),
    (&[".ssh"], "writes to keys and trusted hosts"),
    (&[".gnupg"], "writes to keys"),
    (&[".aws", ".kube", ".netrc", ".npmrc"], "writes to credentials"),
    (
        &[".bashrc", ".bash_profile", ".profile", ".zshrc", ".zprofile"],
        "writes to what a shell runs when it starts",
    ),
    (&[".gitconfig"], "changes what git runs"),
];

/// Devices that are safe to write to.
const HARMLESS: &[&str] = &["null", "stdout", "stderr", "tty", "full", "zero"];

const DOWNLOADERS: &[&str] = &["curl", "wget", "fetch", "aria2c"];
const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "fish"];
const INTERPRETERS: &[&str] = &["python", "perl", "ruby", "node", "php"];

/// Checks writes against the project's folder.
struct WriteCheck {
    project: Option<String>,
}

impl WriteCheck {
    fn command(&self, command: &str, cwd: Option<&str>) -> Option<&'static str> {
        let parts = parse(command).parts;
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

    /// Returns why the files that a part writes, by redirections or as operands of programs, are dangerous.
    fn writes(&self, part: &Part, folder: Option<&str>) -> Option<&'static str> {
        let danger_of =
            |word: &Word| if word.expands { Some(SOMEWHERE) } else { self.path_danger(&word.text, folder) };
        if let Some(reason) = part.written().find_map(danger_of) {
            return Some(reason);
        }
        let (first, rest) = part.core().split_first()?;
        written_operands(written_by(program(&first.text))?, rest).into_iter().find_map(danger_of)
    }

    /// Returns why writing to a path is dangerous.
    fn path_danger(&self, path: &str, folder: Option<&str>) -> Option<&'static str> {
        let full = resolve(path, folder);
        let shown = full.as_deref().unwrap_or(path);
        if let Some(device) = shown.strip_prefix("/dev/") {
            let harmless = HARMLESS.contains(&device) || device.starts_with("fd/");
            return (!harmless).then_some(DEVICE);
        }
        let sensitive = |name: &str| SENSITIVE.iter().find(|(sensitive, _)| sensitive.contains(&name));
        // Only names below the project count: the project itself may be in such a folder.
        let inside =
            full.as_deref().zip(self.project.as_deref()).and_then(|(path, folder)| below(path, folder));
        if let Some((_, reason)) = inside.unwrap_or(shown).split('/').find_map(sensitive) {
            return Some(reason);
        }
        match (&full, &self.project) {
            (Some(_), Some(_)) if inside.is_some() => None,
            (Some(_), Some(_)) => Some(OUTSIDE),
            // A relative path without `..` is inside the working folder, even if that is unknown.
            (None, None) if !path.split('/').any(|name| name == "..") => None,
            (Some(_), None) | (None, Some(_) | None) => Some(SOMEWHERE),
        }
    }
}

/// Returns the operands that a program writes.
pub(super) fn written_operands<'w>(which: &WrittenOperands, rest: &'w [Word]) -> Vec<&'w Word> {
    let files = operands(rest);
    match which {
        WrittenOperands::All => files,
        WrittenOperands::Last => files.last().copied().into_iter().collect(),
        WrittenOperands::InPlace if is_in_place(rest) => files.into_iter().skip(1).collect(),
        WrittenOperands::InPlace => Vec::new(),
        WrittenOperands::After(flags) => {
            let named = rest.windows(2).filter(|pair| flags.contains(&pair[0].text.as_str()));
            named.map(|pair| &pair[1]).collect()
        }
    }
}

/// Returns whether `sed` edits its files in place.
pub(super) fn is_in_place(rest: &[Word]) -> bool {
    rest.iter().any(|word| word.text.starts_with("-i") || word.text.starts_with("--in-place"))
}

/// Looks a command up in the list of destructive commands.
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

/// Checks the command of `find -exec`.
fn found(words: &[Word]) -> Option<&'static str> {
    let removes = words.first().is_some_and(|word| program(&word.text) == "rm");
    if removes { Some(REMOVES_INPUT) } else { listed(words) }
}

/// Checks wrappers: other rights, or operands that come from the input.
fn wrapped(part: &Part) -> Option<&'static str> {
    let first = part.core().first().map(|word| program(&word.text));
    for wrapper in part.wrappers() {
        match wrapper {
            "sudo" | "doas" => return Some(AS_OTHER),
            "xargs" if first.is_some_and(|first| written_by(first).is_some()) => {
                return Some(REMOVES_INPUT);
            }
            _ => {}
        }
    }
    None
}

/// Returns the folder that a part changes to, if it does; `Some(None)` if the folder is unknown.
fn changed_folder(part: &Part) -> Option<Option<&Word>> {
    let (first, rest) = part.core().split_first()?;
    let changes = ["cd", "pushd", "popd"].contains(&first.text.as_str());
    changes.then(|| rest.iter().find(|word| !word.text.starts_with('-')))
}

/// Returns why it is dangerous that a part runs the output of earlier parts of its pipeline.
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
