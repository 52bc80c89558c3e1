//! Denied calls: what was refused, by whom, and which rules would allow it.

use std::collections::HashMap;

use super::{ON_SCREEN, Occurrence, Refusal, Repeats, Row, loop_note, sorted, time_columns};
use crate::{
    facts::{
        Detail,
        ledger::{CallIndex, Denial},
        trace::permission::{Decision, Obstacle, decisions},
    },
    report::{
        Column, CommandGroup, CommandSpec, FollowUp, Line, Report, ReportSpec, Table, Tone, View,
        column::columns, heads, permission::exact_rules,
    },
};

pub(crate) const SPEC: ReportSpec = ReportSpec {
    make: Some(denials),
    keeps: Detail::ROWS.and(Detail::DECISIONS),
    content: Detail::EXCERPTS,
    is_export: true,
    command: Some(CommandSpec {
        group: CommandGroup::Inside,
        about: "List denied calls: what, by whom, the rule to allow it",
        details: "Tables group the denials of all sessions by tool and input. Formats for programs have a row for each input \
            that was denied in a session. The same input that was denied three times or more in a session is marked as a \
            loop.",
        examples: &[
            ("Denied calls of a run", "ccstat denials run.jsonl"),
            ("Denied calls since yesterday", "ccstat denials ~/.claude/projects --since yesterday"),
        ],
        ..CommandSpec::DEFAULT
    }),
    ..ReportSpec::rows(
        "denials",
        "Denied calls: tool, location, number of repetitions, and whether it is a loop.",
        || heads(&columns()),
    )
};

fn columns() -> Vec<Column<Row>> {
    columns! { |row: Row|
        text tool "Tool" "Name of the tool." => &row.name;
        text input "Input" [content] "Command, path or other main input of the call." => &row.input;
        count denied "Denied" "Number of times with the same input in the same session; in tables, in all sessions." => row.count;
        text refused_by "Refused by" [screen] "Who refused it: a rule, a hook, a person or a mode."
            => row.refusal.as_ref().map(|refusal| refusal.by);
        text allow_rules "Allow rules" [content, data] "Rules that would allow exactly this call, if any can."
            => row.refusal.as_ref().and_then(|refusal| refusal.remedy.rules());
        text remedy "To allow it" [content, below] "The rules that would allow it, or why no rule can."
            => row.refusal.as_ref().and_then(|refusal| refusal.remedy.sentence());
        ..time_columns();
    }
}

/// All denied calls.
pub(super) fn occurrences<'a>(view: &'a View<'a>) -> impl Iterator<Item = Occurrence<'a>> {
    view.ledger.denials.iter().map(|denial| {
        let call = denial.call.map(|call| &view.ledger.calls[call]);
        Occurrence {
            id: call.and_then(|call| call.id.as_ref()),
            input: call.map(|call| call.input),
            brief: call.and_then(|call| call.brief.as_ref()),
            ..Occurrence::new("denial", &denial.tool, &denial.context)
        }
    })
}

/// Denied calls, with repetitions grouped.
pub fn denials(view: &View<'_>) -> Report {
    let (decisions, _) = decisions(view.ledger);
    let remedies = remedies(view, &decisions);
    let refusal = |denial: &Denial| match denial.call {
        Some(call) => {
            let decision = &decisions[call.get()];
            let remedy = remedies.get(&call).cloned().unwrap_or_else(|| Remedy::of(decision));
            Refusal { by: refused_by(decision), remedy }
        }
        None => Refusal { by: UNKNOWN, remedy: Remedy::Unknown },
    };
    let all = occurrences(view).zip(&view.ledger.denials);
    let repeats =
        Repeats::new(view, all.map(|(one, denial)| Occurrence { refusal: Some(refusal(denial)), ..one }));
    let rows = repeats.rows();
    let groups = Table::of("Denials", &columns(), repeats.groups(&rows)).with_sums().on_screen(ON_SCREEN);
    let rows = sorted(rows);
    let table = Table::of("Denials", &columns(), &rows).with_sums().on_screen(ON_SCREEN);
    let mut notes = loop_note(&rows, "was denied", "no call was denied");
    let is_allowable = |row: &Row| row.refusal.as_ref().is_some_and(|refusal| refusal.by == NO_RULE);
    if rows.iter().any(is_allowable) {
        let line = Line::new(Tone::Plain).word("rules to copy into settings.json: ");
        notes.push(line.follow_up(FollowUp::AllowRules));
    }
    Report::of(SPEC.name, table, notes).with_screen_rows(groups)
}

const NO_RULE: &str = "no allow rule";
const UNKNOWN: &str = "unknown";

/// The rule, mode, hook or person that refused a call.
fn refused_by(decision: &Decision) -> &'static str {
    match decision.obstacle {
        Some(Obstacle::Hook) => "a hook",
        Some(Obstacle::Person) if decision.source.as_deref() == Some("host") => "the host",
        Some(Obstacle::Person | Obstacle::Interrupt) => "a person",
        Some(Obstacle::PlanMode) => "plan mode",
        Some(Obstacle::Rule) => "a rule",
        None => NO_RULE,
    }
}

/// How a denied call can be allowed.
#[derive(Clone, Debug, Default)]
pub(super) enum Remedy {
    /// By these rules.
    Rules(String),
    /// Not by a rule, for this reason.
    NoRule(String),
    #[default]
    Unknown,
}

impl Remedy {
    fn of(decision: &Decision) -> Self {
        match decision.obstacle {
            Some(obstacle @ (Obstacle::Hook | Obstacle::PlanMode | Obstacle::Rule)) => {
                Self::NoRule(obstacle.reason().to_owned())
            }
            Some(Obstacle::Person | Obstacle::Interrupt) | None => Self::Unknown,
        }
    }

    fn rules(&self) -> Option<&String> {
        match self {
            Self::Rules(rules) => Some(rules),
            Self::NoRule(_) | Self::Unknown => None,
        }
    }

    fn sentence(&self) -> Option<String> {
        match self {
            Self::Rules(rules) => Some(format!("would be allowed by {rules}")),
            Self::NoRule(reason) => Some(reason.clone()),
            Self::Unknown => None,
        }
    }
}

/// How to allow each denied call that a rule may allow, where content may be shown.
fn remedies(view: &View<'_>, decisions: &[Decision]) -> HashMap<CallIndex, Remedy> {
    if !view.ledger.has_content {
        return HashMap::new();
    }
    let denied = view.ledger.denials.iter().filter_map(|denial| denial.call);
    let allowable: Vec<CallIndex> = denied.filter(|call| decisions[call.get()].obstacle.is_none()).collect();
    let remedy = |found: Result<String, String>| match found {
        Ok(rules) => Remedy::Rules(rules),
        Err(reason) => Remedy::NoRule(format!("no rule allows it: {reason}")),
    };
    exact_rules(view, &allowable).into_iter().map(|(call, found)| (call, remedy(found))).collect()
}
