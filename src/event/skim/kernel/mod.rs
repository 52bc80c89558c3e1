//! The string kernels: where JSON strings begin and end, 64 bytes at a time.
//!
//! Over half of all bytes in a log are inside long strings that nobody reads, and all of them are checked for control
//! characters, escapes and the closing quote. Vector instructions do that faster than anything else: in safe Rust with
//! memchr2 the check took 3.3 times as long as counting newlines, with vectors about twice as long.
//!
//! `x86.rs` has SSE2, which every x86-64 has, and AVX2, which is used if the processor has it. `neon.rs` is for 64-bit ARM.
//! `portable.rs` is safe Rust on 64-bit words for all other processors; it is compiled everywhere, so that it is tested
//! everywhere. Only the files with vectors may use `unsafe`.

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

/// Number of bytes that a kernel looks at in one step.
pub const STEP: usize = 64;

/// Quotes and backslashes of a step. Bit `n` belongs to byte `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Masks {
    /// Bytes that are a quote.
    pub quote: u64,
    /// Bytes that are a backslash.
    pub backslash: u64,
}

/// Classifies the bytes of a step. A value of a kernel is a proof that the processor has its instructions.
pub trait Kernel: Run {
    /// Finds quotes and backslashes.
    fn masks(self, step: &[u8; STEP]) -> Masks;
    /// Returns whether there is a control character. There hardly ever is; only then [`controls`](Self::controls) is called.
    fn has_controls(self, step: &[u8; STEP]) -> bool;
    /// Finds control characters: bytes below 0x20.
    fn controls(self, step: &[u8; STEP]) -> u64;
    /// Returns those of the `escaped` bytes that are not one of `"\/bfnrt`, the letters of escapes with two characters.
    fn not_short(self, step: &[u8; STEP], escaped: u64) -> u64;
    /// Finds the letter `u`, which begins an escape of four digits.
    fn codes(self, step: &[u8; STEP]) -> u64;
}

/// Runs tasks: a kernel, or the choice of one.
pub trait Run: Copy {
    /// Runs a task in a function of its own, compiled for the instructions of the kernel.
    fn run<T: Task>(self, task: T) -> T::Done;
}

/// Work that any kernel can do. Everything in it that uses the kernel must be inlined: a function that is not inlined is
/// compiled without the kernel's instructions.
pub trait Task {
    /// The result.
    type Done;
    /// Does the work.
    fn run<K: Kernel>(self, kernel: K) -> Self::Done;
}

/// Runs a task that can be copied with [`Best`] and with every kernel that this processor can run.
#[cfg(any(test, fuzzing))]
pub(super) fn on_each<T: Task + Copy>(task: T) -> Vec<(&'static str, T::Done)> {
    let mut all = vec![("best", Best.run(task))];
    all.push(("portable", Portable.run(task)));
    #[cfg(target_arch = "x86_64")]
    all.push(("sse2", Sse2.run(task)));
    #[cfg(target_arch = "x86_64")]
    all.extend(Avx2::detect().map(|avx2| ("avx2", avx2.run(task))));
    all
}

/// A table by the low four bits of a byte: the letter of a short escape with these bits. `"` and `r` are missing, because they
/// share their bits with `b`. Free entries hold a byte with other low bits, which never equals the byte that is looked up.
const SHORT: [u8; 16] = {
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

    /// All that a kernel finds in a step.
    #[derive(Clone, Copy)]
    struct All<'a>(&'a [u8; STEP]);

    impl Task for All<'_> {
        type Done = [u64; 6];

        #[inline(always)]
        fn run<K: Kernel>(self, kernel: K) -> [u64; 6] {
            let Masks { quote, backslash } = kernel.masks(self.0);
            [
                quote,
                backslash,
                u64::from(kernel.has_controls(self.0)),
                kernel.controls(self.0),
                kernel.not_short(self.0, u64::MAX),
                kernel.codes(self.0),
            ]
        }
    }

    fn byte_by_byte(step: &[u8; STEP]) -> [u64; 6] {
        let bits = |holds: fn(u8) -> bool| {
            step.iter().enumerate().map(|(at, &byte)| u64::from(holds(byte)) << at).sum::<u64>()
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

    fn check(step: &[u8; STEP]) {
        let wanted = byte_by_byte(step);
        for (kernel, found) in on_each(All(step)) {
            assert_eq!(found, wanted, "{kernel} on {}", step.escape_ascii());
        }
    }

    #[test]
    fn every_kernel_classifies_every_byte_beside_every_other() {
        for first in 0..=255 {
            for second in 0..=255 {
                // A word whose arithmetic carries from one byte into the next fails at the second.
                let mut step = [b'a'; STEP];
                for at in (usize::from(first) % 7..STEP - 1).step_by(9) {
                    (step[at], step[at + 1]) = (first, second);
                }
                check(&step);
            }
        }
    }

    #[test]
    fn every_kernel_classifies_a_byte_in_every_position() {
        for byte in [0, 0x1f, 0x20, b'"', b'\\', b'/', b'b', b'f', b'n', b'r', b't', b'u', 0x7f, 0x80, 0xff] {
            for other in [0, b'"', b'\\', b'n', b' ', 0x80, 0xff] {
                for at in 0..STEP {
                    let mut step = [other; STEP];
                    step[at] = byte;
                    check(&step);
                }
            }
        }
    }
}
