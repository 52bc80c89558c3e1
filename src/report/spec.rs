//! What is known of a report before it is made: its name, its keys, its command, and what has to be read for it.

use super::{Column, Head, Preset, REPORTS, Report, Table, Unit, View, column::columns};
use crate::facts::Detail;

/// One report. Its file declares it, `REPORTS` lists it, and commands, help, man pages, schemas, exports and snapshots follow.
#[derive(Clone, Copy, Debug)]
pub struct ReportSpec {
    /// Its name.
    pub name: &'static str,
    /// What it says, in one sentence.
    pub doc: &'static str,
    /// What programs find in it.
    pub shape: Shape,
    /// What it is made of.
    pub reads: Reads,
    /// How much of it has to be kept.
    pub keeps: Detail,
    /// Makes it; `None` if it needs more than the rows, which is then up to its command.
    pub make: Option<fn(&View<'_>) -> Report>,
    /// The shape of ccusage that its command can write too.
    pub ccusage: Option<Preset>,
    /// Whether gates can be asked for with it: then programs find `gates` too.
    pub is_gated: bool,
    /// Whether its rows can be exported.
    pub is_export: bool,
    /// The report that an export with content writes in its place.
    pub with_content: Option<&'static ReportSpec>,
    /// The command that writes it; `None` if another report's command does, or an export alone.
    pub command: Option<CommandSpec>,
    /// A command line that writes it, without the program and the logs: snapshots are made with it. Empty for its command alone.
    pub sample: &'static [&'static str],
}

/// The command of a report, as the help describes it. The examples are whole command lines, and a test types them.
#[derive(Clone, Copy, Debug)]
pub struct CommandSpec {
    /// Its name, if it is not that of the report.
    pub name: Option<&'static str>,
    /// Where the help lists it.
    pub group: CommandGroup,
    /// What it does, in a few words.
    pub about: &'static str,
    /// What else a reader of its help should know.
    pub details: &'static str,
    /// What for, and what to type.
    pub examples: &'static [(&'static str, &'static str)],
    /// Whether it has arguments that other reports of rows do not have: then the program declares the command.
    pub has_arguments: bool,
}

impl CommandSpec {
    /// What most commands have in common.
    pub const DEFAULT: Self = Self {
        name: None,
        group: CommandGroup::Inside,
        about: "",
        details: "",
        examples: &[],
        has_arguments: false,
    };
}

names! {
    /// What a command is about, in the order of the help, with its heading there.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CommandGroup {
        /// One run as a whole, or several taken together.
        Run = "A run",
        /// What it did, piece by piece.
        Inside = "Inside a run",
        /// What was allowed, asked and offered, and what ran beside it.
        Around = "Around a run",
        /// What happened over days and sessions.
        History = "History",
        /// What other programs ask for.
        Programs = "For programs",
    } => heading
}

/// What has to be kept for the tokens and costs of periods.
pub(super) const PERIOD: Detail = Detail::RESPONSES;

/// What has to be kept for calls, and how they ended.
pub(super) const CALLED: Detail = Detail::CALLS.and(Detail::AGENTS).and(Detail::EVENTS);

/// What a report is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Logs.
    Logs,
    /// Two sets of logs.
    TwoSides,
    /// No log.
    Nothing,
}

/// What programs find in a report.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Rows of these columns.
    Rows(fn() -> Vec<Head>),
    /// Keys of its own.
    Tree(Keys),
}

/// The keys of an object.
pub type Keys = &'static [(&'static str, &'static str, Key)];

/// Declares an object that programs read: the list of its keys, for the schema, and the function that makes its members.
///
/// ```text
/// object! { DENIALS, denials(denials: &Denials)
///     total: "All.", COUNT => denials.total;
/// }
/// ```
///
/// A line has the key, one sentence, what is found under the key, and its value.
macro_rules! object {
    ($vis:vis $keys:ident, $make:ident($($name:ident: $ty:ty),+)
        $($key:ident: $doc:literal, $shape:expr => $value:expr;)+) => {
        $vis const $keys: $crate::report::Keys = &[$((stringify!($key), $doc, $shape)),+];

        $vis fn $make($($name: $ty),+) -> $crate::report::Members {
            vec![$((stringify!($key).to_owned(), $crate::report::Value::from($value))),+]
        }
    };
}
pub(super) use object;

/// What is found under a key.
#[derive(Clone, Copy, Debug)]
pub enum Key {
    /// A value of this unit.
    One(Unit),
    /// The same, or nothing where it is not known.
    Maybe(&'static Key),
    /// Several.
    List(&'static Key),
    /// An object with these keys; each has a sentence that says what it is.
    Object(Keys),
    /// An object keyed by names out of the log.
    ByName(&'static Key),
}

impl ReportSpec {
    /// A report of rows.
    pub const fn rows(name: &'static str, doc: &'static str, heads: fn() -> Vec<Head>) -> Self {
        Self::of(name, doc, Shape::Rows(heads))
    }

    /// A report with keys of its own.
    pub const fn tree(name: &'static str, doc: &'static str, keys: Keys) -> Self {
        Self::of(name, doc, Shape::Tree(keys))
    }

    const fn of(name: &'static str, doc: &'static str, shape: Shape) -> Self {
        Self {
            name,
            doc,
            shape,
            reads: Reads::Logs,
            keeps: Detail::ROWS,
            make: None,
            ccusage: None,
            is_gated: false,
            is_export: false,
            with_content: None,
            command: None,
            sample: &[],
        }
    }

    /// The report of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        REPORTS.iter().find(|spec| spec.name == name)
    }

    /// The reports whose rows can be exported.
    pub fn exports() -> impl Iterator<Item = &'static Self> {
        REPORTS.iter().filter(|spec| spec.is_export)
    }

    /// Its command and the name of it.
    pub fn command(&self) -> Option<(&'static str, &CommandSpec)> {
        self.command.as_ref().map(|command| (command.name.unwrap_or(self.name), command))
    }

    /// A command line that writes it, without the program and the logs.
    pub fn sample(&self) -> &[&'static str] {
        if self.sample.is_empty() { std::slice::from_ref(&self.name) } else { self.sample }
    }

    /// Whether logs are read for it.
    pub fn reads_logs(&self) -> bool {
        self.reads != Reads::Nothing
    }

    /// Its columns; none if it has keys of its own.
    pub fn heads(&self) -> Vec<Head> {
        match self.shape {
            Shape::Rows(heads) => heads(),
            Shape::Tree(_) => Vec::new(),
        }
    }
}

fn columns() -> Vec<Column<ReportSpec>> {
    columns! { |spec: ReportSpec|
        text report "Report" "Its name." => spec.name;
        text doc "What it says" "What it says." => spec.doc;
    }
}

/// The list of the reports themselves.
pub fn reports() -> Report {
    Report::of("reports", Table::of("Reports", &columns(), REPORTS), Vec::new())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_and_keys_are_unique_and_everything_is_explained() {
        let names: BTreeSet<&str> = REPORTS.iter().map(|spec| spec.name).collect();
        assert_eq!(names.len(), REPORTS.len());
        for spec in REPORTS {
            assert!(spec.doc.ends_with('.'), "{}", spec.name);
            let heads = spec.heads();
            let keys: BTreeSet<&str> = heads.iter().map(|head| head.key).collect();
            assert_eq!(keys.len(), heads.len(), "{}: a key stands twice", spec.name);
            for head in heads {
                assert!(head.doc.ends_with('.'), "{}.{}: {}", spec.name, head.key, head.doc);
                let plain =
                    |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
                assert!(head.key.chars().all(plain), "{}.{}", spec.name, head.key);
            }
        }
    }
}
