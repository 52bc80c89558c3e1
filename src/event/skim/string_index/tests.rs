//! Every kernel must find the same string ends as the reference, wherever the string starts in a chunk.

use proptest::prelude::*;

use super::reference::kernels_agree;

fn agree(bytes: &[u8]) {
    for from in 0..=bytes.len().min(3) {
        kernels_agree(bytes, from);
    }
}

#[test]
fn every_byte_in_every_position_agrees_with_the_reference() {
    for length in [0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 130] {
        for at in 0..length {
            for byte in [0, 0x1f, 0x20, b'"', b'\\', b'n', b'u', 0x7f, 0x80, 0xff] {
                let mut text = vec![b'a'; length];
                text[at] = byte;
                text.push(b'"');
                agree(&text);
            }
        }
    }
}

#[test]
fn strings_that_end_near_the_end_of_the_lookahead_agree_with_the_reference() {
    // `LOOKAHEAD` chunks are 1024 bytes.
    for at in 1016..1034 {
        for tail in ["\"", "\\\"\"", "\\\\\"", "\\u00e9\"", "\\u00\"", "\x1f\"", "\" \"", "\\x\""] {
            let mut text = vec![b'a'; at];
            text.extend(tail.bytes());
            text.extend(b"and \"more\"");
            agree(&text);
        }
    }
}

#[test]
fn every_byte_after_a_backslash_agrees_with_the_reference() {
    for byte in 0..=255 {
        for before in [0, 14, 15, 62, 63, 64] {
            let mut text = vec![b'x'; before];
            text.extend([b'\\', byte]);
            text.extend(b"00e9 tail\"");
            agree(&text);
        }
    }
}

#[test]
fn runs_of_backslashes_across_a_chunk_boundary_are_paired() {
    for before in 50..70 {
        for run in 0..80 {
            let mut text = vec![b'x'; before];
            text.extend(vec![b'\\'; run]);
            text.extend(b"\" \"");
            agree(&text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn kernels_agree_with_the_reference_on_random_text(
        text in proptest::collection::vec(prop_oneof![
            8 => 0x20u8..0x7f,
            2 => Just(b'\\'),
            1 => Just(b'"'),
            1 => Just(b'u'),
            1 => Just(b'n'),
            1 => Just(b'0'),
            1 => any::<u8>(),
        ], 0..300)
    ) {
        agree(&text);
    }
}
