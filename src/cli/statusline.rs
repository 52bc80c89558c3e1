//! `statusline`: one line for the status line of Claude Code.

mod template;
mod today;

use std::{
    ffi::OsString,
    io::{self, IsTerminal, Read},
};

use clap::Args;
use serde_json::Value as Json;

use super::{args, complain, config, output::print, plan, plan::Variables};
use crate::{
    error::{Error, ExitStatus},
    measure::{Time, Usd, calendar::Zone},
    render::human,
};
use template::{Field, Template};

/// Arguments of `statusline`.
#[derive(Debug, Args)]
pub struct Statusline {
    /// The line, with fields in braces
    ///
    /// The fields are {model}, {effort}, {context} (used share), {cost} (of the session, as the CLI counts it), {today}
    /// (cost of all saved sessions since midnight, an estimate at API prices), {limits} (used shares of the limits that the
    /// CLI was told, and when they reset), {folder}, {branch}, {session}, {version}, {lines} (added and removed) and
    /// {duration}. A part in square brackets is left out if one of its fields is not known. Write [[ and {{ for
    /// the characters themselves.
    #[arg(long, value_name = "TEMPLATE", default_value = Template::DEFAULT, value_parser = Template::parse)]
    pub template: Template,
    /// Wait so long for the logs of today, then leave {today} out
    #[arg(long, value_name = "DURATION", default_value = "250ms", value_parser = plan::parse_duration)]
    pub timeout: std::time::Duration,
    /// Time zone of the day and of the clock times
    #[arg(long, value_name = "ZONE", hide_short_help = true, allow_hyphen_values = true)]
    pub timezone: Option<String>,
    /// Price files.
    #[command(flatten)]
    pub pricing: args::Pricing,
}

/// Parses the arguments of a status line without building the other commands, which takes a millisecond. `None` if it is another
/// command, if the arguments are wrong, or if a variable or a file may set an option.
pub(super) fn parse(arguments: &[OsString], variables: &Variables) -> Option<config::Parsed> {
    const NAME: &str = "statusline";
    if arguments.get(1).is_none_or(|word| word != NAME) {
        return None;
    }
    let own = Statusline::augment_args(clap::Command::new(NAME));
    let program = args::Global::augment_args(clap::Command::new("ccstat")).subcommand(own);
    config::parse_alone(program, arguments, variables)
}

/// The largest input that is read. The CLI hands over a few kilobytes.
const MAX_INPUT: u64 = 1 << 20;

/// Prints the line. Succeeds whatever the input is: a failure would blank the line.
pub(super) fn statusline(statusline: &Statusline, variables: &Variables) -> Result<ExitStatus, Error> {
    if io::stdin().is_terminal() {
        return Err(Error::Usage(
            "statusline reads the JSON that Claude Code gives to a status line: put \
             {\"statusLine\": {\"type\": \"command\", \"command\": \"ccstat statusline\"}} into ~/.claude/settings.json"
                .to_owned(),
        ));
    }
    let Statusline { template, timeout, timezone, pricing } = statusline;
    let zone = match timezone {
        None if !variables.has_zone => Zone::of_machine(),
        name => Zone::named_or_system(name.as_deref()).map_err(Error::Usage)?,
    };
    let status = Status(input());
    let mut sum = None;
    if template.has(Field::Today) {
        let prices = plan::prices(pricing).unwrap_or_else(|error| {
            complain(&error.to_string());
            crate::measure::Prices::built_in()
        });
        let transcript = status.text("/transcript_path");
        sum = today::cost(&variables.environment(), transcript, prices, zone.clone(), *timeout);
    }
    let line = template.fill(|field| match field {
        Field::Today => sum.map(|sum| sum.to_string()),
        field => status.field(field, &zone),
    });
    print(|out| writeln!(out, "{}", human::text(&line)))?;
    Ok(ExitStatus::Done)
}

/// Reads one JSON value, without waiting for the end of the input. Anything else counts as no value.
fn input() -> Json {
    let reader = io::BufReader::new(io::stdin().take(MAX_INPUT));
    let mut values = serde_json::Deserializer::from_reader(reader).into_iter::<Json>();
    values.next().and_then(Result::ok).unwrap_or_default()
}

/// The status of a session, as the CLI gives it. Every key may be missing.
struct Status(Json);

impl Status {
    fn text(&self, pointer: &str) -> Option<&str> {
        self.0.pointer(pointer)?.as_str().filter(|text| !text.is_empty())
    }

    fn number(&self, pointer: &str) -> Option<f64> {
        self.0.pointer(pointer)?.as_f64()
    }

    /// The text of a field. The cost of today is not among them, since the CLI does not know it.
    fn field(&self, field: Field, zone: &Zone) -> Option<String> {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        match field {
            Field::Model => owned(self.text("/model/display_name").or_else(|| self.text("/model/id"))),
            Field::Effort => owned(self.text("/effort/level")),
            Field::Context => self.number("/context_window/used_percentage").map(percent),
            Field::Cost => self.number("/cost/total_cost_usd").map(|cost| dollars(Usd::from_dollars(cost))),
            Field::Today => None,
            Field::Limits => self.limits(zone),
            Field::Folder => {
                let path = self.text("/workspace/current_dir").or_else(|| self.text("/cwd"))?;
                owned(path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next())
            }
            Field::Branch => owned(self.text("/worktree/branch")),
            Field::Session => owned(self.text("/session_id")),
            Field::Version => owned(self.text("/version")),
            Field::Lines => {
                let lines = |name: &str| self.0.pointer(name)?.as_u64();
                let (added, removed) =
                    (lines("/cost/total_lines_added")?, lines("/cost/total_lines_removed")?);
                Some(format!("+{added} -{removed}"))
            }
            Field::Duration => {
                let millis = crate::measure::Millis::from_f64(self.number("/cost/total_duration_ms")?);
                Some(human::value(&crate::report::Value::Millis(millis)))
            }
        }
    }

    /// The limits of a subscription, as the CLI was told: `5h 62% until 14:00, 7d 12%`.
    fn limits(&self, zone: &Zone) -> Option<String> {
        const LIMITS: &[(&str, &str)] = &[("five_hour", "5h"), ("seven_day", "7d"), ("spend_limit", "spend")];
        let shown = LIMITS.iter().filter_map(|(key, name)| {
            let used = self.number(&format!("/rate_limits/{key}/used_percentage"))?;
            let resets = self.0.pointer(&format!("/rate_limits/{key}/resets_at")).and_then(Json::as_i64);
            let resets = resets.map(|seconds| Time::from_micros(seconds.saturating_mul(1_000_000)));
            // The clock says enough for a limit that resets within a day.
            let clock = resets.filter(|_| *key == "five_hour").and_then(|time| zone.minute(time));
            let clock = clock.and_then(|minute| minute.get(11..16).map(str::to_owned));
            Some(format!(
                "{name} {}{}",
                percent(used),
                clock.map_or_else(String::new, |at| format!(" until {at}"))
            ))
        });
        let shown: Vec<String> = shown.collect();
        (!shown.is_empty()).then(|| shown.join(", "))
    }
}

fn percent(number: f64) -> String {
    format!("{number:.0}%")
}

fn dollars(amount: Usd) -> String {
    human::column_usd(amount, 2)
}
