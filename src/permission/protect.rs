//! Files that the CLI asks about before they are written, whatever rules allow: as measured on 2.1.326.
//!
//! Only `bypassPermissions` lets them through.

/// Folders with all below them.
const FOLDERS: &[&str] = &[".git", ".claude", ".vscode", ".idea", ".husky"];

/// Files. `.bashrc`, `.gitconfig`, `.gitmodules` and `.mcp.json` were measured; other files that shells and tools run at their
/// start are assumed to be protected too.
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

/// Below a protected folder, but not protected.
const EXCEPT: &[(&str, &str)] = &[(".claude", "worktrees")];

/// Whether writing at a path is asked about in every mode but one.
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
