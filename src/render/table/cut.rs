//! Cuts texts to a width, at the end that matters least.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Keeps the start: `npm error 4…`.
pub(super) fn cut_end(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut head = taken(text.chars(), room.saturating_sub(1));
    head.truncate(head.trim_end().len());
    head + "…"
}

/// Keeps the end: `…c/render/table.rs`.
pub(super) fn cut_start(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let tail = taken(text.chars().rev(), room.saturating_sub(1));
    std::iter::once('…').chain(tail.chars().rev()).collect()
}

/// Keeps both ends: `mcp__very-lo…get_page`.
pub(in crate::render) fn cut_middle(name: &str, room: usize) -> String {
    if name.width() <= room {
        return name.to_owned();
    }
    let tail = room.saturating_sub(1) / 2;
    let head = taken(name.chars(), room.saturating_sub(1 + tail));
    let tail = taken(name.chars().rev(), tail);
    head.chars().chain(['…']).chain(tail.chars().rev()).collect()
}

/// The first letters that fit.
fn taken(letters: impl Iterator<Item = char>, room: usize) -> String {
    let mut used = 0;
    let fits = |letter: &char| {
        used += letter.width().unwrap_or(0);
        used <= room
    };
    letters.take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_both_ends() {
        assert_eq!(cut_middle("mcp__confluence__get_page", 13), "mcp__c…t_page");
        assert_eq!(cut_middle("Bash", 13), "Bash");
        assert_eq!(cut_middle("日本語日本語日本語", 9).width(), 9);
    }

    #[test]
    fn nothing_is_wider_than_its_room() {
        for room in 1..12 {
            for text in ["日本語日本語日本語", "a longer text with blanks", "e\u{301}e\u{301}e\u{301}"]
            {
                for cut in [cut_end, cut_start, cut_middle] {
                    assert!(cut(text, room).width() <= room, "{text} {room}");
                }
            }
        }
    }
}
