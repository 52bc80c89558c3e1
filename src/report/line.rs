//! Lines of text made of words, values and commands.

use std::fmt;

use super::{Data, Report, Section, Table, Value};

/// Tone of a line, shown as a mark and a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Success.
    Good,
    /// Needs attention.
    Warning,
    /// Failure.
    Bad,
    /// Not over yet.
    Running,
    /// Neutral.
    Plain,
}

/// A part of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Fixed text.
    Word(&'static str),
    /// A value, possibly from a log.
    Value(Value),
    /// A command that shows more.
    FollowUp(FollowUp),
    /// An option the reader may use.
    Choice(Choice),
    /// Text to copy, never wrapped or truncated.
    Verbatim(String),
}

names! {
    /// Something the reader can choose. Reports name the choice; the command line replaces it with the
    /// option. The words are for output without a command line, and [`Line::words`] accepts them in braces.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Choice {
        /// Show all rows.
        AllRows = "all rows",
        /// Write data, which leaves nothing out.
        Data = "data",
        /// Use a file of prices.
        PriceFile = "a price file",
        /// Ignore configuration files.
        NoConfiguration = "no configuration",
        /// Suggest rules for denied calls.
        Suggestions = "suggestions",
        /// Fail on incomplete costs.
        CompleteGate = "a gate on incomplete costs",
        /// Limit the duration of a run.
        TimedRun = "a limit of time",
        /// Keep copies of logs.
        Archive = "an archive",
    } => words
}

/// A command that shows more. Reports say which; the command line adds paths and options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowUp {
    /// Another report about the same logs, such as `explain cost`.
    Report(&'static str),
    /// The price table.
    Prices,
    /// Rules that would allow the denied calls.
    AllowRules,
    /// This report with all rows.
    AllRows,
    /// Another report with all rows.
    AllRowsOf(&'static str),
    /// The session of the first row after sorting.
    FirstSession,
    /// One session.
    Session {
        /// Full id.
        id: String,
        /// Shortest prefix that is unique among the rows, for logs without a filter.
        short: String,
    },
    /// A complete command line.
    Typed(String),
}

/// Writes the command without paths and options, which only the command line knows.
impl fmt::Display for FollowUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Report(words) | Self::AllRowsOf(words) => write!(f, "ccstat {words}"),
            Self::Prices => f.write_str("ccstat prices"),
            Self::AllowRules => f.write_str("ccstat permissions"),
            Self::AllRows => f.write_str(Choice::AllRows.words()),
            Self::FirstSession => f.write_str("ccstat show latest"),
            Self::Session { short, .. } => write!(f, "ccstat show {short}"),
            Self::Typed(command) => f.write_str(command),
        }
    }
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub tone: Tone,
    /// Parts, in order.
    pub parts: Vec<Part>,
}

impl Line {
    /// An empty line.
    pub fn new(tone: Tone) -> Self {
        Self { tone, parts: Vec::new() }
    }

    /// Appends fixed text.
    #[must_use]
    pub fn word(mut self, word: &'static str) -> Self {
        self.parts.push(Part::Word(word));
        self
    }

    /// Appends text in which `{NAME}` is a choice or the command of a report.
    #[must_use]
    pub fn words(mut self, words: &'static str) -> Self {
        let mut rest = words;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else { break };
            let choice = Choice::ALL.into_iter().find(|choice| choice.words() == name);
            let follow_up = if name == "prices" { FollowUp::Prices } else { FollowUp::Report(name) };
            self = self.word(before);
            self.parts.push(choice.map_or(Part::FollowUp(follow_up), Part::Choice));
            rest = after;
        }
        self.word(rest)
    }

    /// Appends a command.
    #[must_use]
    pub fn follow_up(mut self, command: FollowUp) -> Self {
        self.parts.push(Part::FollowUp(command));
        self
    }

    /// Appends a part.
    #[must_use]
    pub(super) fn part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// Appends a value.
    #[must_use]
    pub fn value(mut self, value: impl Into<Value>) -> Self {
        self.parts.push(Part::Value(value.into()));
        self
    }

    /// Appends text to copy.
    #[must_use]
    pub fn verbatim(mut self, text: String) -> Self {
        self.parts.push(Part::Verbatim(text));
        self
    }

    /// Appends a count and its noun, singular or plural.
    #[must_use]
    pub fn count(self, count: u64, one: &'static str, many: &'static str) -> Self {
        self.value(count).word(if count == 1 { one } else { many })
    }
}

impl Report {
    /// Replaces every command.
    #[must_use]
    pub fn with_commands(mut self, typed: &dyn Fn(&FollowUp) -> FollowUp) -> Self {
        for part in self.parts() {
            if let Part::FollowUp(command) = part {
                *command = typed(command);
            }
        }
        self
    }

    /// Replaces every choice with fixed text.
    #[must_use]
    pub fn with_choices(mut self, typed: &dyn Fn(Choice) -> &'static str) -> Self {
        for part in self.parts() {
            if let Part::Choice(choice) = part {
                *part = Part::Word(typed(*choice));
            }
        }
        self
    }

    /// Parts of all lines.
    pub(super) fn parts(&mut self) -> impl Iterator<Item = &mut Part> {
        let Self { name: _, data, notes, verdicts, run_outcomes, screen, reader: _ } = self;
        let table = match data {
            Data::Rows(table) => Some(table),
            Data::Tree(_) | Data::Bare(_) => None,
        };
        let mut lines: Vec<&mut Line> = notes.iter_mut().collect();
        lines.extend(verdicts.iter_mut().flat_map(|one| one.hint.iter_mut().chain([&mut one.what])));
        lines.extend(run_outcomes.iter_mut().flat_map(|one| &mut one.failure));
        let mut tables: Vec<&mut Table> = table.into_iter().collect();
        for section in screen {
            match section {
                Section::Verdict(line) | Section::About(line) => lines.push(line),
                Section::Attention(several) => lines.extend(several),
                Section::Table(table) | Section::ScreenRows(table) => tables.push(table),
                Section::Chart(_) | Section::Rows | Section::Cards | Section::Gates => {}
            }
        }
        let mut all = Vec::new();
        for table in tables {
            lines.extend(table.more.as_mut());
            all.extend(&mut *table.all);
        }
        all.into_iter().chain(lines.into_iter().flat_map(|line| &mut line.parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_braces_are_commands() {
        let line = Line::new(Tone::Plain).words("see {turns} and {explain cost}; {prices} too, not {this");
        let asks: Vec<String> = line
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::FollowUp(command) => Some(command.to_string()),
                Part::Word(_) | Part::Value(_) | Part::Choice(_) | Part::Verbatim(_) => None,
            })
            .collect();
        assert_eq!(asks, ["ccstat turns", "ccstat explain cost", "ccstat prices"]);
    }
}
