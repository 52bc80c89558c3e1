//! Logs of mutants between untouched records.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use ccstat::internal::event;

use crate::{checks, edit::Random, story::Stories};

/// Mutants per log: few enough that the places of all of them are kept.
pub(crate) const MUTANTS: usize = 96;

/// Logs that are being filled.
pub(crate) struct Log<'a> {
    stories: &'a Stories,
    /// Lines with one value each.
    plain: Full<'a>,
    /// Lines that may have several.
    loose: Full<'a>,
}

/// A complete log.
pub(crate) struct Full<'a> {
    stories: &'a Stories,
    /// Its lines: mutants with the name of their mutation, others with their number.
    lines: Vec<(Vec<u8>, Result<usize, &'static str>)>,
    mutants: usize,
    plain: bool,
}

impl<'a> Log<'a> {
    pub(crate) fn new(stories: &'a Stories) -> Self {
        Self { stories, plain: Full::new(stories, true), loose: Full::new(stories, false) }
    }

    /// Adds a mutant, and returns the log if it is now full.
    pub(crate) fn put(
        &mut self,
        mutant: Vec<u8>,
        operator: &'static str,
        random: &mut Random,
    ) -> Option<Full<'a>> {
        // The first value decides the shape of a log, so the mutant must not be the first.
        let plain = checks::things(&[b"{}\n", &*mutant].concat()).is_some();
        let log = if plain { &mut self.plain } else { &mut self.loose };
        if log.mutants == 0 || random.below(3) == 0 {
            let number = *random.of(&self.stories.records);
            let bytes = &self.stories.lines[number].bytes;
            // Long records take time and add nothing.
            if bytes.len() < 2048 || log.mutants == 0 {
                log.lines.push((bytes.clone(), Ok(number)));
            }
        }
        log.lines.push((mutant, Err(operator)));
        log.mutants += 1;
        let full = log.mutants == MUTANTS;
        full.then(|| std::mem::replace(log, Full::new(self.stories, plain)))
    }

    /// Returns the logs that are not full.
    pub(crate) fn rest(self) -> impl Iterator<Item = Full<'a>> {
        [self.plain, self.loose].into_iter().filter(|log| log.mutants > 0)
    }
}

impl<'a> Full<'a> {
    fn new(stories: &'a Stories, plain: bool) -> Self {
        Self { stories, lines: Vec::new(), mutants: 0, plain }
    }

    /// Counts its mutations by name.
    pub(crate) fn operators(&self) -> BTreeMap<&'static str, u64> {
        let mut operators = BTreeMap::new();
        for operator in self.lines.iter().filter_map(|(_, origin)| origin.err()) {
            *operators.entry(operator).or_default() += 1;
        }
        operators
    }

    /// Returns its first lines, as a log.
    pub(crate) fn part(&self, lines: usize) -> Vec<u8> {
        self.lines.iter().take(lines).flat_map(|(line, _)| line.iter().copied().chain([b'\n'])).collect()
    }

    /// Checks that both decoders agree on each mutant, and that every line is accounted for.
    pub(crate) fn hold(&self, (block, unit): (usize, u64)) {
        self.lines.iter().filter(|(_, origin)| origin.is_err()).for_each(|(line, _)| checks::skim(line));
        let log = self.part(usize::MAX);
        let account = checks::scan(&log, block, unit).expect("it begins with a record");
        let untouched = || self.lines.iter().filter_map(|(_, origin)| origin.ok());
        self.stories.still_counted(untouched(), &account, &log);
        if self.plain {
            let input = &account.input;
            let sum = input.blank + input.invalid + input.truncated + input.records;
            assert_eq!(input.lines, sum, "lines do not add up in {}", log.escape_ascii());
            let pieces = self.lines.iter().filter(|(_, origin)| origin.is_err());
            let pieces = pieces.flat_map(|(line, _)| line.split(|&byte| byte == b'\n'));
            let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | 0);
            let bare = |line: &[u8]| line.iter().position(|byte| !blank(byte)).map_or(line.len(), |at| at);
            let valid = pieces.filter(|line| event::obvious(&line[bare(line)..]).is_ok()).count();
            let records = untouched().count() + valid;
            assert_eq!(
                input.records,
                records as u64,
                "other records than expected in {}",
                log.escape_ascii()
            );
        }
    }

    /// Returns a mutant that fails alone, if there is one.
    pub(crate) fn culprit(&self, sizes: (usize, u64)) -> String {
        for (line, origin) in self.lines.iter().filter(|(_, origin)| origin.is_err()) {
            let alone = Full {
                lines: vec![self.lines[0].clone(), (line.clone(), *origin), self.lines[0].clone()],
                mutants: 1,
                ..*self
            };
            if catch_unwind(AssertUnwindSafe(|| alone.hold(sizes))).is_err() {
                return format!("{origin:?} {}", line.escape_ascii());
            }
        }
        format!("no mutant fails by itself: {}", self.part(usize::MAX).escape_ascii())
    }
}
