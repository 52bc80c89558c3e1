//! The result of archiving logs.

use super::{
    Column, CommandGroup, CommandSpec, Line, Reads, Report, ReportSpec, Table, Tone, column::columns, heads,
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    reads: Reads::Nothing,
    sample: &["archive"],
    command: Some(CommandSpec {
        group: CommandGroup::History,
        about: "Keep compressed copies of logs, which outlive them",
        details: "Claude Code deletes saved sessions after 30 days. An archive is a folder with one .jsonl.zst file for each log, \
            below the name of the machine, which every command reads like the logs themselves, also together with \
            them: nothing counts twice. A run adds what is new and never removes anything; it may be stopped at any \
            time. A log that was rewritten is kept beside its earlier content. With --lean, the archive contains \
            no texts, and all reports without content stay the same.",
        examples: &[
            ("Keep the saved sessions", "ccstat archive --to ~/claude-archive ~/.claude/projects"),
            ("The cost of all machines", "ccstat cost --by machine ~/claude-archive"),
            (
                "Figures without texts, to be shared",
                "ccstat archive --lean --to team/archive ~/.claude/projects",
            ),
        ],
        has_arguments: true,
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows("archive", "Archived logs: new, grown, rewritten, unchanged, and their sizes.", || {
        heads(&columns())
    })
};

/// Logs that an archive treated alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchivedLogs {
    /// The action that was taken on them.
    pub outcome: &'static str,
    /// Their number.
    pub files: u64,
    /// Bytes that were added, before compression.
    pub added: u64,
    /// Size of their files in the archive.
    pub stored: u64,
}

fn columns() -> Vec<Column<ArchivedLogs>> {
    columns! { |row: ArchivedLogs|
        text outcome "Logs" [required] "`new`, `grown`, `rewritten` (archived beside the earlier content), `unchanged`, `empty` (no whole line yet) or `failed`."
            => row.outcome;
        count files "Files" "Number of logs." => row.files;
        bytes added_bytes "Added" "Bytes of logs that were added, before compression." => row.added;
        bytes archive_bytes "In the archive" "Size of their files in the archive." => row.stored;
    }
}

/// Reports what was done with all logs of a machine.
pub fn archive(rows: &[ArchivedLogs], machine: &str, lean: bool) -> Report {
    let table = Table::of("Archive", &columns(), rows).with_sums();
    let kind = if lean { ", without content" } else { "" };
    let note = Line::new(Tone::Plain).word("archived as machine ").value(machine).word(kind);
    Report::of(SPEC.name, table, vec![note])
}
