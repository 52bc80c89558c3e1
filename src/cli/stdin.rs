//! Decides whether a command without paths reads standard input.

/// Whether standard input is a pipe, a socket or a regular file.
///
/// A terminal or another character device such as `/dev/null` is not an input, and neither is a closed
/// descriptor (Rust opens `/dev/null` in its place). Commands then read the saved sessions, as cron jobs,
/// services and interactive users expect.
#[cfg(unix)]
pub(super) fn is_input() -> bool {
    use std::os::{fd::AsFd, unix::fs::FileTypeExt};

    // The standard library reports the type of a descriptor only through `File`, which owns and closes a
    // duplicate.
    let duplicate = std::io::stdin().as_fd().try_clone_to_owned();
    let kind = duplicate.and_then(|fd| std::fs::File::from(fd).metadata()).map(|about| about.file_type());
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket() || kind.is_file())
}

/// Whether standard input is a disk file or a pipe, which includes sockets. The console and `NUL` are
/// character devices.
#[cfg(windows)]
pub(super) fn is_input() -> bool {
    let kind = winapi_util::file::typ(winapi_util::HandleRef::stdin());
    kind.is_ok_and(|kind| kind.is_disk() || kind.is_pipe())
}

/// Whether standard input is anything but a terminal.
#[cfg(not(any(unix, windows)))]
pub(super) fn is_input() -> bool {
    use std::io::IsTerminal;

    !std::io::stdin().is_terminal()
}
