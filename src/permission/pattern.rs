//! Path patterns of rules, as 2.1.326 interprets them: gitignore patterns, ignoring case.
//!
//! | form | root |
//! |---|---|
//! | `//x` | the root of the file system |
//! | `~/x` | the user's home folder |
//! | `/x` | the project's folder; in the user's settings `~/.claude`; none in files of `--settings` |
//! | `x/y`, `./x` | the working folder of the call; for deny and ask rules also the project's folder |
//! | `x` | the same, at any depth |
//!
//! * `*` and `?` do not match `/`, `**` does, `[id]` is a character class, a backslash escapes.
//! * A pattern that matches a folder matches everything below it, so `x/*` also matches deeper files.
//! * `x/**` matches the folder `x` and everything below it; in deny and ask rules, `x` may be at any depth.
//! * A pattern with `..` matches nothing.

use super::{
    glob::{Token, matches, parse_gitignore},
    path::{at_home, below, home_of, names, resolve},
    scope::{Behaviour, Scope},
};

/// The path pattern of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    start: Start,
    parts: Vec<Segment>,
    /// Ends in `/**`.
    open: bool,
    /// Ends in `/`, so the folder itself does not match.
    inside: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    Absolute,
    Home,
    Slash,
    Folder,
    Nowhere,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// `**`.
    AnyDepth,
    Name(Vec<Token>),
}

/// The folders that are the roots of patterns and relative paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Folders {
    /// The working folder of the call.
    pub(super) cwd: Option<String>,
    /// The folder in which the session started.
    pub(super) project: Option<String>,
    /// The user's home folder, if it can be guessed from the project's path.
    pub(super) home: Option<String>,
}

impl Folders {
    /// Without a project, the working folder is the project.
    pub(super) fn new(cwd: Option<&str>, project: Option<&str>) -> Self {
        let full = |folder: &str| resolve(folder, None);
        let project = project.or(cwd).and_then(full);
        let cwd = cwd.and_then(full).or_else(|| project.clone());
        let home = project.as_deref().and_then(home_of);
        Self { cwd, project, home }
    }

    /// Makes a path absolute; `None` if it is relative and the working folder is unknown.
    pub(super) fn resolve(&self, path: &str) -> Option<String> {
        resolve(path, self.cwd.as_deref()).map(|path| at_home(path, self.home.as_deref()))
    }

    /// Returns the same folders with another working folder.
    pub(super) fn within(&self, cwd: Option<String>) -> Self {
        Self { cwd, ..self.clone() }
    }
}

/// Behaviour and scope of a rule. Both change what its pattern matches.
#[derive(Clone, Copy, Debug)]
pub(super) struct RuleRole {
    pub(super) behaviour: Behaviour,
    pub(super) scope: Scope,
}

impl Pattern {
    /// Parses a pattern. Every text is a pattern.
    pub fn parse(text: &str) -> Self {
        let (start, rest) = match text {
            _ if text.split('/').any(|name| name == "..") => (Start::Nowhere, text),
            _ if text.starts_with("//") => (Start::Absolute, &text[2..]),
            _ if text.starts_with('/') => (Start::Slash, &text[1..]),
            "~" => (Start::Home, "**"),
            _ if text.starts_with("~/") => (Start::Home, &text[2..]),
            _ if text.starts_with("./") => (Start::Folder, &text[2..]),
            // An exception or a comment in gitignore.
            _ if text.starts_with(['!', '#']) => (Start::Nowhere, text),
            _ => (Start::Folder, text),
        };
        let shut = rest.strip_suffix("/**");
        let inside = shut.is_none() && rest.ends_with('/');
        let part =
            |name: &str| if name == "**" { Segment::AnyDepth } else { Segment::Name(parse_gitignore(name)) };
        let parts = shut.unwrap_or(rest).split('/').filter(|name| !name.is_empty() && *name != ".");
        Self { start, parts: parts.map(part).collect(), open: shut.is_some(), inside }
    }

    /// Returns whether the pattern can never match.
    pub(super) fn matches_nothing(&self) -> bool {
        self.start == Start::Nowhere || self.parts.is_empty()
    }

    /// Returns whether the pattern of a rule with this role matches a resolved path.
    pub(super) fn matches(&self, path: &str, folders: &Folders, role: RuleRole) -> bool {
        let stops = role.behaviour != Behaviour::Allow;
        let fits = |root: Option<&str>, anchored: bool| {
            let rest = root.and_then(|root| below(path, root)).filter(|rest| !rest.is_empty());
            rest.is_some_and(|rest| self.fits(&names(rest), anchored))
        };
        match self.start {
            Start::Nowhere => false,
            Start::Absolute => path.starts_with('/') && fits(Some("/"), true),
            Start::Home => match folders.home.as_deref() {
                Some(home) => fits(Some(home), true),
                None => {
                    let rest = super::path::in_home(path).filter(|rest| !rest.is_empty());
                    rest.is_some_and(|rest| self.fits(&names(rest), true))
                }
            },
            Start::Slash => match role.scope {
                Scope::User => {
                    let own = folders.home.as_deref().map(|home| format!("{home}/.claude"));
                    fits(own.as_deref(), true)
                }
                Scope::Flag => false,
                Scope::Session | Scope::CliArg | Scope::Command => fits(folders.project.as_deref(), true),
                Scope::Local | Scope::Project | Scope::Policy => fits(folders.project.as_deref(), true),
            },
            Start::Folder => {
                // `x/**` matches at any depth only in deny and ask rules (measured).
                let anchored = self.parts.len() > 1 || self.open && !stops;
                fits(folders.cwd.as_deref(), anchored) || stops && fits(folders.project.as_deref(), anchored)
            }
        }
    }

    /// Matches the names of a path. Computes for each prefix of the pattern which prefixes of the path it
    /// matches, so the time is bounded by the product of both lengths.
    fn fits(&self, names: &[String], anchored: bool) -> bool {
        let names: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
        let mut reached = vec![!anchored; names.len() + 1];
        reached[0] = true;
        for part in &self.parts {
            let mut next = vec![false; names.len() + 1];
            match part {
                Segment::AnyDepth => {
                    let first = reached.iter().position(|at| *at).unwrap_or(next.len());
                    next[first..].fill(true);
                }
                Segment::Name(tokens) => {
                    for (at, name) in names.iter().enumerate() {
                        next[at + 1] = reached[at] && matches(tokens, name);
                    }
                }
            }
            reached = next;
        }
        // Everything below a match matches too; the path itself may be a file.
        let last = names.len();
        reached[usize::from(!self.parts.is_empty())..last].contains(&true) || reached[last] && !self.inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pattern, path, and whether an allow rule and a deny rule match in `/home/dev/project`.
    const CASES: &[(&str, &str, bool, bool)] = &[
        ("/etc/*", "/etc/passwd", false, false),
        ("/etc/*", "/home/dev/project/etc/x", true, true),
        ("/etc/*", "/home/dev/project/sub/etc/x", false, false),
        ("//etc/*", "/etc/passwd", true, true),
        ("//etc/*", "/etc/ssh/config", true, true),
        ("//etc/**", "/etc", true, true),
        ("//etc/*", "/home/dev/project/etc/x", false, false),
        (".claude", "/home/dev/project/.claude/settings.json", true, true),
        (".claude", "/home/dev/project/sub/.claude/x", true, true),
        (".claude", "/home/dev/project/.claudette", false, false),
        (".claude", "/elsewhere/.claude/x", false, false),
        ("*.env", "/home/dev/project/a/b/x.env", true, true),
        ("*.env", "a.env", true, true),
        ("src/**", "/home/dev/project/src/a/b.rs", true, true),
        ("src/**", "src/a.rs", true, true),
        ("src/**", "/home/dev/project/src", true, true),
        ("src/**", "/home/dev/project/lib/src/a", false, true),
        ("./src/**", "/home/dev/project/lib/src/a", false, true),
        ("src/*", "/home/dev/project/lib/src/a", false, false),
        ("src/*", "/home/dev/project/src", false, false),
        ("src/*", "/home/dev/project/src/deep/er", true, true),
        ("src", "/home/dev/project/lib/src/a", true, true),
        ("**/src/**", "/home/dev/project/lib/src/a", true, true),
        ("src/**/*.ts", "src/a/b/c.ts", true, true),
        ("src/**/*.ts", "src/c.ts", true, true),
        ("src/**/*.ts", "src/c.tsx", false, false),
        ("./src/*", "src/a", true, true),
        ("./src/*", "src/../../x", false, false),
        ("src/", "src/deep/er", true, true),
        ("src/", "src", false, false),
        ("SRC/**", "src/a.rs", true, true),
        ("../other/**", "/home/dev/other/x", false, false),
        ("~/.ssh/**", "/home/dev/.ssh/id", true, true),
        ("~/.ssh/**", "/home/eve/.ssh/id", false, false),
        ("~/.ssh/**", "~/.ssh/id", true, true),
        ("~/.ssh/**", "/srv/.ssh/id", false, false),
        ("//**", "/any/thing", true, true),
        ("**", "/home/dev/project/any/thing", true, true),
        ("**", "/home/dev/other", false, false),
        ("/**", "/home/dev/project/a", true, true),
        ("src/**", "/home/dev/project/src/../secret", false, false),
        ("app/[id]/page.tsx", "app/[id]/page.tsx", false, false),
        ("app/[id]/page.tsx", "app/i/page.tsx", true, true),
        ("app/\\[id\\]/page.tsx", "app/[id]/page.tsx", true, true),
        ("//c/data/*", "C:\\data\\x.txt", true, true),
        ("a?c", "abc", true, true),
        ("a?c", "ac", false, false),
        ("!a", "!a", false, false),
    ];

    fn matched(pattern: &str, path: &str, folders: &Folders, behaviour: Behaviour, scope: Scope) -> bool {
        let path = folders.resolve(path).unwrap();
        Pattern::parse(pattern).matches(&path, folders, RuleRole { behaviour, scope })
    }

    #[test]
    fn patterns_match_as_in_the_table() {
        let folders = Folders::new(Some("/home/dev/project"), None);
        for (pattern, path, allows, denies) in CASES {
            let of = |behaviour| matched(pattern, path, &folders, behaviour, Scope::Project);
            assert_eq!(
                (of(Behaviour::Allow), of(Behaviour::Deny)),
                (*allows, *denies),
                "{pattern} and {path}"
            );
            assert_eq!(of(Behaviour::Ask), *denies, "{pattern} and {path}");
        }
    }

    #[test]
    fn the_working_folder_replaces_the_root_of_allow_rules_and_is_added_to_that_of_deny_rules() {
        let folders = Folders::new(Some("/home/dev/project/sub"), Some("/home/dev/project"));
        let of = |path: &str, behaviour| matched("./src/**", path, &folders, behaviour, Scope::Project);
        assert!(of("/home/dev/project/sub/src/n", Behaviour::Allow));
        assert!(!of("/home/dev/project/src/n", Behaviour::Allow));
        assert!(of("/home/dev/project/src/n", Behaviour::Deny) && of("src/n", Behaviour::Deny));
        assert!(matched("/src/**", "../src/n", &folders, Behaviour::Allow, Scope::Project));
    }

    #[test]
    fn a_leading_slash_means_the_project_except_in_the_users_and_given_settings() {
        let folders = Folders::new(Some("/home/dev/project"), None);
        for scope in Scope::ALL {
            let expected = !matches!(scope, Scope::User | Scope::Flag);
            assert_eq!(matched("/b.txt", "b.txt", &folders, Behaviour::Deny, scope), expected, "{scope}");
        }
        assert!(matched("/b.txt", "/home/dev/.claude/b.txt", &folders, Behaviour::Deny, Scope::User));
    }

    #[test]
    fn many_stars_take_no_time() {
        let folders = Folders::new(Some("/"), None);
        let deep = vec!["a".to_owned(); 2000].join("/");
        assert!(!matched(
            &format!("{}/b", vec!["**/a"; 100].join("/")),
            &deep,
            &folders,
            Behaviour::Deny,
            Scope::User
        ));
    }
}
