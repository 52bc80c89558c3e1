//! The ends of a stream that is passed on: standard input, standard output, and the file that keeps a copy.

#[cfg(unix)]
use std::os::fd::{AsFd, OwnedFd};
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

#[cfg(unix)]
use rustix::event::{PollFd, PollFlags, poll};

use crate::{error::Error, input::Outlet};

/// Enlarges the buffer of a pipe to 1 MiB, so that its two sides wake each other less often: a third more
/// throughput. Does nothing for files, and for pipes that may not grow.
#[cfg(target_os = "linux")]
pub(super) fn widen(pipe: impl AsFd) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, 1 << 20);
}

/// Does nothing: only Linux can resize pipes.
#[cfg(not(target_os = "linux"))]
pub(super) fn widen<T>(_: T) {}

/// Standard input without a buffer. Dropping it closes the pipe, so its writer gets an error at the next
/// write.
#[cfg(unix)]
pub(super) fn stdin() -> io::Result<File> {
    let own = io::stdin().as_fd().try_clone_to_owned()?;
    // Without `/dev/null`, the pipe is closed when the program ends.
    if let Ok(nothing) = File::options().read(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(nothing);
    }
    Ok(File::from(own))
}

/// Standard input. The pipe is closed when the program ends.
#[cfg(not(unix))]
pub(super) fn stdin() -> io::Result<io::Stdin> {
    Ok(io::stdin())
}

/// Wraps a stream so that it ends with `BrokenPipe` when nobody reads standard output any more, even while no
/// input arrives. Input that has arrived by then is returned by one more read.
#[cfg(unix)]
pub(super) fn until_stdout_closes(
    from: impl Read + AsFd + Send + 'static,
) -> io::Result<Box<dyn Read + Send>> {
    use std::os::unix::fs::FileTypeExt;
    let to = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let kind = to.metadata()?.file_type();
    // Files have no reader, and a terminal that closes sends a signal. macOS also reports a hangup for
    // sockets whose other side has only stopped writing.
    let has_reader = kind.is_fifo() || cfg!(target_os = "linux") && kind.is_socket();
    if !has_reader {
        return Ok(Box::new(from));
    }
    Ok(Box::new(UntilClosed { from, to: to.into(), is_last: false }))
}

/// Returns the stream itself: a closed standard output is noticed at the next write.
#[cfg(not(unix))]
pub(super) fn until_stdout_closes(from: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    Ok(Box::new(from))
}

#[cfg(unix)]
struct UntilClosed<R> {
    from: R,
    to: OwnedFd,
    /// The reader of `to` is gone, and the pending input was returned.
    is_last: bool,
}

#[cfg(unix)]
impl<R: Read + AsFd> Read for UntilClosed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Linux always reports a closed reader; macOS only if `HUP` is requested.
        let mut ends = [PollFd::new(&self.from, PollFlags::IN), PollFd::new(&self.to, PollFlags::HUP)];
        poll(&mut ends, None)?;
        let [has_input, is_closed] = ends.map(|end| !end.revents().is_empty());
        if is_closed && (self.is_last || !has_input) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.is_last = is_closed;
        self.from.read(buffer)
    }
}

/// Standard output without a buffer. If it is `essential`, the stream ends when it fails.
pub(super) fn stdout(essential: bool) -> Result<Outlet, Error> {
    #[cfg(unix)]
    let write = {
        let own = io::stdout().as_fd().try_clone_to_owned().map_err(Error::Write)?;
        widen(&own);
        Box::new(ClosingStdout(File::from(own)))
    };
    #[cfg(windows)]
    let write = windows_stdout().map_err(Error::Write)?;
    #[cfg(not(any(unix, windows)))]
    let write = Box::new(io::stdout());
    Ok(Outlet { name: "standard output".to_owned(), write, essential })
}

/// A pipe or a file gets the bytes unchanged. The console gets text, because it would decode bytes with
/// another encoding.
#[cfg(windows)]
fn windows_stdout() -> io::Result<Box<dyn io::Write + Send>> {
    use std::{io::IsTerminal, os::windows::io::AsHandle};
    let stdout = io::stdout();
    if stdout.is_terminal() {
        return Ok(Box::new(Utf8Writer { to: stdout, pending: Vec::new() }));
    }
    Ok(Box::new(File::from(stdout.as_handle().try_clone_to_owned()?)))
}

/// Writes whole UTF-8 characters, with replacement characters for invalid bytes: a Windows console accepts
/// nothing else.
#[cfg(any(windows, test))]
struct Utf8Writer<W> {
    to: W,
    /// The first bytes of an incomplete character.
    pending: Vec<u8>,
}

#[cfg(any(windows, test))]
impl<W: io::Write> io::Write for Utf8Writer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend(bytes);
        let complete = self.pending.len() - incomplete_suffix(&self.pending);
        let rest = self.pending.split_off(complete);
        let text = std::mem::replace(&mut self.pending, rest);
        self.to.write_all(String::from_utf8_lossy(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Number of bytes at the end that are an incomplete character.
#[cfg(any(windows, test))]
fn incomplete_suffix(bytes: &[u8]) -> usize {
    let may_begin = |count: &usize| {
        let end = &bytes[bytes.len() - count..];
        std::str::from_utf8(end).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=bytes.len().min(3)).rev().find(may_begin).unwrap_or(0)
}

/// Standard output that is closed on drop, when the stream ends: its reader need not wait for the report.
#[cfg(unix)]
struct ClosingStdout(File);

#[cfg(unix)]
impl io::Write for ClosingStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(unix)]
impl Drop for ClosingStdout {
    fn drop(&mut self) {
        // Without `/dev/null`, standard output is closed when the program ends.
        if let Ok(nothing) = File::options().write(true).open("/dev/null") {
            let _ = rustix::stdio::dup2_stdout(nothing);
        }
    }
}

/// A file that gets a copy of the stream.
pub(super) fn copy(path: &Path) -> Result<Outlet, Error> {
    let write = |source| Error::WriteFile { path: path.to_owned(), source };
    let file = File::create(path).map_err(write)?;
    Ok(Outlet { name: path.display().to_string(), write: Box::new(file), essential: false })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_console_gets_whole_characters_for_any_chunk_size() {
        let stream = "aé€😀\n".as_bytes().iter().chain(b"\xff\xe2\x82x\xc3").copied().collect::<Vec<u8>>();
        for size in 1..=stream.len() {
            let mut console = Utf8Writer { to: Vec::new(), pending: Vec::new() };
            stream.chunks(size).for_each(|chunk| console.write_all(chunk).unwrap());
            assert_eq!(str::from_utf8(&console.to), Ok("aé€😀\n\u{fffd}\u{fffd}x"), "chunks of {size}");
        }
    }

    /// A stream whose output pipe has no reader.
    #[cfg(unix)]
    fn unread(from: io::PipeReader) -> UntilClosed<io::PipeReader> {
        let (reader, to) = io::pipe().unwrap();
        drop(reader);
        UntilClosed { from, to: to.into(), is_last: false }
    }

    #[cfg(unix)]
    #[test]
    fn a_closed_output_is_noticed_while_no_input_arrives() {
        let (from, _to) = io::pipe().unwrap();
        let error = unread(from).read(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[cfg(unix)]
    #[test]
    fn input_that_arrived_before_the_output_closed_is_read_once() {
        let (from, mut to) = io::pipe().unwrap();
        to.write_all(b"abcdef").unwrap();
        let (mut unread, mut some) = (unread(from), [0; 3]);
        assert_eq!((unread.read(&mut some).unwrap(), &some), (3, b"abc"));
        assert_eq!(unread.read(&mut some).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[cfg(unix)]
    #[test]
    fn the_end_of_the_input_is_reported_although_the_output_is_closed() {
        let (from, to) = io::pipe().unwrap();
        drop(to);
        assert_eq!(unread(from).read(&mut [0; 8]).unwrap(), 0);
    }
}
