//! Lines: sentences of words, values and commands.

use std::fmt;

use super::{Data, Report, Section, Table, Value};

/// How a line is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// It went well.
    Good,
    /// Someone should look at it.
    Warning,
    /// It went wrong.
    Bad,
    /// It is so.
    Plain,
}

/// A part of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Our own words.
    Word(&'static str),
    /// A value, perhaps out of a log.
    Value(Value),
    /// A command that shows more.
    FollowUp(FollowUp),
    /// What the reader may choose.
    Choice(Choice),
    /// Text to be pasted: it is never wrapped or cut.
    Verbatim(String),
}

names! {
    /// What the reader may choose, to see more or something else. Reports say what there is to choose; with which option is for whoever
    /// knows the command line to say. The words are for readers without a command line; a sentence names a choice by them, in
    /// braces.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Choice {
        /// All rows of this report.
        AllRows = "all rows",
        /// Data, which leaves nothing out.
        Data = "data",
        /// A file of prices.
        PriceFile = "a price file",
        /// No configuration file.
        NoConfiguration = "no configuration",
        /// Rules for what was refused.
        Suggestions = "suggestions",
        /// A gate on costs that are not complete.
        CompleteGate = "a gate on incomplete costs",
        /// A run that is ended by the clock.
        TimedRun = "a limit of time",
    } => words
}

/// A command that shows more. Reports say what it shows; how it is typed, with which paths and options, is for whoever knows
/// the command line to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowUp {
    /// Another report about the same logs, by the words that ask for it, such as `explain cost`.
    Report(&'static str),
    /// The prices in force.
    Prices,
    /// This report with all of its rows.
    AllRows,
    /// The session of the first row, as the rows are sorted.
    FirstSession,
    /// One session, by its id, or by a beginning of it that no other row's has.
    Session {
        /// The whole id.
        id: String,
        /// Enough of it where nothing is left out.
        short: String,
    },
    /// As it is typed.
    Typed(String),
}

/// Without the paths and options that only the command line knows.
impl fmt::Display for FollowUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Report(words) => write!(f, "ccstat {words}"),
            Self::Prices => f.write_str("ccstat prices"),
            Self::AllRows => f.write_str(Choice::AllRows.words()),
            Self::FirstSession => f.write_str("ccstat show latest"),
            Self::Session { short, .. } => write!(f, "ccstat show {short}"),
            Self::Typed(command) => f.write_str(command),
        }
    }
}

/// A sentence of words and values.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// How it is meant.
    pub tone: Tone,
    /// What it says.
    pub parts: Vec<Part>,
}

impl Line {
    /// Nothing yet.
    pub fn new(tone: Tone) -> Self {
        Self { tone, parts: Vec::new() }
    }

    /// Goes on with words.
    #[must_use]
    pub fn word(mut self, word: &'static str) -> Self {
        self.parts.push(Part::Word(word));
        self
    }

    /// Goes on with words in which `{NAME}` stands for a choice, or for the command that shows that report.
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

    /// Goes on with a command.
    #[must_use]
    pub fn follow_up(mut self, command: FollowUp) -> Self {
        self.parts.push(Part::FollowUp(command));
        self
    }

    /// Goes on with this.
    #[must_use]
    pub(super) fn part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// Goes on with a value.
    #[must_use]
    pub fn value(mut self, value: impl Into<Value>) -> Self {
        self.parts.push(Part::Value(value.into()));
        self
    }

    /// Goes on with text to be pasted.
    #[must_use]
    pub fn verbatim(mut self, text: String) -> Self {
        self.parts.push(Part::Verbatim(text));
        self
    }

    /// Goes on with a count and its noun, in the right number.
    #[must_use]
    pub fn count(self, count: u64, one: &'static str, many: &'static str) -> Self {
        self.value(count).word(if count == 1 { one } else { many })
    }
}

impl Report {
    /// The same, with every command as this says.
    #[must_use]
    pub fn with_commands(mut self, typed: &dyn Fn(&FollowUp) -> FollowUp) -> Self {
        for part in self.parts() {
            if let Part::FollowUp(command) = part {
                *command = typed(command);
            }
        }
        self
    }

    /// The same, with every choice in these words.
    #[must_use]
    pub fn with_choices(mut self, typed: &dyn Fn(Choice) -> &'static str) -> Self {
        for part in self.parts() {
            if let Part::Choice(choice) = part {
                *part = Part::Word(typed(*choice));
            }
        }
        self
    }

    /// The parts of all lines.
    fn parts(&mut self) -> impl Iterator<Item = &mut Part> {
        let Self { name: _, data, notes, verdicts, run_outcomes, screen } = self;
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
                Section::Verdict(line) => lines.push(line),
                Section::Attention(several) => lines.extend(several),
                Section::Table(table) => tables.push(table),
                Section::Rows => {}
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
