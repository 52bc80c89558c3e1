//! Tables that decide how long the prefix of a suggested rule is, and which commands run code from the
//! network.

use super::super::shell::{Word, program};

/// Programs with subcommands, and the number of words up to the subcommand.
pub(super) const SUBCOMMANDS: &[(&[&str], usize)] = &[
    (&["npm", "pnpm", "yarn", "bun"], 2),
    (&["git", "cargo", "go", "make", "just", "rustup", "dotnet", "gradle", "mvn", "swift"], 2),
    (&["docker", "podman", "kubectl", "helm", "terraform", "tofu", "systemctl", "gh"], 2),
    (&["pip", "pip3", "uv", "poetry", "conda", "bundle", "gem", "composer", "brew", "apt", "apt-get"], 2),
    (&["aws", "gcloud", "az"], 3),
];

/// Subcommands whose next word also belongs to the prefix: `npm run test`.
pub(super) const NESTED: &[(&str, &str)] =
    &[("npm", "run"), ("pnpm", "run"), ("yarn", "run"), ("bun", "run"), ("docker", "compose"), ("gh", "pr")];

/// Programs, with or without a subcommand, that run their arguments. A prefix rule would allow any command.
pub(super) const RUNNERS: &[(&str, &str)] = &[
    ("alias", ""),
    ("ash", ""),
    ("awk", ""),
    ("bash", ""),
    ("bunx", ""),
    ("command", ""),
    ("dash", ""),
    ("deno", ""),
    ("declare", ""),
    ("doas", ""),
    ("ed", ""),
    ("emacs", ""),
    ("env", ""),
    ("eval", ""),
    ("exec", ""),
    ("export", ""),
    ("find", ""),
    ("fish", ""),
    ("gawk", ""),
    ("ksh", ""),
    ("lua", ""),
    ("make", "-f"),
    ("mysql", ""),
    ("nice", ""),
    ("node", ""),
    ("nohup", ""),
    ("npx", ""),
    ("osascript", ""),
    ("parallel", ""),
    ("perl", ""),
    ("php", ""),
    ("pnpx", ""),
    ("psql", ""),
    ("python", ""),
    ("ruby", ""),
    ("scp", ""),
    ("setsid", ""),
    ("sh", ""),
    ("sqlite3", ""),
    ("ssh", ""),
    ("stdbuf", ""),
    ("sudo", ""),
    ("time", ""),
    ("trap", ""),
    ("timeout", ""),
    ("uvx", ""),
    ("vi", ""),
    ("vim", ""),
    ("watch", ""),
    ("xargs", ""),
    ("zsh", ""),
    ("npm", "exec"),
    ("npm", "x"),
    ("pnpm", "exec"),
    ("pnpm", "dlx"),
    ("yarn", "exec"),
    ("yarn", "dlx"),
    ("bun", "x"),
    ("uv", "run"),
    ("poetry", "run"),
    ("bundle", "exec"),
    ("go", "run"),
    ("docker", "run"),
    ("docker", "exec"),
    ("podman", "run"),
    ("podman", "exec"),
    ("kubectl", "exec"),
    ("git", "config"),
    ("git", "submodule"),
    ("gh", "api"),
];

/// Programs and subcommands that download code and run it, immediately or during installation.
const FROM_NETWORK: &[(&[&str], &[&str])] = &[
    (&["npm"], &["install", "i", "ci", "add", "update", "exec", "x", "create", "init"]),
    (&["pnpm", "yarn", "bun"], &["install", "i", "add", "update", "up", "dlx", "create", "x"]),
    (&["npx", "pnpx", "bunx", "uvx", "pipx"], &[]),
    (&["pip", "pip3"], &["install", "download", "wheel"]),
    (&["uv"], &["add", "sync", "run", "tool", "pip"]),
    (&["poetry", "composer", "bundle"], &["install", "add", "update", "require"]),
    (
        &["conda", "mamba", "brew", "gem", "apt", "apt-get", "dnf", "yum", "apk", "pacman"],
        &["install", "update", "add", "-S"],
    ),
    (&["cargo"], &["install", "binstall", "add", "update", "fetch"]),
    (&["go"], &["install", "get"]),
    (&["docker", "podman"], &["run", "pull", "build"]),
    (&["deno"], &["install", "run", "x"]),
];

/// Returns whether a command runs code from the network.
pub(super) fn is_from_network(words: &[Word]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let command = rest.iter().map(|word| word.text.as_str()).find(|word| !word.starts_with("--"));
    FROM_NETWORK.iter().any(|(programs, commands)| {
        programs.contains(&program(&first.text))
            && (commands.is_empty() || command.is_some_and(|command| commands.contains(&command)))
    })
}
