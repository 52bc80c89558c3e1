//! Mutations of bytes, lines and files.

use crate::story::Stories;

/// Pseudo-random numbers; the sequence is the same in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below this one; 0 below 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % (end.max(1) as u64)) as usize
    }

    pub(crate) fn between(&mut self, start: usize, end: usize) -> usize {
        start + self.below(end - start)
    }

    pub(crate) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Returns up to this many evenly spread positions in something of this length; all of them if they are few.
/// Very long lines are not cut at every byte.
pub(crate) fn ends(length: usize, most: usize) -> impl Iterator<Item = usize> {
    let step = length.div_ceil(most.min(4096)).max(1);
    (0..length).step_by(step)
}

/// Bytes that break JSON, or a log, in most places.
const DEBRIS: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"\r",
    b"\0",
    b"\x1b[31m",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\\u12",
    b"\\ud800",
    b"0",
    b"-",
    b"1e999",
    b"NaN",
    b"nul",
    b"{}",
    b"[]",
    b"\"type\":",
    b"//",
    "\u{202e}".as_bytes(),
    "\u{2028}".as_bytes(),
];

/// A way to change bytes.
type Edit = fn(&mut Vec<u8>, &Stories, &mut Random);

/// The ways to change bytes, each with its name.
const EDITS: &[(&str, Edit)] = &[
    ("flip", |line, _, random| {
        let (at, bit) = (random.below(line.len()), random.below(8));
        line[at] ^= 1 << bit;
    }),
    ("replace", |line, _, random| {
        let at = random.below(line.len());
        line[at] = random.below(256) as u8;
    }),
    ("drop", |line, _, random| {
        let at = random.below(line.len());
        line.drain(at..(at + 1 + random.below(3)).min(line.len()));
    }),
    ("double", |line, _, random| {
        let at = random.below(line.len());
        line.insert(at, line[at]);
    }),
    ("swap", |line, _, random| {
        let (one, other) = (random.below(line.len()), random.below(line.len()));
        line.swap(one, other);
    }),
    ("swap neighbours", |line, _, random| {
        let at = random.below(line.len());
        let next = (at + 1).min(line.len() - 1);
        line.swap(at, next);
    }),
    ("insert", |line, _, random| {
        let at = random.below(line.len() + 1);
        line.splice(at..at, random.of(DEBRIS).iter().copied());
    }),
    ("splice", |line, stories, random| {
        let other = &random.of(&stories.lines).bytes;
        let at = random.below(line.len());
        line.truncate(at);
        line.extend(&other[random.below(other.len())..]);
    }),
    ("repeat a part", |line, _, random| {
        let from = random.below(line.len());
        let part = line[from..(from + 1 + random.below(64)).min(line.len())].to_vec();
        let at = random.below(line.len() + 1);
        line.splice(at..at, part);
    }),
];

/// Returns a changed line, mostly with one change.
pub(crate) fn mutant(stories: &Stories, long: bool, random: &mut Random) -> (&'static str, Vec<u8>) {
    let mut line = &random.of(&stories.lines).bytes;
    let most = if long { 8192 } else { 1024 };
    while line.len() > most {
        line = &random.of(&stories.lines).bytes;
    }
    let mut line = line.clone();
    let (operator, _) = *random.of(EDITS);
    let edit = EDITS.iter().find(|(name, _)| *name == operator).map(|(_, edit)| edit);
    for _ in 0..*random.of(&[1, 1, 1, 2, 4]) {
        if let Some(edit) = edit.filter(|_| !line.is_empty()) {
            edit(&mut line, stories, random);
        }
    }
    (operator, line)
}

/// A changed file.
pub(crate) struct FileEdit {
    pub(crate) operator: &'static str,
    pub(crate) bytes: Vec<u8>,
    /// How many lines were changed.
    pub(crate) mutated: u64,
    /// The lines that are unchanged.
    pub(crate) untouched: Vec<usize>,
}

impl FileEdit {
    /// Applies a random change to a random file.
    pub(crate) fn any(stories: &Stories, random: &mut Random) -> Self {
        let file = random.of(&stories.files);
        let mut lines = file.lines.clone();
        let (at, other) = (random.below(lines.len()), random.below(lines.len()));
        let (operator, mutated) = match random.below(6) {
            0 => {
                lines.remove(at);
                ("drop a line", 1)
            }
            1 => {
                lines.insert(other, lines[at]);
                ("double a line", 1)
            }
            2 => {
                lines.swap(at, other);
                ("swap lines", 2)
            }
            3 => {
                let next = &random.of(&stories.files).lines;
                lines.truncate(at);
                lines.extend(&next[random.below(next.len())..]);
                ("splice files", 1)
            }
            4 => return Self::torn(stories, random),
            _ => return Self::document(stories, random),
        };
        let bytes = lines.iter().flat_map(|&line| stories.with_end(line)).collect();
        Self { operator, bytes, mutated, untouched: lines }
    }

    /// Returns the front of one file and the back of another, both cut within a line.
    fn torn(stories: &Stories, random: &mut Random) -> Self {
        let (front, back) = (&random.of(&stories.files).lines, &random.of(&stories.files).lines);
        let (front, last) = front.split_at(random.below(front.len()));
        let (first, back) = back.split_at(1 + random.below(back.len()));
        let mut bytes: Vec<u8> = front.iter().flat_map(|&line| stories.with_end(line)).collect();
        let (torn, rest) = (&stories.lines[last[0]].bytes, &stories.lines[first[first.len() - 1]].bytes);
        bytes.extend(&torn[..random.below(torn.len())]);
        bytes.extend(&rest[random.below(rest.len())..]);
        bytes.push(b'\n');
        bytes.extend(back.iter().flat_map(|&line| stories.with_end(line)));
        // At the start of a file, the torn line decides the shape of the whole.
        let untouched = if front.is_empty() { Vec::new() } else { [front, back].concat() };
        Self { operator: "splice torn files", bytes, mutated: 1, untouched }
    }

    /// Returns a document with bytes changed, or a file whose shape its first value decides.
    fn document(stories: &Stories, random: &mut Random) -> Self {
        let mut bytes = random.of(&stories.documents).clone();
        for _ in 0..1 + random.below(3) {
            if !bytes.is_empty() {
                random.of(EDITS).1(&mut bytes, stories, random);
            }
        }
        Self { operator: "bytes of a document", bytes, mutated: 1, untouched: Vec::new() }
    }
}
