//! A line on standard error that is drawn again and again.

use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressDrawTarget, TermLike};

/// Columns that are left free for the keys that a terminal echoes. A `^C` behind a line that takes the whole width begins a new
/// line, and the old one cannot be cleared any more.
const ECHO: u16 = 4;

/// How often it is drawn in a second, at most.
const RATE: u8 = 20;

/// Draws lines and bars on standard error, if it is a terminal.
pub(super) fn target() -> ProgressDrawTarget {
    if io::stderr().is_terminal() {
        ProgressDrawTarget::term_like_with_hz(Box::new(Narrow), RATE)
    } else {
        ProgressDrawTarget::hidden()
    }
}

/// The terminal, somewhat narrower than it is.
#[derive(Debug)]
struct Narrow;

impl Narrow {
    fn write(&self, text: &str) -> io::Result<()> {
        io::stderr().write_all(text.as_bytes())
    }

    fn moved(&self, count: usize, direction: char) -> io::Result<()> {
        if count > 0 { self.write(&format!("\x1b[{count}{direction}")) } else { Ok(()) }
    }
}

impl TermLike for Narrow {
    fn width(&self) -> u16 {
        let width = terminal_size::terminal_size_of(io::stderr()).map_or(80, |(width, _)| width.0);
        width.saturating_sub(ECHO).max(1)
    }

    fn move_cursor_up(&self, count: usize) -> io::Result<()> {
        self.moved(count, 'A')
    }

    fn move_cursor_down(&self, count: usize) -> io::Result<()> {
        self.moved(count, 'B')
    }

    fn move_cursor_right(&self, count: usize) -> io::Result<()> {
        self.moved(count, 'C')
    }

    fn move_cursor_left(&self, count: usize) -> io::Result<()> {
        self.moved(count, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write(&format!("{text}\n"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.write(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.write("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        io::stderr().flush()
    }
}
