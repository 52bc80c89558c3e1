//! Protected files: the CLI asks before it writes them, even if a rule allows it (measured on 2.1.326).
//!
//! Only `bypassPermissions` allows it without a question.

/// Protected folders, with everything below them.
const FOLDERS: &[&str] = &[".git", ".claude", ".vscode", ".idea", ".husky"];

/// Protected files. `.bashrc`, `.gitconfig`, `.gitmodules` and `.mcp.json` were measured; other files that
/// shells and tools run when they start are assumed to be protected too.
const FILES: &[&str] = &[
    ".bash_profile",
    ".bashrc",
    ".claude.json",
    ".gitconfig",
    ".gitmodules",
    ".mcp.json",
    ".profile",
    ".ripgreprc",
    ".zprofile",
    ".zshrc",
];

/// Folders below a protected folder that are not protected.
const EXCEPT: &[(&str, &str)] = &[(".claude", "worktrees")];

/// Returns whether the CLI asks before it writes to a path, in every mode except `bypassPermissions`.
pub(super) fn is_protected(path: &str) -> bool {
    let names: Vec<String> = path.split(['/', '\\']).map(str::to_lowercase).collect();
    let folder = |(at, name): (usize, &String)| {
        let next = names.get(at + 1).map_or("", String::as_str);
        FOLDERS.contains(&name.as_str()) && !EXCEPT.contains(&(name.as_str(), next))
    };
    names.iter().enumerate().any(folder) || names.last().is_some_and(|last| FILES.contains(&last.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protected_files_are_those_that_were_measured() {
        for path in [
            "/p/.git/x",
            "/p/sub/.git/x",
            "/p/.claude/commands/x.md",
            "/p/.husky/x",
            "/p/.bashrc",
            "/p/.GIT/x",
            "/p/.mcp.json",
        ] {
            assert!(is_protected(path), "{path}");
        }
        for path in [
            "/p/.env",
            "/p/.github/x",
            "/p/.ssh/x",
            "/p/CLAUDE.md",
            "/p/.claude/worktrees/a/b",
            "/p/.gitignore",
        ] {
            assert!(!is_protected(path), "{path}");
        }
    }
}
