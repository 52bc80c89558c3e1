//! Rebuilds of the prompt cache: tokens that were written again although they had been cached, why, and what that
//! cost.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Column, CommandSpec, Line, Report, ReportSpec, Section, Shown, Table, Tone, Value, View,
    column::{columns, shown_as},
    heads,
    sum::{Row, RowContext, agent_column, place_column, place_columns, session_columns, share, text},
};
use crate::{
    facts::{
        Detail, Name,
        ledger::{Cause, Change, Evidence, Rebuild, Response},
    },
    measure::{Millis, Usd, add},
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    keeps: Detail::RESPONSES.and(Detail::AGENTS).and(Detail::REQUESTS),
    make: Some(cache),
    command: Some(CommandSpec {
        about: "Show why the prompt cache was lost, and what that cost",
        details: "One row for each response that wrote tokens to the cache again although its conversation had cached them. \
                  The cause is the first that the log shows: the server's own reason, other tools or another system \
                  prompt, another model, effort or beta, a conversation that was rewritten, a compaction, a fork or \
                  a resumed session, and a pause that was longer than the lifetime of the cache. Tokens and costs are \
                  estimates: a log does not say which text was written.\n\n\
                  CLI versions before 2.1.291 do not record requests. Most of their causes are unknown.",
        examples: &[
            ("What lost the cache in a run", "ccstat cache run.jsonl"),
            ("The rebuilds of a month that cost most", "ccstat cache --since 30d --sort extra_estimate_usd"),
            ("Totals by cause, as data", "ccstat export cache_causes --format csv"),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "cache",
        "Rebuilds of the prompt cache: tokens that were written again, why, and what that cost beyond reading them; estimates.",
        || heads(&columns()),
    )
};

pub(crate) const CAUSES: ReportSpec = ReportSpec {
    keeps: SPEC.keeps,
    make: Some(causes),
    is_export: true,
    sample: &["export", "cache_causes"],
    ..ReportSpec::rows(
        "cache_causes",
        "Rebuilds of the prompt cache by cause: tokens that were written again and what that cost beyond reading them; estimates.",
        || heads(&cause_columns()),
    )
};

/// A rebuild and its response.
struct Fact<'a> {
    rebuild: &'a Rebuild,
    response: &'a Response,
}

type RebuildRow<'a> = Row<Fact<'a>>;

fn columns<'a>() -> Vec<Column<RebuildRow<'a>>> {
    let mut columns = what_columns();
    columns.push(agent_column("`main`, or the type of the subagent.").shown(Shown::Wide));
    columns.extend(shown_as(Shown::Wide, &["session"], session_columns()));
    columns.extend(figure_columns());
    columns.push(place_column("Location of the response.").wide_screen());
    columns.extend(place_columns());
    columns
}

fn what_columns<'a>() -> Vec<Column<RebuildRow<'a>>> {
    columns! { |row: RebuildRow<'a>|
        time time "Time" "Time of the response, if the log has it." => row.fact.rebuild.context.time;
        text cause "Cause" [required] "`tools`, `system`, `shape` (tools or system), `model`, `effort`, `betas`, `rewritten`, `compaction`, `fork`, `resume`, `idle`, `server` (another reason of the server) or `unknown`."
            => row.fact.rebuild.cause.text();
        text details "Details" "What changed: tools and betas that were added (+), removed (-) or changed (~), values before and after, messages that were kept, the lifetime that had passed."
            => details(row.fact.rebuild);
        count rebuilt_estimate "Rebuilt (est.)" "Tokens that were written again, at most: cached by the request before, not read, but written."
            => row.fact.rebuild.tokens;
        usd extra_estimate_usd "Extra (est.)" "Cost of writing these tokens beyond that of reading them, at API prices."
            => row.fact.rebuild.cost;
        millis gap_ms "Gap" [nullable, no_sum, wide] "Time since the request before in the same conversation."
            => row.fact.rebuild.gap;
        text model "Model" [wide] "Model that was charged." => &row.fact.response.model;
    }
}

fn figure_columns<'a>() -> Vec<Column<RebuildRow<'a>>> {
    columns! { |row: RebuildRow<'a>|
        text evidence "Evidence" [data] "How the cause is known: `server` says it, records of a `request` differ, or other records of the `log` say it."
            => row.fact.rebuild.evidence.map(Evidence::text);
        count cached "Cached" [no_sum, data] "Tokens that were cached before." => row.fact.rebuild.cached;
        count cache_read "Cache read" [no_sum, data] "Tokens that the response read from the cache."
            => row.fact.response.tokens.cache_read;
        count cache_write_5m "Write 5m" [no_sum, data] "Tokens that it wrote to the cache for five minutes."
            => row.fact.response.tokens.cache_write_5m;
        count cache_write_1h "Write 1h" [no_sum, data] "Tokens that it wrote to the cache for an hour."
            => row.fact.response.tokens.cache_write_1h;
        millis lifetime_ms "Lifetime" [no_sum, data] "How long the cached tokens were to be kept." => row.fact.rebuild.lifetime;
        text message_id "Message id" [data] "`message.id` of the response, if the log has it." => &row.fact.response.id;
    }
}

/// Rebuilds with the same cause.
#[derive(Default)]
struct CauseRow {
    cause: Option<Cause>,
    rebuilds: u64,
    tokens: u64,
    cost: Option<Usd>,
    /// Rebuilds by models without a price.
    unpriced: u64,
    /// Part of the cost of all rebuilds.
    share: Option<f64>,
}

fn cause_columns() -> Vec<Column<CauseRow>> {
    columns! { |row: CauseRow|
        text cause "Cause" [required] "Why the tokens were not in the cache any more; see the report `cache`."
            => row.cause.map(Cause::text);
        count rebuilds "Rebuilds" "Responses that wrote cached tokens again." => row.rebuilds;
        count rebuilt_estimate "Rebuilt (est.)" "Tokens that were written again, at most." => row.tokens;
        usd extra_estimate_usd "Extra (est.)" "Cost of writing these tokens beyond that of reading them, at API prices."
            => row.cost;
        share share "Share" [no_sum] "Part of that cost." => row.share;
        count unpriced "Unpriced" [data] "Rebuilds whose cost is unknown, because the model has no price." => row.unpriced;
    }
}

/// Rebuilds by cause, the most expensive first.
fn by_cause(view: &View<'_>) -> Vec<CauseRow> {
    let mut rows: BTreeMap<Cause, CauseRow> = BTreeMap::new();
    let mut all = None;
    for rebuild in &view.ledger.rebuilds {
        let row = rows.entry(rebuild.cause).or_default();
        row.cause = Some(rebuild.cause);
        row.rebuilds += 1;
        row.tokens = row.tokens.saturating_add(rebuild.tokens);
        row.unpriced += u64::from(rebuild.cost.is_none());
        add(&mut row.cost, rebuild.cost);
        add(&mut all, rebuild.cost);
    }
    let mut rows: Vec<CauseRow> = rows.into_values().collect();
    rows.iter_mut().for_each(|row| row.share = share(row.cost, all));
    rows.sort_by_key(|row| std::cmp::Reverse((row.cost, row.tokens)));
    rows
}

fn cause_table(view: &View<'_>) -> Table {
    Table::of("By cause", &cause_columns(), by_cause(view)).with_sums()
}

/// One row per rebuild, in order of time.
fn cache(view: &View<'_>) -> Report {
    let ledger = view.ledger;
    let rows = ledger.rebuilds.iter().map(|rebuild| RebuildRow {
        context: RowContext::of(view, &rebuild.context),
        fact: Fact { rebuild, response: &ledger.responses[rebuild.response] },
    });
    let rows: Vec<RebuildRow<'_>> = rows.collect();
    let table = Table::of("Rebuilds", &columns(), &rows).with_sums().on_screen(30).keeping_last();
    let mut report = Report::of(SPEC.name, table, notes(view));
    if !rows.is_empty() {
        report.screen.insert(0, Section::Table(cause_table(view)));
    }
    report
}

fn causes(view: &View<'_>) -> Report {
    Report::of(CAUSES.name, cause_table(view), notes(view))
}

fn notes(view: &View<'_>) -> Vec<Line> {
    let ledger = view.ledger;
    if ledger.rebuilds.is_empty() {
        return vec![Line::new(Tone::Good).word("no cached tokens were written again")];
    }
    let mut notes = vec![Line::new(Tone::Plain).word(
        "estimates: the request before had cached these tokens, and this one wrote them instead of reading them; \
         the extra cost is that of writing them minus that of reading them, at API prices",
    )];
    let unpriced = ledger.rebuilds.iter().filter(|one| one.cost.is_none());
    let models: BTreeSet<&Name> = unpriced.map(|one| &ledger.responses[one.response].model).collect();
    if !models.is_empty() {
        let models = Value::List(models.into_iter().map(Value::text).collect());
        let line = Line::new(Tone::Warning).word("no price for ").value(models);
        notes.push(line.words(": its extra cost is unknown; add a price with {a price file}"));
    }
    notes
}

/// Maximum number of changes that are spelled out.
const CHANGES: usize = 5;

/// Describes the changes.
fn details(rebuild: &Rebuild) -> Value {
    if rebuild.cause == Cause::Idle {
        let hour = rebuild.lifetime > Millis::new(5 * 60 * 1000);
        return (if hour { "expired after 1 hour" } else { "expired after 5 minutes" }).into();
    }
    let mut words: Vec<String> = rebuild.changes.iter().take(CHANGES).map(change).collect();
    let more = rebuild.changes.len().saturating_sub(CHANGES);
    if more > 0 {
        words.push(format!("and {more} more"));
    }
    text((!words.is_empty()).then(|| words.join(", ")))
}

fn change(change: &Change) -> String {
    let value = |value: &Option<Name>| value.as_deref().unwrap_or("none").to_owned();
    match change {
        Change::Reason(reason) => format!("server: {reason}"),
        Change::Added(name) => format!("+{name}"),
        Change::Removed(name) => format!("-{name}"),
        Change::Changed(name) => format!("~{name}"),
        Change::Reordered => "another order of tools".to_owned(),
        Change::System => "system prompt".to_owned(),
        Change::Replaced(before, after) => format!("{} → {}", value(before), value(after)),
        Change::Kept(kept, all) => format!("{kept} of {all} messages kept"),
        Change::Compacted => "compacted".to_owned(),
        Change::NewProcess => "a new process".to_owned(),
    }
}
