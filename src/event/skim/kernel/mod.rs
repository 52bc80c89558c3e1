//! String kernels: they classify 64 bytes at a time as quotes, backslashes and control characters.
//!
//! Over half of the bytes in a log are inside long strings whose content is not needed, but every byte must
//! be checked for control characters, escapes and the closing quote. Vector instructions are the fastest way:
//! the check takes about twice as long as counting newlines, and 3.3 times as long in safe Rust with
//! `memchr2`.
//!
//! `x86.rs` has SSE2, which every x86-64 has, and AVX2, which is used if the processor has it. `neon.rs` is
//! for 64-bit ARM. `portable.rs` is safe Rust on 64-bit words for all other processors; it is compiled
//! everywhere, so that it is tested everywhere. Only the files with vectors may use `unsafe`.

#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
mod neon;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use portable::Portable;

// `Best` is the best kernel of the processor.
cfg_select! {
    target_arch = "x86_64" => {
        pub use x86::{Avx2, Best, Sse2};
    }
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little") => {
        pub use neon::Neon as Best;
    }
    _ => {
        pub use portable::Portable as Best;
    }
}

/// Number of bytes that a kernel classifies at a time.
pub const CHUNK: usize = 64;

/// Quotes and backslashes of a chunk. Bit `n` belongs to byte `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Masks {
    /// Bytes that are `"`.
    pub quote: u64,
    /// Bytes that are `\`.
    pub backslash: u64,
}

/// Classifies the bytes of a chunk. A kernel value proves that the processor has the instructions that it
/// uses.
pub trait Kernel: Run {
    /// Finds quotes and backslashes.
    fn masks(self, chunk: &[u8; CHUNK]) -> Masks;
    /// Returns whether there is a control character. That is rare, and [`controls`](Self::controls) is only
    /// called then.
    fn has_controls(self, chunk: &[u8; CHUNK]) -> bool;
    /// Finds control characters: bytes below 0x20.
    fn controls(self, chunk: &[u8; CHUNK]) -> u64;
    /// Returns the bytes of `escaped` that are not one of `"\/bfnrt`, the letters of two-character escapes.
    fn not_short_escape(self, chunk: &[u8; CHUNK], escaped: u64) -> u64;
    /// Finds the letter `u`, which begins a `\uXXXX` escape.
    fn find_u(self, chunk: &[u8; CHUNK]) -> u64;
}

/// Runs tasks with a kernel: a kernel itself, or [`Best`], which chooses one.
pub trait Run: Copy {
    /// Runs a task in a function of its own, compiled for the instructions of the kernel.
    fn run<T: Task>(self, task: T) -> T::Output;
}

/// Work that is generic over the kernel.
///
/// Every function that uses the kernel must be inlined into `run`: a function that is not inlined is compiled
/// without the kernel's instructions.
pub trait Task {
    /// Type that `run` returns.
    type Output;
    /// Runs the task, compiled for the instructions of `kernel`.
    fn run<K: Kernel>(self, kernel: K) -> Self::Output;
}

/// Runs a task with [`Best`] and with every kernel that this processor supports, and returns their names and
/// results.
#[cfg(any(test, fuzzing))]
pub(super) fn run_on_each<T: Task + Copy>(task: T) -> Vec<(&'static str, T::Output)> {
    let mut all = vec![("best", Best.run(task))];
    all.push(("portable", Portable.run(task)));
    #[cfg(target_arch = "x86_64")]
    all.push(("sse2", Sse2.run(task)));
    #[cfg(target_arch = "x86_64")]
    all.extend(Avx2::detect().map(|avx2| ("avx2", avx2.run(task))));
    all
}

/// The letters of short escapes, by their low four bits. `"` and `r` are missing, because they share these
/// bits with `b`. Unused entries hold a byte with other low bits, which never equals the byte that is looked
/// up.
const SHORT_ESCAPES: [u8; 16] = {
    let mut letters = [0xff; 16];
    letters[0xf] = b'/';
    letters[0x2] = b'b';
    letters[0x4] = b't';
    letters[0x6] = b'f';
    letters[0xc] = b'\\';
    letters[0xe] = b'n';
    letters
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls every method of a kernel.
    #[derive(Clone, Copy)]
    struct All<'a>(&'a [u8; CHUNK]);

    impl Task for All<'_> {
        type Output = [u64; 6];

        #[inline(always)]
        fn run<K: Kernel>(self, kernel: K) -> [u64; 6] {
            let Masks { quote, backslash } = kernel.masks(self.0);
            [
                quote,
                backslash,
                u64::from(kernel.has_controls(self.0)),
                kernel.controls(self.0),
                kernel.not_short_escape(self.0, u64::MAX),
                kernel.find_u(self.0),
            ]
        }
    }

    fn byte_by_byte(chunk: &[u8; CHUNK]) -> [u64; 6] {
        let bits = |holds: fn(u8) -> bool| {
            chunk.iter().enumerate().map(|(at, &byte)| u64::from(holds(byte)) << at).sum::<u64>()
        };
        let controls = bits(|byte| byte < 0x20);
        [
            bits(|byte| byte == b'"'),
            bits(|byte| byte == b'\\'),
            u64::from(controls != 0),
            controls,
            bits(|byte| !b"\"\\/bfnrt".contains(&byte)),
            bits(|byte| byte == b'u'),
        ]
    }

    fn check(chunk: &[u8; CHUNK]) {
        let expected = byte_by_byte(chunk);
        for (kernel, found) in run_on_each(All(chunk)) {
            assert_eq!(found, expected, "{kernel} on {}", chunk.escape_ascii());
        }
    }

    #[test]
    fn every_kernel_classifies_every_pair_of_adjacent_bytes() {
        for first in 0..=255 {
            for second in 0..=255 {
                // Arithmetic that carries from one byte into the next fails at the second byte.
                let mut chunk = [b'a'; CHUNK];
                for at in (usize::from(first) % 7..CHUNK - 1).step_by(9) {
                    (chunk[at], chunk[at + 1]) = (first, second);
                }
                check(&chunk);
            }
        }
    }

    #[test]
    fn every_kernel_classifies_a_byte_in_every_position() {
        for byte in [0, 0x1f, 0x20, b'"', b'\\', b'/', b'b', b'f', b'n', b'r', b't', b'u', 0x7f, 0x80, 0xff] {
            for other in [0, b'"', b'\\', b'n', b' ', 0x80, 0xff] {
                for at in 0..CHUNK {
                    let mut chunk = [other; CHUNK];
                    chunk[at] = byte;
                    check(&chunk);
                }
            }
        }
    }
}
