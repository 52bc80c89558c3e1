//! Gates with a limit: cost, turns, subagents, duration and error rate.

use std::collections::BTreeSet;

use super::{
    Finding, GateInput,
    kind::{Kind, tallies},
};
use crate::{
    facts::ledger::{Context, End, Location, SessionIndex},
    measure::{Millis, Time, Usd, add},
    report::{Line, Tone, Value, sum::ratio},
};

impl GateInput<'_> {
    fn run_of(&self, context: &Context) -> Option<usize> {
        self.runs.of_context(context)
    }

    /// One default value per run.
    fn each<T: Clone + Default>(&self) -> Vec<T> {
        vec![T::default(); self.runs.len()]
    }
}

fn tone(held: bool) -> Tone {
    if held { Tone::Good } else { Tone::Bad }
}

/// Amounts with their locations, for each run.
type Parts<T> = Vec<Vec<(Option<Location>, T)>>;

/// Location at which the running sum exceeds the limit. Amounts without a location come last.
fn passed<T: Copy + Default + PartialOrd + std::ops::AddAssign>(
    mut parts: Vec<(Option<Location>, T)>,
    most: T,
) -> Option<Location> {
    parts.sort_by_key(|(at, _)| (at.is_none(), *at));
    let mut sum = T::default();
    let over = parts.iter().find(|(_, amount)| {
        sum += *amount;
        sum > most
    });
    over.and_then(|(at, _)| *at)
}

/// Cost of one run.
#[derive(Clone, Default)]
struct Cost<'a> {
    /// Charges of its sessions, plus unbilled responses.
    sum: Option<Usd>,
    unpriced: BTreeSet<&'a str>,
    /// Whether part of the cost is unknown.
    open: bool,
}

const NO_COST: &str = "the cost is unknown: there is neither a result nor a response with tokens";
const COST_HINT: &str = "let the run end with a result, or read its saved session too";

/// Evaluates the cost. An incomplete cost is compared by its lower bound.
pub(super) fn cost(input: &GateInput<'_>, most: Usd) -> Vec<Finding> {
    let ledger = input.view.ledger;
    let mut costs: Vec<Cost<'_>> = input.each();
    let mut parts: Parts<Usd> = input.each();
    let told = ledger.charges.iter().map(|charge| (&charge.context, charge.cost));
    let unbilled = ledger.responses.iter().map(|one| (&one.context, one.unbilled));
    for (context, cost) in told.chain(unbilled) {
        let (Some(run), Some(cost)) = (input.run_of(context), cost) else { continue };
        add(&mut costs[run].sum, cost);
        parts[run].push((context.location, cost));
    }
    for (at, session) in SessionIndex::each(&ledger.sessions) {
        let Some(run) = input.runs.of_session(at) else { continue };
        costs[run].open |= !session.complete;
        costs[run].unpriced.extend(session.unpriced.iter().map(|model| &**model));
    }
    free_runs(input).into_iter().zip(&mut costs).filter(|(free, _)| *free).for_each(|(_, cost)| {
        cost.sum.get_or_insert(Usd::ZERO);
    });
    let unpriced = tallies(input, Kind::Unpriced);
    let judged = costs.into_iter().zip(parts).zip(unpriced);
    judged.map(|((cost, parts), unpriced)| judged_cost(&cost, parts, unpriced.at, most)).collect()
}

/// Runs that are known to be free: saved sessions without a response, such as sessions of local commands
/// only, and runs without rows after filtering.
fn free_runs(input: &GateInput<'_>) -> Vec<bool> {
    let ledger = input.view.ledger;
    // Logs of hosts and bridges do not contain responses.
    let saved = !["input", "bridge"].iter().any(|dialect| ledger.input.dialects.contains_key(dialect));
    let mut free = vec![saved; input.runs.len()];
    let streamed = SessionIndex::each(&ledger.sessions).filter(|(_, session)| session.streamed);
    let streamed = streamed.filter_map(|(at, _)| input.runs.of_session(at));
    for run in streamed.chain(ledger.responses.iter().filter_map(|one| input.run_of(&one.context))) {
        free[run] = false;
    }
    free
}

fn judged_cost(
    cost: &Cost<'_>,
    parts: Vec<(Option<Location>, Usd)>,
    unpriced: Option<Location>,
    most: Usd,
) -> Finding {
    if !cost.unpriced.is_empty() {
        return without_price("the cost is unknown: no price for ", &cost.unpriced, unpriced);
    }
    let Some(sum) = cost.sum else { return Finding::unknown(NO_COST, COST_HINT) };
    let held = sum <= most;
    let line = Line::new(tone(held));
    let what = if cost.open {
        let line = line.word("the cost is at least ").value(sum);
        line.words("; part of it is unknown (see {a gate on incomplete costs})")
    } else {
        line.word("the cost is ").value(sum)
    };
    let hint = Line::new(Tone::Plain)
        .words("see how it is computed: {explain cost}; claude stops by itself with --max-budget-usd");
    let at = if held { None } else { passed(parts, most) };
    Finding { held, figure: sum.into(), at, what, hint: Some(hint) }
}

/// Evaluates the cost of writing cached tokens again. Without a rebuild it is zero.
pub(super) fn rebuilt_cost(input: &GateInput<'_>, most: Usd) -> Vec<Finding> {
    let ledger = input.view.ledger;
    let mut parts: Parts<Usd> = input.each();
    let mut unpriced: Vec<BTreeSet<&str>> = input.each();
    let mut first: Vec<Option<Location>> = input.each();
    for rebuild in &ledger.rebuilds {
        let Some(run) = input.run_of(&rebuild.context) else { continue };
        match rebuild.cost {
            Some(cost) => parts[run].push((rebuild.context.location, cost)),
            None => {
                unpriced[run].insert(&ledger.responses[rebuild.response].model);
                first[run] = first[run].or(rebuild.context.location);
            }
        }
    }
    let judged = parts.into_iter().zip(unpriced).zip(first).map(|((parts, unpriced), first)| {
        if !unpriced.is_empty() {
            return without_price(
                "the cost of rebuilding the cache is unknown: no price for ",
                &unpriced,
                first,
            );
        }
        let sum: Usd = parts.iter().map(|(_, cost)| *cost).sum();
        let held = sum <= most;
        let line = Line::new(tone(held)).word("writing cached tokens again cost ").value(sum);
        Finding {
            held,
            figure: sum.into(),
            at: if held { None } else { passed(parts, most) },
            what: line.word(" more than reading them, an estimate"),
            hint: Some(Line::new(Tone::Plain).words("see why the cache was lost: {cache}")),
        }
    });
    judged.collect()
}

/// The cost is unknown, because models have no price.
fn without_price(why: &'static str, models: &BTreeSet<&str>, at: Option<Location>) -> Finding {
    let models = Value::List(models.iter().map(|model| Value::text(*model)).collect());
    Finding {
        held: false,
        figure: Value::Missing,
        at,
        what: Line::new(Tone::Bad).word(why).value(models),
        hint: Some(Line::new(Tone::Plain).words("give its price with {a price file}")),
    }
}

/// Evaluates the number of agentic turns: as the CLI counts them, otherwise responses of the main agent.
pub(super) fn turns(input: &GateInput<'_>, most: u64) -> Vec<Finding> {
    let parts = turn_parts(input);
    let judged = parts.into_iter().map(|parts| {
        let count = parts.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
        let held = count <= most;
        Finding {
            held,
            figure: count.into(),
            at: if held { None } else { passed(parts, most) },
            what: Line::new(tone(held)).word("it took ").count(count, " step", " steps"),
            hint: Some(Line::new(Tone::Plain).word("claude stops by itself with --max-turns")),
        }
    });
    judged.collect()
}

fn turn_parts(input: &GateInput<'_>) -> Parts<u64> {
    let ledger = input.view.ledger;
    let mut parts: Parts<u64> = input.each();
    let mut ended: Vec<bool> = ledger.sessions.iter().map(|session| session.has_result).collect();
    for turn in ledger.turns.iter().filter(|turn| turn.counted) {
        if let Some(session) = turn.context.session {
            ended[session.get()] = true;
        }
        if let Some(run) = input.run_of(&turn.context) {
            parts[run].push((turn.context.location, turn.num_turns));
        }
    }
    let main = ledger.responses.iter().map(|one| &one.context).filter(|context| context.agent.is_none());
    for context in main.filter(|context| context.session.is_none_or(|session| !ended[session.get()])) {
        if let Some(run) = input.run_of(context) {
            parts[run].push((context.location, 1));
        }
    }
    parts
}

/// Evaluates the number of subagents.
pub(super) fn agents(input: &GateInput<'_>, most: u64) -> Vec<Finding> {
    let mut parts: Parts<u64> = input.each();
    for context in input.view.ledger.started_agents() {
        if let Some(run) = input.run_of(context) {
            parts[run].push((context.location, 1));
        }
    }
    let judged = parts.into_iter().map(|parts| {
        let count = parts.len() as u64;
        let held = count <= most;
        Finding {
            held,
            figure: count.into(),
            at: if held { None } else { passed(parts, most) },
            what: Line::new(tone(held)).word("it started ").count(count, " subagent", " subagents"),
            hint: Some(Line::new(Tone::Plain).words("see what each of them did: {agents}")),
        }
    });
    judged.collect()
}

/// Agentic turns of each run.
pub(in crate::report) fn turn_counts(view: &crate::report::View<'_>, runs: &super::Runs) -> Vec<u64> {
    let parts = turn_parts(&GateInput { view, runs, elapsed: None });
    parts.iter().map(|parts| parts.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count))).collect()
}

/// Duration of each run: measured by the caller, otherwise the sum of its turns, otherwise the time between
/// its first and last record.
pub(super) fn walls(input: &GateInput<'_>) -> Vec<Option<Millis>> {
    let span = |(first, last): (Option<Time>, Option<Time>)| Some(last?.since(first?));
    let mut spans: Vec<(Option<Time>, Option<Time>)> = input.each();
    for (at, session) in SessionIndex::each(&input.view.ledger.sessions) {
        let Some(run) = input.runs.of_session(at) else { continue };
        let (first, last) = spans[run];
        spans[run] = (first.into_iter().chain(session.started).min(), last.max(session.ended));
    }
    let turns = wall_parts(input).into_iter().map(|parts| {
        parts.into_iter().fold(None, |mut sum, (_, wall)| {
            add(&mut sum, wall);
            sum
        })
    });
    turns.zip(spans).map(|(turns, times)| input.elapsed.or(turns).or(span(times))).collect()
}

fn wall_parts(input: &GateInput<'_>) -> Parts<Millis> {
    let ledger = input.view.ledger;
    let mut parts: Parts<Millis> = input.each();
    let turns = ledger.turns.iter().filter_map(|turn| Some((&turn.context, turn.wall?)));
    for (context, wall) in turns.chain(ledger.interactive_turns.iter().map(|turn| (&turn.context, turn.wall)))
    {
        if let Some(run) = input.run_of(context) {
            parts[run].push((context.location, wall));
        }
    }
    parts
}

const NO_TIME: &str = "unknown: no record has a time or a duration";
const TIME_HINT: &str =
    "let the run end with a result, or start it with `{a limit of time}`, which measures the time itself";

/// Evaluates the duration.
pub(super) fn duration(input: &GateInput<'_>, most: Millis) -> Vec<Finding> {
    // If a filter left nothing, the duration is zero.
    let nothing = input.view.ledger.sessions.is_empty().then_some(Millis::ZERO);
    let judged = walls(input).into_iter().zip(wall_parts(input)).map(|(wall, parts)| {
        let Some(wall) = wall.or(nothing) else { return Finding::unknown(NO_TIME, TIME_HINT) };
        let held = wall <= most;
        Finding {
            held,
            figure: wall.into(),
            at: if held { None } else { passed(parts, most) },
            what: Line::new(tone(held)).word("it took ").value(wall),
            hint: Some(Line::new(Tone::Plain).words("see what took long: {turns}; {calls}")),
        }
    });
    judged.collect()
}

/// Evaluates the share of failed calls among calls with a result. Without any result the gate holds.
pub(super) fn error_rate(input: &GateInput<'_>, most: f64) -> Vec<Finding> {
    let mut answered: Vec<u64> = input.each();
    for call in &input.view.ledger.calls {
        let counts = match call.end {
            End::Ok | End::Error => true,
            End::Denied | End::Open => false,
        };
        if let (true, Some(run)) = (counts, input.run_of(&call.context)) {
            answered[run] += 1;
        }
    }
    let judged = tallies(input, Kind::ToolError).into_iter().zip(answered).map(|(failed, answered)| {
        let rate = ratio(failed.count, answered);
        let held = rate.is_none_or(|rate| rate <= most);
        let line = Line::new(tone(held)).value(failed.count).word(" of ");
        Finding {
            held,
            figure: rate.map_or(Value::Missing, Value::Share),
            at: failed.at,
            what: failed.named(line.count(answered, " call failed", " calls failed")),
            hint: Some(Line::new(Tone::Plain).words("list them with their locations: {calls}")),
        }
    });
    judged.collect()
}
