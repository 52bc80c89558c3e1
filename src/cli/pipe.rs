//! The ends of a stream that is passed on: standard input, standard output, and the copy that is kept.

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

/// Lets a pipe hold more, so that its writer and its reader wake each other less often: a third more throughput. Files, and pipes
/// that may not grow, stay as they are.
#[cfg(target_os = "linux")]
pub(super) fn widen(pipe: impl AsFd) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, 1 << 20);
}

/// Elsewhere pipes are as they are.
#[cfg(not(target_os = "linux"))]
pub(super) fn widen<T>(_: T) {}

/// Standard input without a buffer. The pipe is closed when the reader is dropped, and its writer meets a closed pipe then.
#[cfg(unix)]
pub(super) fn stdin() -> io::Result<File> {
    let own = io::stdin().as_fd().try_clone_to_owned()?;
    // If there is no such device, the pipe is closed when the program ends.
    if let Ok(nothing) = File::options().read(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(nothing);
    }
    Ok(File::from(own))
}

/// Elsewhere the pipe is closed when the program ends.
#[cfg(not(unix))]
pub(super) fn stdin() -> io::Result<io::Stdin> {
    Ok(io::stdin())
}

/// A stream that ends with `BrokenPipe` when nobody reads standard output any more, also while nothing comes. What came before is
/// read, as far as it is read at once.
#[cfg(unix)]
pub(super) fn while_read(from: impl Read + AsFd + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    use std::os::unix::fs::FileTypeExt;
    let to = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let kind = to.metadata()?.file_type();
    // Files have no reader, and a terminal that was closed is told by its own signal. macOS also reports sockets whose other side
    // still reads and only writes no more.
    let has_reader = kind.is_fifo() || cfg!(target_os = "linux") && kind.is_socket();
    if !has_reader {
        return Ok(Box::new(from));
    }
    Ok(Box::new(WhileRead { from, to: to.into(), is_last: false }))
}

/// Elsewhere it is noticed when something is written.
#[cfg(not(unix))]
pub(super) fn while_read(from: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    Ok(Box::new(from))
}

#[cfg(unix)]
struct WhileRead<R> {
    from: R,
    to: OwnedFd,
    /// The reader is gone, and what had come was read.
    is_last: bool,
}

#[cfg(unix)]
impl<R: Read + AsFd> Read for WhileRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Linux reports a reader that is gone whatever was asked for. macOS wants to be asked.
        let mut ends = [PollFd::new(&self.from, PollFlags::IN), PollFd::new(&self.to, PollFlags::HUP)];
        poll(&mut ends, None)?;
        let [has_come, is_gone] = ends.map(|end| !end.revents().is_empty());
        if is_gone && (self.is_last || !has_come) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.is_last = is_gone;
        self.from.read(buffer)
    }
}

/// Standard output without a buffer.
pub(super) fn stdout(essential: bool) -> Result<Outlet, Error> {
    #[cfg(unix)]
    let write = {
        let own = io::stdout().as_fd().try_clone_to_owned().map_err(Error::Write)?;
        widen(&own);
        Box::new(Through(File::from(own)))
    };
    #[cfg(windows)]
    let write = windows_stdout().map_err(Error::Write)?;
    #[cfg(not(any(unix, windows)))]
    let write = Box::new(io::stdout());
    Ok(Outlet { name: "standard output".to_owned(), write, essential })
}

/// A pipe or a file gets the bytes as they are. The console gets characters, because it takes bytes for those of another
/// encoding.
#[cfg(windows)]
fn windows_stdout() -> io::Result<Box<dyn io::Write + Send>> {
    use std::{io::IsTerminal, os::windows::io::AsHandle};
    let stdout = io::stdout();
    if stdout.is_terminal() {
        return Ok(Box::new(Characters { to: stdout, rest: Vec::new() }));
    }
    Ok(Box::new(File::from(stdout.as_handle().try_clone_to_owned()?)))
}

/// Writes whole characters of UTF-8, and replacement characters for anything else: a console of Windows refuses it.
#[cfg(any(windows, test))]
struct Characters<W> {
    to: W,
    /// The beginning of a character whose end has not come yet.
    rest: Vec<u8>,
}

#[cfg(any(windows, test))]
impl<W: io::Write> io::Write for Characters<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend(bytes);
        let whole = self.rest.len() - unfinished(&self.rest);
        let rest = self.rest.split_off(whole);
        let text = std::mem::replace(&mut self.rest, rest);
        self.to.write_all(String::from_utf8_lossy(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// How many bytes at the end may begin a character.
#[cfg(any(windows, test))]
fn unfinished(bytes: &[u8]) -> usize {
    let may_begin = |count: &usize| {
        let end = &bytes[bytes.len() - count..];
        std::str::from_utf8(end).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=bytes.len().min(3)).rev().find(may_begin).unwrap_or(0)
}

/// Standard output, which ends when the stream does: its reader need not wait for the report.
#[cfg(unix)]
struct Through(File);

#[cfg(unix)]
impl io::Write for Through {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(unix)]
impl Drop for Through {
    fn drop(&mut self) {
        // If there is no such device, the stream ends with the program.
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
    fn a_console_gets_whole_characters_however_the_stream_is_cut() {
        let stream = "aé€😀\n".as_bytes().iter().chain(b"\xff\xe2\x82x\xc3").copied().collect::<Vec<u8>>();
        for size in 1..=stream.len() {
            let mut console = Characters { to: Vec::new(), rest: Vec::new() };
            stream.chunks(size).for_each(|chunk| console.write_all(chunk).unwrap());
            assert_eq!(str::from_utf8(&console.to), Ok("aé€😀\n\u{fffd}\u{fffd}x"), "cut into {size}");
        }
    }

    /// A stream into a pipe whose reader is gone.
    #[cfg(unix)]
    fn unread(from: io::PipeReader) -> WhileRead<io::PipeReader> {
        let (reader, to) = io::pipe().unwrap();
        drop(reader);
        WhileRead { from, to: to.into(), is_last: false }
    }

    #[cfg(unix)]
    #[test]
    fn a_reader_that_is_gone_is_noticed_while_nothing_comes() {
        let (from, _to) = io::pipe().unwrap();
        let error = unread(from).read(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[cfg(unix)]
    #[test]
    fn what_came_before_the_reader_was_gone_is_read_once() {
        let (from, mut to) = io::pipe().unwrap();
        to.write_all(b"abcdef").unwrap();
        let (mut unread, mut some) = (unread(from), [0; 3]);
        assert_eq!((unread.read(&mut some).unwrap(), &some), (3, b"abc"));
        assert_eq!(unread.read(&mut some).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[cfg(unix)]
    #[test]
    fn a_stream_that_has_ended_ends_whoever_reads_it() {
        let (from, to) = io::pipe().unwrap();
        drop(to);
        assert_eq!(unread(from).read(&mut [0; 8]).unwrap(), 0);
    }
}
