//! The lines below the summary: what was read, and where the cost comes from.

use crate::{
    facts::Account,
    measure::Usd,
    report::{Line, Tone, Value},
};

/// Smallest cost of rebuilding the cache for which the line names the report about it: a cent.
const WORTH_A_LOOK: Usd = Usd::from_nanos(10_000_000);

pub(super) fn notes(account: &Account) -> Vec<Line> {
    let input = &account.input;
    let line = Line::new(Tone::Plain).count(input.records, " record", " records").word(" in ");
    let line = line.count(input.sources, " source", " sources").word(", ").value(Value::Bytes(input.bytes));
    let line = if input.copies > 0 {
        line.word(", ").count(input.copies, " copy", " copies").word(" counted once")
    } else {
        line
    };
    let mut notes = vec![versions(line, &account.versions)];
    notes.extend(cache(account));
    if let Some(source) = source_of_cost(account) {
        notes.push(Line::new(Tone::Plain).words(source));
    }
    notes
}

/// How much of the prompts the cache held, and how much of it was lost.
fn cache(account: &Account) -> Option<Line> {
    let (reused, cache) = (account.tokens.cache_read, &account.cache);
    if reused == 0 && cache.rebuilt == 0 {
        return None;
    }
    let line = Line::new(Tone::Plain).word("prompt cache: ").value(reused).word(" tokens reused, ");
    if cache.rebuilt == 0 {
        return Some(line.word("none rebuilt"));
    }
    let line = line.value(cache.rebuilt);
    let line = match cache.extra {
        Some(extra) => line.word(" rebuilt for ").value(extra).word(" more (estimate"),
        None => line.word(" rebuilt at unknown cost (estimate"),
    };
    let is_much = cache.extra.is_some_and(|extra| extra >= WORTH_A_LOOK);
    Some(line.words(if is_much { "; why: `{cache}`)" } else { ")" }))
}

fn versions(line: Line, versions: &[String]) -> Line {
    match versions {
        [] => line,
        [one] => line.word(", CLI ").value(&**one),
        [first, .., last] => line
            .word(", ")
            .value(versions.len() as u64)
            .word(" CLI versions from ")
            .value(&**first)
            .word(" to ")
            .value(&**last),
    }
}

fn source_of_cost(account: &Account) -> Option<&'static str> {
    let cost = &account.cost;
    let total = cost.total?;
    Some(match cost.reported {
        Some(reported) if reported == total => "cost reported by the CLI: an estimate at API prices",
        Some(_) => {
            "cost reported by the CLI, or computed from tokens where it is not: an estimate at API prices"
        }
        None => "cost computed from tokens: an estimate at API prices (see `{prices}`)",
    })
}
