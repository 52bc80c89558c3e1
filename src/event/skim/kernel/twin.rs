//! The kernels' obvious twin, byte by byte, and the law that they equal it: for the tests here and for the fuzz target
//! `kernel`.

use super::{End, Kernel, avx2, sse2, string_end};

fn scalar(bytes: &[u8], from: usize) -> Option<End> {
    let (mut at, mut escaped) = (from, false);
    loop {
        match *bytes.get(at)? {
            b'"' => return Some(End { at, escaped }),
            b'\\' => {
                escaped = true;
                match *bytes.get(at + 1)? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                    b'u' if bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) => at += 6,
                    _ => return None,
                }
            }
            0..0x20 => return None,
            _ => at += 1,
        }
    }
}

/// Every kernel that this processor can run finds the end that the scalar walk finds.
pub(in crate::event) fn kernels_agree(bytes: &[u8], from: usize) {
    let avx2 = is_x86_feature_detected!("avx2").then_some(("avx2", avx2 as Kernel));
    let kernels: [(_, Kernel); 2] = [("sse2", sse2), ("chosen", string_end)];
    let wanted = scalar(bytes, from);
    for (name, kernel) in kernels.into_iter().chain(avx2) {
        assert_eq!(kernel(bytes, from), wanted, "{name} from {from} of {}", bytes.escape_ascii());
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::kernels_agree;

    /// Two pages of memory, of which the second cannot be read.
    struct Fence {
        start: *mut u8,
        page: usize,
    }

    impl Fence {
        fn new() -> Self {
            // SAFETY: it only asks.
            let page =
                usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).expect("pages have a size");
            let (read, private) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            // SAFETY: new memory, wherever the system likes.
            let start = unsafe { libc::mmap(std::ptr::null_mut(), 2 * page, read, private, -1, 0) };
            assert_ne!(start, libc::MAP_FAILED);
            let start = start.cast::<u8>();
            // SAFETY: the second page is part of the two.
            let second = unsafe { start.add(page) };
            // SAFETY: nobody has a reference into it yet.
            assert_eq!(unsafe { libc::mprotect(second.cast(), page, libc::PROT_NONE) }, 0);
            Self { start, page }
        }

        /// The bytes, at the end of what can be read.
        fn put(&mut self, bytes: &[u8]) -> &[u8] {
            assert!(bytes.len() <= self.page);
            // SAFETY: that many bytes before the second page are ours to read and write, and who holds the slice holds
            // `self`, so that they are neither written nor given back meanwhile.
            unsafe {
                let at = self.start.add(self.page - bytes.len());
                at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                std::slice::from_raw_parts(at, bytes.len())
            }
        }
    }

    impl Drop for Fence {
        fn drop(&mut self) {
            // SAFETY: the two pages are ours, and nobody holds a slice of them.
            unsafe { libc::munmap(self.start.cast(), 2 * self.page) };
        }
    }

    #[test]
    fn no_kernel_reads_past_the_end_of_the_input() {
        let mut fence = Fence::new();
        for length in 0..200 {
            for end in
                ["", "\"", "\\", "\\\"", "\\\\\"", "\\u", "\\u00e", "\\u00e9", "\\u00e9\"", "\x1f", "€\""]
            {
                let mut text = vec![b'x'; length];
                let tail = &end.as_bytes()[..end.len().min(length)];
                text[length - tail.len()..].copy_from_slice(tail);
                let text = fence.put(&text);
                for from in 0..=length + 1 {
                    kernels_agree(text, from);
                }
            }
        }
    }
}
