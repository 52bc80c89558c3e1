//! Resolves paths of calls and commands without access to the file system.

use super::windows;

/// Returns whether a part of a path has a wildcard.
pub(super) fn is_glob(part: &str) -> bool {
    part.contains(['*', '?'])
}

/// Splits a path into names; drops `.` and resolves `..` as far as possible.
pub(super) fn names(path: &str) -> Vec<String> {
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

/// Makes a path absolute (`/x` or `~/x`) and removes `.` and `..`; `None` for a relative path without `cwd`.
///
/// Symbolic links are not followed: a log does not have them.
pub(super) fn resolve(path: &str, cwd: Option<&str>) -> Option<String> {
    let path = windows::posix(path, cwd);
    if path == "~" || path.starts_with("~/") {
        let names: Vec<String> = names(&path[1..]).into_iter().skip_while(|name| name == "..").collect();
        return Some(format!("~/{}", names.join("/")));
    }
    let whole =
        if path.starts_with('/') { path.into_owned() } else { format!("{}/{path}", resolve(cwd?, None)?) };
    if whole.starts_with('~') {
        return resolve(&whole, None);
    }
    let names: Vec<String> = names(&whole).into_iter().skip_while(|name| name == "..").collect();
    Some(format!("/{}", names.join("/")))
}

/// Returns the part of a resolved path below a resolved folder, without leading slash; empty for the folder
/// itself.
pub(super) fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// Returns the part of a resolved path below a home folder, which is guessed by the usual locations.
pub(super) fn in_home(path: &str) -> Option<&str> {
    if let Some(rest) = path.strip_prefix("~/") {
        return Some(rest);
    }
    let (first, rest) = windows::without_drive(path).strip_prefix('/')?.split_once('/')?;
    match first {
        "root" => Some(rest),
        "home" | "Users" => Some(rest.split_once('/').map_or("", |(_, rest)| rest)),
        _ => None,
    }
}

/// Returns the home folder that contains a folder, guessed by the usual locations: a log does not name it.
pub(super) fn home_of(folder: &str) -> Option<String> {
    let below = in_home(folder)?;
    let home = folder.strip_suffix(below)?.trim_end_matches('/');
    (!home.is_empty()).then(|| home.to_owned())
}

/// Replaces `~` in a resolved path by a home folder.
pub(super) fn at_home(path: String, home: Option<&str>) -> String {
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => format!("{home}/{rest}").trim_end_matches('/').to_owned(),
        (Some(_) | None, _) => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_folder_is_guessed_by_the_usual_locations() {
        for (folder, home) in [
            ("/home/dev/project", Some("/home/dev")),
            ("/home/dev", Some("/home/dev")),
            ("/Users/dev/a/b", Some("/Users/dev")),
            ("/srv/x", None),
            ("~/x", Some("~")),
        ] {
            assert_eq!(home_of(folder).as_deref(), home, "{folder}");
        }
        assert_eq!(at_home("~/x".to_owned(), Some("/home/dev")), "/home/dev/x");
        assert_eq!(at_home("~/".to_owned(), Some("/home/dev")), "/home/dev");
        assert_eq!(at_home("~/x".to_owned(), None), "~/x");
        assert_eq!(at_home("/x".to_owned(), Some("/home/dev")), "/x");
    }

    #[test]
    fn paths_are_resolved_without_a_file_system() {
        assert_eq!(resolve("a/../b", Some("/p")).as_deref(), Some("/p/b"));
        assert_eq!(resolve("../../../b", Some("/p")).as_deref(), Some("/b"));
        assert_eq!(resolve("b", None), None);
        assert_eq!(resolve("C:\\data\\x", None).as_deref(), Some("/c/data/x"));
        assert_eq!(resolve("src\\..\\x", Some("C:\\data")).as_deref(), Some("/c/data/x"));
        assert_eq!(resolve("x", Some("\\\\server\\share")).as_deref(), Some("/server/share/x"));
    }
}
