//! Static description of reports: name, keys, command, and the data each needs.

use super::{Column, Head, Preset, REPORTS, Report, RowStream, Table, Unit, View, column::columns};
use crate::facts::Detail;

/// One report. Its module declares it and `REPORTS` lists it; commands, help, man pages, schemas, exports and
/// snapshots derive from it.
#[derive(Clone, Copy, Debug)]
pub struct ReportSpec {
    /// Name of the report.
    pub name: &'static str,
    /// Description, in one sentence.
    pub doc: &'static str,
    /// Shape of the data.
    pub shape: Shape,
    /// Input.
    pub reads: Reads,
    /// Detail that must be kept while reading.
    pub keeps: Detail,
    /// Texts that must be kept too where content may be shown.
    pub content: Detail,
    /// Builds the report; `None` if its command has to, because it needs more than the rows.
    pub make: Option<fn(&View<'_>) -> Report>,
    /// Makes its rows one after another, without a table of all. `make` makes the same rows.
    pub stream: Option<RowStream>,
    /// The ccusage format that its command can write too.
    pub ccusage: Option<Preset>,
    /// Whether it accepts gates; its data then has the key `gates`.
    pub is_gated: bool,
    /// Whether its rows can be exported.
    pub is_export: bool,
    /// The report that an export with content writes instead.
    pub with_content: Option<&'static ReportSpec>,
    /// The command that writes it; `None` if another report's command or only an export does.
    pub command: Option<CommandSpec>,
    /// Arguments that write it, without program and logs, used for snapshots. Empty for the bare command.
    pub sample: &'static [&'static str],
}

/// The command of a report, as the help describes it. A test runs the examples.
#[derive(Clone, Copy, Debug)]
pub struct CommandSpec {
    /// Name, if it differs from the report's.
    pub name: Option<&'static str>,
    /// Group in the help.
    pub group: CommandGroup,
    /// One-line description.
    pub about: &'static str,
    /// Further help text.
    pub details: &'static str,
    /// Purpose and command line of each example.
    pub examples: &'static [(&'static str, &'static str)],
    /// Whether it has arguments of its own; `cli` then declares the command.
    pub has_arguments: bool,
}

impl CommandSpec {
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
    /// Groups of commands with their headings, in the order of the help.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CommandGroup {
        /// One or several runs as a whole.
        Run = "A run",
        /// Parts of a run: tools, turns, calls.
        Inside = "Inside a run",
        /// Permissions, questions, hooks, servers and tasks.
        Around = "Around a run",
        /// Days, projects and sessions.
        History = "History",
        /// For use by other programs.
        Programs = "For programs",
    } => heading
}

/// Detail needed for tokens and cost by period.
pub(super) const PERIOD: Detail = Detail::CHARGES;

/// Detail needed for calls and their outcome.
pub(super) const CALLED: Detail =
    Detail::CALLS.and(Detail::AGENTS).and(Detail::EVENTS).and(Detail::INPUT_HASHES);

/// Input of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    Logs,
    /// Two sets of logs, to compare.
    TwoSides,
    /// No log.
    Nothing,
}

/// Shape of a report's data.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Rows with these columns.
    Rows(fn() -> Vec<Head>),
    /// An object with these keys.
    Tree(Keys),
}

/// Keys of an object, each with a description and a type.
pub type Keys = &'static [(&'static str, &'static str, Key)];

/// Declares an object that programs read: the list of its keys for the schema, and the function that builds it.
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

/// Type of a value.
#[derive(Clone, Copy, Debug)]
pub enum Key {
    /// A single value of this unit.
    One(Unit),
    /// Nullable.
    Maybe(&'static Key),
    List(&'static Key),
    /// An object with fixed keys.
    Object(Keys),
    /// An object whose keys are names from the log.
    ByName(&'static Key),
}

impl ReportSpec {
    /// A report of rows.
    pub const fn rows(name: &'static str, doc: &'static str, heads: fn() -> Vec<Head>) -> Self {
        Self::of(name, doc, Shape::Rows(heads))
    }

    /// A report that is an object.
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
            content: Detail::TOTALS,
            make: None,
            stream: None,
            ccusage: None,
            is_gated: false,
            is_export: false,
            with_content: None,
            command: None,
            sample: &[],
        }
    }

    /// Finds a report by name.
    pub fn named(name: &str) -> Option<&'static Self> {
        REPORTS.iter().find(|spec| spec.name == name)
    }

    /// The reports whose rows can be exported.
    pub fn exports() -> impl Iterator<Item = &'static Self> {
        REPORTS.iter().filter(|spec| spec.is_export)
    }

    /// Name and description of its command.
    pub fn command(&self) -> Option<(&'static str, &CommandSpec)> {
        self.command.as_ref().map(|command| (command.name.unwrap_or(self.name), command))
    }

    /// Arguments that write it, without program and logs.
    pub fn sample(&self) -> &[&'static str] {
        if self.sample.is_empty() { std::slice::from_ref(&self.name) } else { self.sample }
    }

    /// Whether logs are read for it.
    pub fn reads_logs(&self) -> bool {
        self.reads != Reads::Nothing
    }

    /// Its columns; empty if it is an object.
    pub fn heads(&self) -> Vec<Head> {
        match self.shape {
            Shape::Rows(heads) => heads(),
            Shape::Tree(_) => Vec::new(),
        }
    }
}

fn columns() -> Vec<Column<ReportSpec>> {
    columns! { |spec: ReportSpec|
        text report "Report" "Name of the report." => spec.name;
        text doc "Description" "Description of the report." => spec.doc;
    }
}

/// The list of reports, as a report.
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
            assert_eq!(keys.len(), heads.len(), "{}: duplicate key", spec.name);
            for head in heads {
                assert!(head.doc.ends_with('.'), "{}.{}: {}", spec.name, head.key, head.doc);
                let plain =
                    |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
                assert!(head.key.chars().all(plain), "{}.{}", spec.name, head.key);
            }
        }
    }
}
