//! The kernels' obvious twin, byte by byte, and the law that they equal it: for the tests here and for the fuzz target
//! `kernel`.

use super::{
    super::kernel::{Kernel, Task, on_each},
    Ahead, Long, State,
};

fn scalar(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match *bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => match *bytes.get(at + 1)? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                b'u' if bytes.get(at + 2..at + 6)?.iter().all(u8::is_ascii_hexdigit) => at += 6,
                _ => return None,
            },
            0..0x20 => return None,
            _ => at += 1,
        }
    }
}

/// The end of the string that begins before `from`, by a look at what is inside.
#[derive(Clone, Copy)]
struct Inside<'a>(&'a [u8], usize);

impl Task for Inside<'_> {
    type Done = Option<usize>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Option<usize> {
        let state = State { carry: false, inside: true };
        let mut ahead = Ahead { start: self.1, end: self.1, state, ..Ahead::default() };
        Some(kernel.run(Long { ahead: &mut ahead, bytes: self.0, step: 0, unseen: u64::MAX })?.at)
    }
}
/// All strings of a text, each from its first quote on: where they end, as long as they end well.
#[derive(Clone, Copy)]
struct Strings<'a>(&'a [u8]);

impl Task for Strings<'_> {
    type Done = Vec<usize>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Vec<usize> {
        let mut ahead = Ahead::default();
        let (mut ends, mut at) = (Vec::new(), 0);
        while let Some(next) = self.0[at..].iter().position(|&byte| byte == b'"' || byte == b'\\')
            && let Some(end) = ahead.string(kernel, self.0, at + next)
        {
            let text = &self.0[at + next + 1..end.at];
            assert!(end.escaped || !text.contains(&b'\\'), "an escape goes unseen");
            ends.push(end.at);
            at = end.at + 1;
        }
        ends
    }
}

fn scalar_strings(bytes: &[u8]) -> Vec<usize> {
    let (mut ends, mut at) = (Vec::new(), 0);
    while let Some(next) = bytes[at..].iter().position(|&byte| byte == b'"' || byte == b'\\')
        && bytes[at + next] == b'"'
        && let Some(end) = scalar(bytes, at + next + 1)
    {
        ends.push(end);
        at = end + 1;
    }
    ends
}

/// Every kernel that this processor can run finds the ends that the scalar walk finds.
///
/// A look goes beyond the string and may find fault with what follows, and then finds no end. Where nothing follows, it
/// finds each.
pub(in crate::event) fn kernels_agree(bytes: &[u8], from: usize) {
    let wanted = scalar(bytes, from);
    for (kernel, found) in on_each(Inside(bytes, from)) {
        assert!(found.is_none() || found == wanted, "{}", shown(kernel, bytes, from, &found));
    }
    let alone = wanted.map_or(bytes, |end| &bytes[..=end]);
    for (kernel, found) in on_each(Inside(alone, from)) {
        assert!(found == wanted, "{}", shown(kernel, alone, from, &found));
    }

    let wanted = scalar_strings(bytes);
    for (kernel, found) in on_each(Strings(bytes)) {
        assert!(wanted.starts_with(&found), "{}", shown(kernel, bytes, 0, &found));
    }
    let alone = wanted.last().map_or(&bytes[..0], |&end| &bytes[..=end]);
    for (kernel, found) in on_each(Strings(alone)) {
        assert!(found == wanted, "{}", shown(kernel, alone, 0, &found));
    }
}

fn shown(kernel: &str, bytes: &[u8], from: usize, found: &impl std::fmt::Debug) -> String {
    format!("{kernel} finds {found:?} from {from} of {}", bytes.escape_ascii())
}

#[cfg(all(test, unix))]
#[expect(unsafe_code, reason = "memory that ends at a page that cannot be read")]
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
