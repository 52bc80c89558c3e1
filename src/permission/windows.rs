//! Converts Windows paths to the POSIX form that permission rules have.
//!
//! As published, the CLI brings paths into POSIX form before it compares them: `C:\x\y` is `/c/x/y`, and
//! rules for it begin with `//c/`. Assumed, because nothing is published about it:
//!
//! * `\\server\share\x` is `/server/share/x`, so rules for it begin with `//server/share/`;
//! * the prefix of long paths, `\\?\`, does not count: `\\?\C:\x` is `C:\x`, and `\\?\UNC\server\share` is
//!   `\\server\share`;
//! * a relative path may be written with `\` if its folder is one of Windows; anywhere else `\` is a letter
//!   of a name.
//!
//! A path with `/` alone, such as `//server/share`, is not known to be one of Windows.

use std::borrow::Cow;

/// Converts a Windows path to POSIX form. `cwd` is the folder of a relative path. Other paths are returned
/// unchanged.
pub(super) fn posix<'p>(path: &'p str, cwd: Option<&str>) -> Cow<'p, str> {
    let long = ["\\\\?\\", "\\\\.\\"].iter().find_map(|prefix| path.strip_prefix(prefix));
    let plain = long.map(|rest| match rest.strip_prefix("UNC\\") {
        Some(share) => Cow::Owned(format!("\\\\{share}")),
        None => Cow::Borrowed(rest),
    });
    let plain = plain.unwrap_or(Cow::Borrowed(path));
    if let Some((letter, rest)) = drive(&plain) {
        return Cow::Owned(format!("/{}{}", letter.to_ascii_lowercase(), rest.replace('\\', "/")));
    }
    if let Some(share) = plain.strip_prefix("\\\\") {
        return Cow::Owned(format!("/{}", share.replace('\\', "/")));
    }
    if !path.starts_with('/') && path.contains('\\') && cwd.is_some_and(is_windows) {
        return Cow::Owned(path.replace('\\', "/"));
    }
    Cow::Borrowed(path)
}

/// Removes the drive of a path in POSIX form: `/c/Users/me` becomes `/Users/me`.
pub(super) fn without_drive(path: &str) -> &str {
    match path.as_bytes() {
        [b'/', letter, b'/', ..] if letter.is_ascii_alphabetic() => &path[2..],
        _ => path,
    }
}

/// Returns whether an absolute path is certainly a Windows path.
fn is_windows(path: &str) -> bool {
    drive(path).is_some() || path.starts_with("\\\\")
}

/// Splits a path into the letter of its drive and the rest.
fn drive(path: &str) -> Option<(char, &str)> {
    match path.as_bytes() {
        [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic() => {
            Some((char::from(*letter), &path[2..]))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_paths_are_converted_to_the_form_of_rules() {
        let cases = [
            ("C:\\x\\y", "/c/x/y"),
            ("c:/x/y", "/c/x/y"),
            ("C:\\", "/c/"),
            ("D:\\a b\\é.txt", "/d/a b/é.txt"),
            ("\\\\server\\share\\x", "/server/share/x"),
            ("\\\\?\\C:\\x", "/c/x"),
            ("\\\\.\\C:\\x", "/c/x"),
            ("\\\\?\\UNC\\server\\share\\x", "/server/share/x"),
        ];
        for (path, expected) in cases {
            assert_eq!(posix(path, None), expected, "{path}");
            assert_eq!(posix(path, Some("/home/dev")), expected, "{path}");
        }
    }

    #[test]
    fn a_backslash_is_a_separator_only_below_a_windows_folder() {
        assert_eq!(posix("src\\a.rs", Some("C:\\p")), "src/a.rs");
        assert_eq!(posix("src\\a.rs", Some("\\\\server\\share")), "src/a.rs");
        for cwd in [None, Some("/home/dev"), Some("/c/p")] {
            assert_eq!(posix("src\\a.rs", cwd), "src\\a.rs", "{cwd:?}");
        }
        assert_eq!(posix("/tmp/a\\b", Some("C:\\p")), "/tmp/a\\b");
    }

    #[test]
    fn other_paths_are_not_changed() {
        for path in ["", "/", "/c/x", "x/y", "C:", "C:x", "é:\\x", "::\\x", "//server/share", "~/x", "a:b"] {
            assert_eq!(posix(path, None), path);
        }
    }

    #[test]
    fn a_drive_is_one_letter() {
        assert_eq!(without_drive("/c/Users/me"), "/Users/me");
        for path in ["/", "/c", "/cc/Users", "/Users/me", "/1/x", "c/x", ""] {
            assert_eq!(without_drive(path), path);
        }
    }
}
