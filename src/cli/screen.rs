//! Draws on the alternate screen of the terminal, so that the normal screen stays as it was.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Switches to the alternate screen, hides the cursor, and turns off line wrapping.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
/// Undoes [`ENTER`].
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

/// The alternate screen. The flag is set while it is shown.
#[derive(Clone, Default)]
pub(super) struct Screen(Arc<AtomicBool>);

impl Screen {
    /// Switches to the alternate screen. A panic hook leaves it again, because a release build aborts without
    /// unwinding.
    pub(super) fn enter(&self) -> io::Result<()> {
        let screen = self.clone();
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            screen.leave();
            hook(panic);
        }));
        self.0.store(true, Ordering::Relaxed);
        write(ENTER)
    }

    /// Switches back to the normal screen. Does nothing if that was done already.
    pub(super) fn leave(&self) {
        if self.0.swap(false, Ordering::Relaxed) {
            // Fails only if the terminal is gone.
            let _ = write(LEAVE);
        }
    }

    /// Replaces what is shown by this text and status line.
    pub(super) fn paint(&self, text: &str, rows: u16, status: &str) -> io::Result<()> {
        write(&frame(text, rows.into(), status))
    }
}

/// Writes in one call, so that no partial frame is visible.
fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// A frame of `rows` rows: as much of the text as fits, and the status in the last row.
///
/// Each line is cleared before it is written: after a line that fills its row, the cursor stays on the last
/// character, and clearing from there would erase it. Terminals with synchronized output (mode 2026) show the
/// frame at once. The cursor ends at the top, where an echoed key does not scroll the screen.
fn frame(text: &str, rows: usize, status: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let room = rows.saturating_sub(1);
    let shown = if lines.len() > room { room.saturating_sub(1) } else { lines.len() };
    let mut frame = String::from("\x1b[?2026h\x1b[H");
    for line in &lines[..shown] {
        let _ = write!(frame, "\x1b[2K{line}\x1b[0m\r\n");
    }
    if shown < lines.len() && room > 0 {
        let more = lines.len() - shown;
        let _ =
            write!(frame, "\x1b[2K… {more} more lines: shown in a taller window, and in the last report\r\n");
    }
    let _ = write!(frame, "\x1b[J\x1b[{rows};1H{status}\x1b[0m\x1b[H\x1b[?2026l");
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of a frame as a terminal shows them, the status last.
    fn shown(lines: usize, rows: usize) -> Vec<String> {
        let text: String = (1..=lines).map(|line| format!("line {line}\n")).collect();
        let frame = frame(&text, rows, "status");
        let (above, status) = frame.rsplit_once("\x1b[J").unwrap();
        assert!(status.starts_with(&format!("\x1b[{rows};1Hstatus")), "{status:?}");
        let above = above.strip_prefix("\x1b[?2026h\x1b[H").unwrap();
        let plain = |row: &str| row.replace("\x1b[2K", "").replace("\x1b[0m", "");
        above.split_terminator("\r\n").map(plain).chain(["status".to_owned()]).collect()
    }

    #[test]
    fn a_text_that_fits_is_shown_whole() {
        assert_eq!(shown(2, 24), ["line 1", "line 2", "status"]);
        assert_eq!(shown(23, 24).len(), 24);
        assert_eq!(shown(23, 24)[22], "line 23");
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_and_says_so() {
        let rows = shown(30, 24);
        assert_eq!((rows.len(), &*rows[21]), (24, "line 22"));
        assert_eq!(rows[22], "… 8 more lines: shown in a taller window, and in the last report");
    }

    #[test]
    fn a_frame_fits_into_any_window() {
        for rows in 0..4 {
            assert!(shown(9, rows).len() <= rows.max(1), "{rows}");
        }
    }
}
