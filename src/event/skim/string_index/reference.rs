//! A reference implementation that reads byte by byte, and the check that every kernel agrees with it. The
//! tests here and the fuzz target `kernel` use it.

use super::{
    super::kernel::{Kernel, Task, run_on_each},
    LongString, ScanState, StringIndex,
};

/// Returns the index of the quote that closes the string that is open at `from`; `None` if the string is
/// invalid or has no end.
fn reference_end(bytes: &[u8], from: usize) -> Option<usize> {
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

/// Finds the end of a string that is open already: the text, and the offset to start at.
#[derive(Clone, Copy)]
struct StringTail<'a>(&'a [u8], usize);

impl Task for StringTail<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Option<usize> {
        let state = ScanState { escape: false, in_string: true };
        let mut index = StringIndex { start: self.1, end: self.1, state, ..StringIndex::default() };
        Some(kernel.run(LongString { index: &mut index, bytes: self.0, chunk: 0, remaining: u64::MAX })?.at)
    }
}

/// Finds the ends of all strings of a text, up to the first invalid one.
#[derive(Clone, Copy)]
struct AllStrings<'a>(&'a [u8]);

impl Task for AllStrings<'_> {
    type Output = Vec<usize>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Vec<usize> {
        let mut index = StringIndex::default();
        let (mut ends, mut at) = (Vec::new(), 0);
        while let Some(next) = self.0[at..].iter().position(|&byte| byte == b'"' || byte == b'\\')
            && let Some(end) = index.string_end(kernel, self.0, at + next)
        {
            let text = &self.0[at + next + 1..end.at];
            assert!(end.escaped || !text.contains(&b'\\'), "an escape was missed");
            ends.push(end.at);
            at = end.at + 1;
        }
        ends
    }
}

fn reference_strings(bytes: &[u8]) -> Vec<usize> {
    let (mut ends, mut at) = (Vec::new(), 0);
    while let Some(next) = bytes[at..].iter().position(|&byte| byte == b'"' || byte == b'\\')
        && bytes[at + next] == b'"'
        && let Some(end) = reference_end(bytes, at + next + 1)
    {
        ends.push(end);
        at = end + 1;
    }
    ends
}

/// Asserts that every kernel that this processor can run finds the same string ends as the reference.
///
/// Indexing goes beyond the end of a string, and an invalid byte there may make a kernel find no end. If
/// nothing follows the string, all kernels must find its end.
pub(in crate::event) fn kernels_agree(bytes: &[u8], from: usize) {
    let expected = reference_end(bytes, from);
    for (kernel, found) in run_on_each(StringTail(bytes, from)) {
        assert!(found.is_none() || found == expected, "{}", failure(kernel, bytes, from, &found));
    }
    let alone = expected.map_or(bytes, |end| &bytes[..=end]);
    for (kernel, found) in run_on_each(StringTail(alone, from)) {
        assert!(found == expected, "{}", failure(kernel, alone, from, &found));
    }

    let expected = reference_strings(bytes);
    for (kernel, found) in run_on_each(AllStrings(bytes)) {
        assert!(expected.starts_with(&found), "{}", failure(kernel, bytes, 0, &found));
    }
    let alone = expected.last().map_or(&bytes[..0], |&end| &bytes[..=end]);
    for (kernel, found) in run_on_each(AllStrings(alone)) {
        assert!(found == expected, "{}", failure(kernel, alone, 0, &found));
    }
}

fn failure(kernel: &str, bytes: &[u8], from: usize, found: &impl std::fmt::Debug) -> String {
    format!("{kernel} finds {found:?} from {from} of {}", bytes.escape_ascii())
}

#[cfg(all(test, unix))]
#[expect(unsafe_code, reason = "memory that ends at a page that cannot be read")]
mod tests {
    use super::kernels_agree;

    /// Two pages of memory. Reading the second one is a segmentation fault.
    struct GuardedPages {
        start: *mut u8,
        page: usize,
    }

    impl GuardedPages {
        fn new() -> Self {
            // SAFETY: the call only returns a number.
            let page =
                usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).expect("pages have a size");
            let (read, private) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            // SAFETY: this maps new memory at an address that the system chooses.
            let start = unsafe { libc::mmap(std::ptr::null_mut(), 2 * page, read, private, -1, 0) };
            assert_ne!(start, libc::MAP_FAILED);
            let start = start.cast::<u8>();
            // SAFETY: the mapping has two pages.
            let second = unsafe { start.add(page) };
            // SAFETY: there are no references into the mapping yet.
            assert_eq!(unsafe { libc::mprotect(second.cast(), page, libc::PROT_NONE) }, 0);
            Self { start, page }
        }

        /// Copies the bytes to the end of the readable page.
        fn put(&mut self, bytes: &[u8]) -> &[u8] {
            assert!(bytes.len() <= self.page);
            // SAFETY: the bytes before the second page are readable and writable. The slice borrows `self`,
            // so they are neither written nor unmapped while it lives.
            unsafe {
                let at = self.start.add(self.page - bytes.len());
                at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                std::slice::from_raw_parts(at, bytes.len())
            }
        }
    }

    impl Drop for GuardedPages {
        fn drop(&mut self) {
            // SAFETY: `new` mapped the two pages, and no slice of them is alive.
            unsafe { libc::munmap(self.start.cast(), 2 * self.page) };
        }
    }

    #[test]
    fn no_kernel_reads_past_the_end_of_the_input() {
        let mut pages = GuardedPages::new();
        for length in 0..200 {
            for end in
                ["", "\"", "\\", "\\\"", "\\\\\"", "\\u", "\\u00e", "\\u00e9", "\\u00e9\"", "\x1f", "€\""]
            {
                let mut text = vec![b'x'; length];
                let tail = &end.as_bytes()[..end.len().min(length)];
                text[length - tail.len()..].copy_from_slice(tail);
                let text = pages.put(&text);
                for from in 0..=length + 1 {
                    kernels_agree(text, from);
                }
            }
        }
    }
}
