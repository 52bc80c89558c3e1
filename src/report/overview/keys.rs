//! The overview as data.

use super::{DayRow, FailureRow, LimitRow, NamedRow, Overview, PromptRow, SessionRow, Tally};
use crate::{
    measure::Time,
    report::{
        Key::{self, List, Maybe, Object, One},
        Unit, Value, budget,
        spec::object,
    },
};

const COUNT: Key = One(Unit::Count);
const TEXT: Key = One(Unit::Text);
const USD: Key = Maybe(&One(Unit::Usd));
const TIME: Key = Maybe(&One(Unit::Time));
const SHARE: Key = Maybe(&One(Unit::Share));

object! { pub(super) KEYS, all(all: &Overview<'_>)
    period: "The period: the last 14 days, or as chosen.", Object(TALLY) => tally(&all.period);
    before: "The period before, as long as the period.", Object(TALLY) => tally(&all.before);
    today: "The last day of the period.", Object(TALLY) => tally(&all.today);
    yesterday: "The day before.", Object(TALLY) => tally(&all.yesterday);
    this_week: "The last week of the period, from Monday.", Object(TALLY) => tally(&all.this_week);
    last_week_so_far: "The week before, up to the same time.", Object(TALLY) => tally(&all.last_week_so_far);
    last_week: "The week before.", Object(TALLY) => tally(&all.last_week);
    days: "Days of the period.", List(&Object(DAY)) => list(&all.days, day);
    models: "Cost of the period by model, the largest first.", List(&Object(MODEL)) => list(&current(&all.models), model);
    projects: "Cost of the period by working directory, the largest first.", List(&Object(PROJECT)) =>
        list(&current(&all.projects), project);
    sessions: "Sessions with activity in the period, the latest first.", List(&Object(SESSION)) =>
        list(&all.sessions, session);
    prompts: "The most expensive prompts of the period, the largest first.", List(&Object(PROMPT)) =>
        list(&all.prompts, prompt);
    failures: "Failures and denials of the period if one was chosen, else of the last seven days, the most frequent first.",
        List(&Object(FAILURE)) => list(&all.failures, failure);
    limits: "Rate limits that have not been reset.", List(&Object(LIMIT)) => list(&all.limits, limit);
    history: "How far back logs and archive reach.", Object(HISTORY) => history(all);
    budgets: "Budgets that were given, with the cost of these logs in their current periods.", budget::BUDGETS => budget::none();
}

object! { HISTORY, history(all: &Overview<'_>)
    first: "Start of the first session in the logs, as filtered.", TIME => all.first;
    archive: "Folder of the archive that the configuration names.", Maybe(&TEXT) => all.archive.map(|one| &*one.path);
    archive_first: "Earliest time in the first records of that archive.", TIME => all.archive.and_then(|one| one.first);
}

object! { TALLY, tally(tally: &Tally)
    since: "Beginning.", TIME => bound(tally, |range| range.start);
    until: "End, exclusive.", TIME => bound(tally, |range| range.end);
    cost_usd: "Cost at API prices.", USD => tally.cost;
    sessions: "Sessions with activity.", COUNT => tally.sessions;
    prompts: "Prompts by people.", COUNT => tally.prompts;
    responses: "API responses.", COUNT => tally.steps;
    calls: "Tool calls.", COUNT => tally.calls;
    errors: "Calls that failed.", COUNT => tally.errors;
    denied: "Calls that were denied.", COUNT => tally.denied;
    cache_hit_rate: "Share of prompt tokens that were read from the cache.", SHARE => tally.hit_rate().map(Value::Share);
}

fn bound(tally: &Tally, of: fn(&std::ops::Range<Time>) -> Time) -> Option<Time> {
    tally.range.as_ref().map(of)
}

object! { DAY, day(row: &DayRow)
    day: "Day in the time zone.", TEXT => &*row.day;
    cost_usd: "Cost at API prices.", USD => row.cost;
    sessions: "Sessions with a cost.", COUNT => row.sessions;
    calls: "Tool calls.", COUNT => row.calls;
    errors: "Calls that failed.", COUNT => row.errors;
}

object! { MODEL, model(row: &NamedRow)
    model: "Name of the model.", Maybe(&TEXT) => row.name.as_deref();
    cost_usd: "Cost at API prices.", USD => row.cost;
    before_usd: "Cost in the period before.", USD => row.before;
}

object! { PROJECT, project(row: &NamedRow)
    project: "Working directory in which sessions started.", Maybe(&TEXT) => row.name.as_deref();
    cost_usd: "Cost at API prices.", USD => row.cost;
    before_usd: "Cost in the period before.", USD => row.before;
}

/// Names with a cost in the period.
fn current(rows: &[NamedRow]) -> Vec<NamedRow> {
    rows.iter().filter(|row| row.cost.is_some()).cloned().collect()
}

object! { SESSION, session(row: &SessionRow)
    session: "Session id.", Maybe(&TEXT) => row.session.clone();
    title: "Title, or a prompt if it has none; null without --content.", Maybe(&TEXT) => row.title.clone();
    project: "Working directory in which it started.", Maybe(&TEXT) => row.project.clone();
    last: "Time of its last activity in the period.", TIME => row.last;
    outcome: "Outcome, as in `sessions`.", TEXT => row.outcome.name();
    calls: "Tool calls in the period.", COUNT => row.calls;
    errors: "Calls in the period that failed.", COUNT => row.errors;
    cost_usd: "Cost in the period.", USD => row.cost;
}

object! { PROMPT, prompt(row: &PromptRow)
    session: "Session id.", Maybe(&TEXT) => row.session.clone();
    number: "Number of the prompt or turn in its session, starting at 1.", COUNT => row.number;
    text: "First line of the prompt; null without --content.", Maybe(&TEXT) => row.text.clone();
    project: "Working directory of the session.", Maybe(&TEXT) => row.project.clone();
    asked: "Time of the prompt; of the first step if the log has no record of the prompt.", TIME => row.asked;
    cost_usd: "Cost in the period of the work that it started.", USD => row.cost;
}

object! { FAILURE, failure(row: &FailureRow)
    kind: "`denied`, `tool`, `prompt` or `api`.", TEXT => row.kind;
    name: "Tool, subtype of the result, or type of the API error.", TEXT => &*row.name;
    reason: "Input that was denied, or what went wrong; null without --content.", Maybe(&TEXT) => row.reason.as_deref();
    count: "Number of times.", COUNT => row.count;
    last: "Time of the last one.", TIME => row.last;
}

object! { LIMIT, limit(row: &LimitRow)
    limit: "Status and window of the limit.", Maybe(&TEXT) => row.what.as_deref();
    used: "Used share; 1 is all of it.", SHARE => row.used.map(Value::Share);
    resets: "Time at which it resets.", TIME => row.resets;
}

fn list<R>(rows: &[R], members: fn(&R) -> crate::report::Members) -> Value {
    Value::List(rows.iter().map(|row| members(row).into()).collect())
}
