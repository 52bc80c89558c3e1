//! Paths and the patterns of rules about them.
//!
//! Forms of patterns:
//!
//! * `//x` is absolute (published);
//! * `~/x` is in the user's home (published). A log does not say where that is, so the usual places are tried: a guess;
//! * `/x` is absolute in the specification (`Write(/etc/*)` is about `/etc/`) and below the settings' project as
//!   published: either matches;
//! * `x/y` and `./x` are below the folder that the call ran in (published);
//! * `x` alone is a name at any depth below it (published: the rules of gitignore).
//!
//! `*` and `?` stay within a name, `**` crosses folders. A pattern that ends in a plain name is also about all
//! below it (`Edit(.claude)` is about `.claude` paths, 5.2); one that ends in a wildcard is not: a guess that allows less.
//! Brackets stand for themselves.

/// Whether a part of a path has a wildcard.
pub(super) fn is_glob(part: &str) -> bool {
    part.contains(['*', '?'])
}

/// A pattern of a rule about paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    start: Start,
    parts: Vec<String>,
    /// What is below a match matches too.
    below: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    Absolute,
    Home,
    /// `/x`: absolute as specified, in the project as published.
    Slash,
    Folder,
    Anywhere,
}

impl Pattern {
    /// Reads a pattern; every text is one.
    pub fn parse(text: &str) -> Self {
        let (start, rest) = match text {
            _ if text.starts_with("//") => (Start::Absolute, &text[2..]),
            _ if text.starts_with('/') => (Start::Slash, &text[1..]),
            "~" => (Start::Home, ""),
            _ if text.starts_with("~/") => (Start::Home, &text[2..]),
            _ if text.starts_with("./") => (Start::Folder, &text[2..]),
            _ if text.trim_end_matches('/').contains('/') || text == "**" => (Start::Folder, text),
            _ => (Start::Anywhere, text),
        };
        let mut parts = names(rest);
        // `src/**` is what is in `src`, not the folder itself.
        if parts.last().is_some_and(|last| last == "**") {
            parts.push("*".to_owned());
        }
        let below = parts.last().is_none_or(|last| !is_glob(last));
        if start == Start::Anywhere {
            parts.insert(0, "**".to_owned());
        }
        Self { start, parts, below }
    }

    /// Whether a path matches, as it was written by a call that ran in the folder.
    pub fn matches(&self, path: &str, cwd: Option<&str>) -> bool {
        let location = Location::of(path, cwd);
        let fits = |names: &Option<Vec<String>>| names.as_ref().is_some_and(|names| self.fits(names));
        match self.start {
            Start::Absolute => fits(&location.absolute),
            Start::Home => fits(&location.home),
            Start::Slash => fits(&location.absolute) || fits(&location.relative),
            Start::Folder => fits(&location.relative),
            // Without a folder to start from, a name is one wherever it stands.
            Start::Anywhere if cwd.is_none() => fits(&location.absolute) || fits(&location.relative),
            Start::Anywhere => fits(&location.relative),
        }
    }

    /// Step by step, which beginnings of the path the beginning of the pattern matches.
    fn fits(&self, names: &[String]) -> bool {
        let mut reached = vec![false; names.len() + 1];
        reached[0] = true;
        for part in &self.parts {
            let mut next = vec![false; names.len() + 1];
            if part == "**" {
                let first = reached.iter().position(|at| *at).unwrap_or(next.len());
                next[first..].fill(true);
            } else {
                for (at, name) in names.iter().enumerate() {
                    next[at + 1] = reached[at] && glob(part, name);
                }
            }
            reached = next;
        }
        if self.below { reached.contains(&true) } else { reached[names.len()] }
    }
}

/// Whether a name matches a pattern with `*` and `?`.
pub(super) fn glob(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Where the last star stands, and how much of the name it has taken.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                p = at + 1;
                n = taken + 1;
            }
        }
    }
    pattern[p..].iter().all(|letter| *letter == '*')
}

/// Where a path is, seen from the places that patterns start at.
struct Location {
    absolute: Option<Vec<String>>,
    relative: Option<Vec<String>>,
    home: Option<Vec<String>>,
}

impl Location {
    fn of(path: &str, cwd: Option<&str>) -> Self {
        let Some(full) = resolve(path, cwd) else {
            let relative = names(path);
            let inside = relative.first().is_none_or(|name| name != "..");
            return Self { absolute: None, relative: inside.then_some(relative), home: None };
        };
        let relative = cwd.and_then(|cwd| below(&full, &resolve(cwd, None)?).map(names));
        let home = in_home(&full).map(names);
        Self { absolute: full.starts_with('/').then(|| names(&full)), relative, home }
    }
}

/// The names of a path, without `.` and with `..` applied as far as it can be.
fn names(path: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| last != "..") => {
                names.pop();
            }
            _ => names.push(name.to_owned()),
        }
    }
    names
}

/// A path from the top, `/x` or `~/x`, without `.` and `..`; `None` for a relative path without a folder.
///
/// Links are not followed: a log does not have them.
pub(super) fn resolve(path: &str, cwd: Option<&str>) -> Option<String> {
    let path = forward(path);
    if path == "~" || path.starts_with("~/") {
        let names: Vec<String> = names(&path[1..]).into_iter().skip_while(|name| name == "..").collect();
        return Some(format!("~/{}", names.join("/")));
    }
    let whole = if path.starts_with('/') { path } else { format!("{}/{path}", resolve(cwd?, None)?) };
    if whole.starts_with('~') {
        return resolve(&whole, None);
    }
    let names: Vec<String> = names(&whole).into_iter().skip_while(|name| name == "..").collect();
    Some(format!("/{}", names.join("/")))
}

/// A Windows path in the form that rules have: `C:\x` is `/c/x`.
fn forward(path: &str) -> String {
    let bytes = path.as_bytes();
    let drive =
        bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && b"\\/".contains(&bytes[2]);
    if drive {
        return format!("/{}{}", bytes[0].to_ascii_lowercase() as char, path[2..].replace('\\', "/"));
    }
    path.to_owned()
}

/// What of a resolved path is below a resolved folder, without the slash between; empty for the folder itself.
pub(super) fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// What of a resolved path is below a home folder: a guess by the usual places.
pub(super) fn in_home(path: &str) -> Option<&str> {
    if let Some(rest) = path.strip_prefix("~/") {
        return Some(rest);
    }
    let (first, rest) = path.strip_prefix('/')?.split_once('/')?;
    match first {
        "root" => Some(rest),
        "home" | "Users" => Some(rest.split_once('/').map_or("", |(_, rest)| rest)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pattern, path, and whether they match in the folder `/home/dev/project`.
    const CASES: &[(&str, &str, bool)] = &[
        ("/etc/*", "/etc/passwd", true),
        ("/etc/*", "/etc/ssh/config", false),
        ("/etc/**", "/etc/ssh/config", true),
        ("/etc/**", "/etc", false),
        ("/etc/*", "/home/dev/project/etc/x", true),
        ("/etc/*", "/home/dev/project/sub/etc/x", false),
        ("//etc/*", "/etc/passwd", true),
        ("//etc/*", "/home/dev/project/etc/x", false),
        (".claude", "/home/dev/project/.claude/settings.json", true),
        (".claude", "/home/dev/project/sub/.claude/x", true),
        (".claude", "/home/dev/project/.claudette", false),
        (".claude", "/elsewhere/.claude/x", false),
        ("*.env", "/home/dev/project/a/b/x.env", true),
        ("*.env", "a.env", true),
        ("src/**", "/home/dev/project/src/a/b.rs", true),
        ("src/**", "src/a.rs", true),
        ("src/**", "/home/dev/project/src", false),
        ("src/**", "/home/dev/project/lib/src/a", false),
        ("src/**/*.ts", "src/a/b/c.ts", true),
        ("src/**/*.ts", "src/c.ts", true),
        ("src/**/*.ts", "src/c.tsx", false),
        ("./src/*", "src/a", true),
        ("./src/*", "src/../../x", false),
        ("src/", "src/deep/er", true),
        ("~/.ssh/**", "/home/dev/.ssh/id", true),
        ("~/.ssh/**", "/Users/dev/.ssh/id", true),
        ("~/.ssh/**", "~/.ssh/id", true),
        ("~/.ssh/**", "/srv/.ssh/id", false),
        ("//**", "/any/thing", true),
        ("**", "/home/dev/project/any/thing", true),
        ("**", "/home/dev/other", false),
        ("src/**", "/home/dev/project/src/../secret", false),
        ("app/[id]/page.tsx", "app/[id]/page.tsx", true),
        ("app/[id]/page.tsx", "app/i/page.tsx", false),
        ("//c/data/*", "C:\\data\\x.txt", true),
        ("a?c", "abc", true),
        ("a?c", "ac", false),
    ];

    #[test]
    fn patterns_match_as_the_table_says() {
        for (pattern, path, expected) in CASES {
            let matched = Pattern::parse(pattern).matches(path, Some("/home/dev/project"));
            assert_eq!(matched, *expected, "{pattern} and {path}");
        }
    }

    #[test]
    fn without_a_folder_only_names_match_an_absolute_path() {
        let matches = |pattern: &str, path: &str| Pattern::parse(pattern).matches(path, None);
        assert!(matches(".env", "/p/.env"));
        assert!(!matches("src/*", "/p/src/a"));
        assert!(matches("src/*", "src/a"));
        assert!(!matches("src/*", "../src/a"));
    }

    #[test]
    fn many_stars_take_no_time() {
        let name = "a".repeat(2000);
        assert!(!glob(&format!("{}b", "*a".repeat(200)), &name));
        let deep = vec!["a".to_owned(); 2000].join("/");
        assert!(!Pattern::parse(&format!("{}/b", vec!["**/a"; 100].join("/"))).matches(&deep, None));
    }
}
