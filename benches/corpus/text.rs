//! Random numbers, lengths, and the source of all texts.

/// A day in milliseconds.
pub(super) const DAY: u64 = 86_400_000;

/// Lengths in bytes at given thousandths of all texts, interpolated linearly. Tool results of transcripts:
/// with these, and about five other lines to each, all lines together have the lengths of real logs.
#[rustfmt::skip]
pub(super) const RESULT_SAVED: &[(u64, u64)] =
    &[(0, 60), (200, 600), (470, 2500), (700, 5000), (850, 9000), (948, 18_000), (990, 32_000), (1000, 90_000)];
/// Tool results of streams, which have only about two other lines to each.
#[rustfmt::skip]
pub(super) const RESULT_STREAMED: &[(u64, u64)] =
    &[(0, 60), (300, 450), (670, 2000), (850, 5000), (967, 18_000), (990, 30_000), (1000, 70_000)];
/// Text and thinking of the model.
pub(super) const PROSE: &[(u64, u64)] = &[(0, 20), (500, 250), (900, 1800), (1000, 9000)];
/// Prompts of the user, and shell commands.
pub(super) const PROMPT: &[(u64, u64)] = &[(0, 20), (500, 90), (900, 400), (1000, 1500)];
/// Files that are written or edited.
pub(super) const FILE: &[(u64, u64)] = &[(0, 100), (500, 1500), (900, 6000), (1000, 16_000)];

/// splitmix64: eight bytes of state, and the same numbers on every machine.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.roll()) * u128::from(end)) >> 64) as u64
    }

    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low)
    }

    pub(super) fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    pub(super) fn length(&mut self, lengths: &[(u64, u64)]) -> u64 {
        let at = self.below(1000);
        let upper = lengths.partition_point(|&(share, _)| share <= at);
        let ((from, low), (to, high)) = (lengths[upper - 1], lengths[upper]);
        // One more random number, so that the longest texts do not come in a thousand fixed lengths.
        let step = (at - from) * 1000 + self.below(1000);
        low + (high - low) * step / ((to - from) * 1000)
    }
}

/// A few MB of code and prose, already escaped for JSON; every text is cut out of it.
pub(super) struct Pool(Vec<u8>);

impl Pool {
    pub(super) fn new(seed: u64) -> Self {
        const SIZE: usize = 4 << 20;
        let mut random = Random(seed ^ 0x7465_7874);
        let mut text = Vec::with_capacity(SIZE + 1024);
        while text.len() < SIZE {
            let template = random.pick(FORMS);
            for (number, part) in template.split('$').enumerate() {
                if number > 0 {
                    text.extend_from_slice(random.pick(WORDS).as_bytes());
                }
                text.extend_from_slice(part.as_bytes());
            }
        }
        Self(text)
    }

    /// Returns about `length` bytes from anywhere, cut at spaces: a space is never part of an escape or of a
    /// wide character.
    pub(super) fn cut(&self, random: &mut Random, length: u64) -> &[u8] {
        let length = length as usize;
        let start = random.below((self.0.len() - length - 1024) as u64) as usize;
        let mut rest = &self.0[start..];
        piece(&mut rest, 1);
        piece(&mut rest, length).trim_ascii()
    }
}

/// Takes at least `length` bytes off the front, up to the next space.
pub(super) fn piece<'t>(text: &mut &'t [u8], length: usize) -> &'t [u8] {
    let from = length.min(text.len());
    let end = memchr::memchr(b' ', &text[from..]).map_or(text.len(), |space| from + space + 1);
    let (front, rest) = text.split_at(end);
    *text = rest;
    front
}

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "buffer", "session", "offset", "parser", "token", "request", "cache", "line", "record", "index", "path",
    "worker", "chunk", "value", "result", "state", "config", "client", "server", "handler", "queue", "event",
    "message", "user", "model", "price", "total", "count", "size", "limit", "error", "retry", "file", "reader",
    "writer", "source", "target", "merge", "split", "filter", "report", "table", "column", "schema", "width",
    "first", "last", "next", "left", "right", "empty", "ready", "broken", "missing", "shared", "local", "old",
    "new", "fast", "slow", "open", "closed", "stale", "fresh", "self_test", "read_all", "MAX_LEN", "HashMap",
];

/// Lines as in a JSON string: quotes, tabs and newlines escaped, some letters escaped, some raw.
#[rustfmt::skip]
const FORMS: &[&str] = &[
    r"    let mut $ = $::new($, $);\n",
    r#"    if $.is_empty() { return Err(\"no $ in $\".into()); }\n"#,
    r"        for $ in &self.$ { $.push($.clone()); }\n    }\n",
    r"pub fn $($: &str, $: usize) -> Option<$> {\n",
    r#"\t\tif err := $.$(ctx, $); err != nil {\n\t\t\treturn fmt.Errorf(\"$: %w\", err)\n\t\t}\n"#,
    r#"def $(self, $, $=None):\n    return self.$[\"$\"]\n\n"#,
    r#"  const $ = await $.get('/$/$', { $: \"$\" });\n"#,
    r"// The $ of a $ is $ until the $ is $; see $.rs for why.\n",
    r"  1042\t    match $ {\n  1043\t        Some($) => $.$(),\n  1044\t        None => $,\n",
    r"src/$/$.rs:217:    assert_eq!($.$(), $);\n",
    r#"{\"$\": 17, \"$\": [\"$\", \"$\"], \"$\": null}\n"#,
    r"The $ was $, so the $ $ now waits for the $ before it $ the $.\n\n",
    r"I will look at the $ first, then change the $ and run the $ tests again.\n",
    r"- `$`: the $ $ of the $ (default: $)\n- `$`: same for the $\n",
    r"test $::$::$ ... ok\ntest $::$::$ ... ok\n",
    r"\u001b[31merror\u001b[0m[E0308]: mismatched $: expected `$`, found `$`\n",
    r"C:\\Users\\dev\\$\\$.ts(12,8): $ is declared but never $\r\n",
    r"caf\u00e9 na\u00efve \u2014 the $ is \u201c$\u201d, the $ \u2026 $\n",
    "# Größe des $: der $ für das $ — $ ±$ µs\\n",
    "日本語の $ を確認してから $ を更新する。 🚀 $ ✅ $\\n",
    "<div class=\\\"$\\\">$ &amp; $</div>\u{2028} $\\n",
];
