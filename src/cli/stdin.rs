//! Whether standard input is an input: the one rule for every command that was given no path.

/// Whether standard input holds a log that someone passed: it is a pipe, a socket or a regular file.
///
/// A terminal or another character device such as `/dev/null` is not an input, and neither is a closed descriptor (Rust
/// opens `/dev/null` in its place). The saved sessions are read then, as cron jobs, services and interactive users expect.
#[cfg(unix)]
pub(super) fn is_input() -> bool {
    use std::os::{fd::AsFd, unix::fs::FileTypeExt};

    // `File` is how the standard library asks for the type of a descriptor. It owns and closes a duplicate.
    let duplicate = std::io::stdin().as_fd().try_clone_to_owned();
    let kind = duplicate.and_then(|fd| std::fs::File::from(fd).metadata()).map(|about| about.file_type());
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket() || kind.is_file())
}

/// The same on Windows, where `GetFileType` knows disk files, pipes (which sockets are too) and character devices, which
/// the console and `NUL` are.
#[cfg(windows)]
pub(super) fn is_input() -> bool {
    let kind = winapi_util::file::typ(winapi_util::HandleRef::stdin());
    kind.is_ok_and(|kind| kind.is_disk() || kind.is_pipe())
}

/// Elsewhere nothing but a terminal can be told apart.
#[cfg(not(any(unix, windows)))]
pub(super) fn is_input() -> bool {
    use std::io::IsTerminal;

    !std::io::stdin().is_terminal()
}
