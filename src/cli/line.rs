//! The draw target of the progress bar and the live display: lines on standard error that are redrawn.

use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressDrawTarget, TermLike};

/// Columns that stay free for echoed keys. A `^C` after a line that fills the width would start a new line,
/// and the old one could not be cleared any more.
const ECHO: u16 = 4;

/// Maximum redraws per second.
const RATE: u8 = 20;

/// Draws lines and bars on standard error, if it is a terminal.
pub(super) fn target() -> ProgressDrawTarget {
    if io::stderr().is_terminal() {
        ProgressDrawTarget::term_like_with_hz(Box::new(NarrowTerminal), RATE)
    } else {
        ProgressDrawTarget::hidden()
    }
}

/// Standard error as a terminal that is [`ECHO`] columns narrower.
#[derive(Debug)]
struct NarrowTerminal;

impl NarrowTerminal {
    fn write(&self, text: &str) -> io::Result<()> {
        io::stderr().write_all(text.as_bytes())
    }

    fn move_cursor(&self, count: usize, direction: char) -> io::Result<()> {
        if count > 0 { self.write(&format!("\x1b[{count}{direction}")) } else { Ok(()) }
    }
}

impl TermLike for NarrowTerminal {
    fn width(&self) -> u16 {
        let width = terminal_size::terminal_size_of(io::stderr()).map_or(80, |(width, _)| width.0);
        width.saturating_sub(ECHO).max(1)
    }

    fn move_cursor_up(&self, count: usize) -> io::Result<()> {
        self.move_cursor(count, 'A')
    }

    fn move_cursor_down(&self, count: usize) -> io::Result<()> {
        self.move_cursor(count, 'B')
    }

    fn move_cursor_right(&self, count: usize) -> io::Result<()> {
        self.move_cursor(count, 'C')
    }

    fn move_cursor_left(&self, count: usize) -> io::Result<()> {
        self.move_cursor(count, 'D')
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
