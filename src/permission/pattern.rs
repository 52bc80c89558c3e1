//! The patterns of rules about paths, as 2.1.326 reads them: those of gitignore, in any case.
//!
//! | form | where it begins |
//! |---|---|
//! | `//x` | at the top of the file system |
//! | `~/x` | in the user's home |
//! | `/x` | in the project's folder; nowhere in the files of the user and of `--settings` |
//! | `x/y`, `./x` | in the folder that the call runs in; rules that deny or ask also in the project's |
//! | `x` | the same, at any depth |
//!
//! * `*` and `?` stay within a name, `**` crosses folders, `[id]` is a class, a backslash escapes.
//! * A pattern that matches a folder matches all below it, so `x/*` covers deeper files too.
//! * `x/**` is the folder `x` with all below it. In rules that deny or ask it is one at any depth.
//! * A pattern with `..` matches nothing.

use super::{
    glob::{Token, ignored, matches},
    path::{at_home, below, home_of, names, resolve},
    scope::{Behaviour, Scope},
};

/// A pattern of a rule about paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    start: Start,
    parts: Vec<Part>,
    /// It ends in `/**`.
    open: bool,
    /// It ends in `/`: the folder itself is not meant.
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
enum Part {
    /// `**`.
    Deep,
    Name(Vec<Token>),
}

/// The folders that patterns begin in.
#[derive(Clone, Debug, Default)]
pub(super) struct Ground {
    /// The folder that the call runs in.
    pub(super) cwd: Option<String>,
    /// The folder that the session began in.
    pub(super) project: Option<String>,
    /// The user's home, as far as the folders tell.
    pub(super) home: Option<String>,
}

impl Ground {
    /// Without a project, the folder of the call is it.
    pub(super) fn new(cwd: Option<&str>, project: Option<&str>) -> Self {
        let full = |folder: &str| resolve(folder, None);
        let project = project.or(cwd).and_then(full);
        let cwd = cwd.and_then(full).or_else(|| project.clone());
        let home = project.as_deref().and_then(home_of);
        Self { cwd, project, home }
    }

    /// A path as a call writes it, from the top; `None` if it is relative and no folder is known.
    pub(super) fn resolve(&self, path: &str) -> Option<String> {
        resolve(path, self.cwd.as_deref()).map(|path| at_home(path, self.home.as_deref()))
    }

    /// The same seen from another folder.
    pub(super) fn within(&self, cwd: Option<String>) -> Self {
        Self { cwd, ..self.clone() }
    }
}

/// Where a rule is kept, and whether it allows: both change what its pattern means.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub(super) behaviour: Behaviour,
    pub(super) scope: Scope,
}

impl Pattern {
    /// Reads a pattern; every text is one.
    pub fn parse(text: &str) -> Self {
        let (start, rest) = match text {
            _ if text.split('/').any(|name| name == "..") => (Start::Nowhere, text),
            _ if text.starts_with("//") => (Start::Absolute, &text[2..]),
            _ if text.starts_with('/') => (Start::Slash, &text[1..]),
            "~" => (Start::Home, "**"),
            _ if text.starts_with("~/") => (Start::Home, &text[2..]),
            _ if text.starts_with("./") => (Start::Folder, &text[2..]),
            // An exception or a remark to gitignore.
            _ if text.starts_with(['!', '#']) => (Start::Nowhere, text),
            _ => (Start::Folder, text),
        };
        let shut = rest.strip_suffix("/**");
        let inside = shut.is_none() && rest.ends_with('/');
        let part = |name: &str| if name == "**" { Part::Deep } else { Part::Name(ignored(name)) };
        let parts = shut.unwrap_or(rest).split('/').filter(|name| !name.is_empty() && *name != ".");
        Self { start, parts: parts.map(part).collect(), open: shut.is_some(), inside }
    }

    /// Whether it can match anything at all.
    pub(super) fn is_idle(&self) -> bool {
        self.start == Start::Nowhere || self.parts.is_empty()
    }

    /// Whether it matches a resolved path in a rule like this.
    pub(super) fn matches(&self, path: &str, ground: &Ground, of: Use) -> bool {
        let stops = of.behaviour != Behaviour::Allow;
        let fits = |root: Option<&str>, anchored: bool| {
            let rest = root.and_then(|root| below(path, root)).filter(|rest| !rest.is_empty());
            rest.is_some_and(|rest| self.fits(&names(rest), anchored))
        };
        match self.start {
            Start::Nowhere => false,
            Start::Absolute => path.starts_with('/') && fits(Some("/"), true),
            Start::Home => match ground.home.as_deref() {
                Some(home) => fits(Some(home), true),
                None => {
                    let rest = super::path::in_home(path).filter(|rest| !rest.is_empty());
                    rest.is_some_and(|rest| self.fits(&names(rest), true))
                }
            },
            Start::Slash => match of.scope {
                Scope::User => {
                    let own = ground.home.as_deref().map(|home| format!("{home}/.claude"));
                    fits(own.as_deref(), true)
                }
                Scope::Flag => false,
                Scope::Session | Scope::CliArg | Scope::Command => fits(ground.project.as_deref(), true),
                Scope::Local | Scope::Project | Scope::Policy => fits(ground.project.as_deref(), true),
            },
            Start::Folder => {
                // `x/**` allows in one place, and stops at any depth (measured).
                let anchored = self.parts.len() > 1 || self.open && !stops;
                fits(ground.cwd.as_deref(), anchored) || stops && fits(ground.project.as_deref(), anchored)
            }
        }
    }

    /// Step by step, which beginnings of the path the beginning of the pattern matches.
    fn fits(&self, names: &[String], anchored: bool) -> bool {
        let names: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
        let mut reached = vec![!anchored; names.len() + 1];
        reached[0] = true;
        for part in &self.parts {
            let mut next = vec![false; names.len() + 1];
            match part {
                Part::Deep => {
                    let first = reached.iter().position(|at| *at).unwrap_or(next.len());
                    next[first..].fill(true);
                }
                Part::Name(tokens) => {
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

    /// Pattern, path, and whether a rule that allows and one that denies match in `/home/dev/project`.
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

    fn matched(pattern: &str, path: &str, ground: &Ground, behaviour: Behaviour, scope: Scope) -> bool {
        let path = ground.resolve(path).unwrap();
        Pattern::parse(pattern).matches(&path, ground, Use { behaviour, scope })
    }

    #[test]
    fn patterns_match_as_the_table_says() {
        let ground = Ground::new(Some("/home/dev/project"), None);
        for (pattern, path, allows, denies) in CASES {
            let of = |behaviour| matched(pattern, path, &ground, behaviour, Scope::Project);
            assert_eq!(
                (of(Behaviour::Allow), of(Behaviour::Deny)),
                (*allows, *denies),
                "{pattern} and {path}"
            );
            assert_eq!(of(Behaviour::Ask), *denies, "{pattern} and {path}");
        }
    }

    #[test]
    fn the_folder_of_the_call_moves_rules_that_allow_and_adds_to_those_that_deny() {
        let ground = Ground::new(Some("/home/dev/project/sub"), Some("/home/dev/project"));
        let of = |path: &str, behaviour| matched("./src/**", path, &ground, behaviour, Scope::Project);
        assert!(of("/home/dev/project/sub/src/n", Behaviour::Allow));
        assert!(!of("/home/dev/project/src/n", Behaviour::Allow));
        assert!(of("/home/dev/project/src/n", Behaviour::Deny) && of("src/n", Behaviour::Deny));
        assert!(matched("/src/**", "../src/n", &ground, Behaviour::Allow, Scope::Project));
    }

    #[test]
    fn a_slash_means_the_project_only_in_files_of_the_project() {
        let ground = Ground::new(Some("/home/dev/project"), None);
        for scope in Scope::ALL {
            let expected = !matches!(scope, Scope::User | Scope::Flag);
            assert_eq!(matched("/b.txt", "b.txt", &ground, Behaviour::Deny, *scope), expected, "{scope}");
        }
        assert!(matched("/b.txt", "/home/dev/.claude/b.txt", &ground, Behaviour::Deny, Scope::User));
    }

    #[test]
    fn many_stars_take_no_time() {
        let ground = Ground::new(Some("/"), None);
        let deep = vec!["a".to_owned(); 2000].join("/");
        assert!(!matched(
            &format!("{}/b", vec!["**/a"; 100].join("/")),
            &deep,
            &ground,
            Behaviour::Deny,
            Scope::User
        ));
    }
}
