//! The filter options, and the time zone for days.

use clap::Args;

use crate::{
    error::Error,
    measure::{
        Time,
        calendar::{self, TIMES, Zone},
    },
    report::{Agents, Attributions, Filter, Pattern},
};

/// Filters. They mean the same in every report.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filters")]
pub struct Filters {
    /// Count from this time on, such as 7d or 2026-06
    #[arg(long, value_name = "TIME", long_help = since_help())]
    pub since: Option<String>,
    /// Count up to this time, or to the end of this day or month
    ///
    /// Takes the forms of --since. For a period such as a day, `last week` or `june`, it means the end:
    /// --since 2026-06 --until 2026-06 is all of June.
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Count only the latest N sessions
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    /// Count only projects with this in their path; * and ? are wildcards
    #[arg(long, value_name = "PROJECT", value_parser = Pattern::new)]
    pub project: Vec<Pattern>,
    /// Count only sessions that were archived on this machine; * and ? are wildcards
    #[arg(long, value_name = "NAME", value_parser = Pattern::new, hide_short_help = true)]
    pub machine: Vec<Pattern>,
    /// Count only models with this in their name; * and ? are wildcards
    #[arg(long, value_name = "MODEL", value_parser = Pattern::new)]
    pub model: Vec<Pattern>,
    /// Count only sessions whose id begins with this
    #[arg(long, value_name = "ID", value_parser = Pattern::new)]
    pub session: Vec<Pattern>,
    /// Count only calls of this tool and their responses; * and ? are wildcards
    #[arg(long, value_name = "TOOL", value_parser = Pattern::new)]
    pub tool: Vec<Pattern>,
    /// Count only what was done on this branch; * and ? are wildcards
    #[arg(long, value_name = "BRANCH", value_parser = Pattern::new, hide_short_help = true)]
    pub branch: Vec<Pattern>,
    /// Count only what was done for this pull request: 47, owner/name#47 or its address
    ///
    /// Work belongs to the pull request that the session linked last; before the first link, to that one. * and ?
    /// are wildcards.
    #[arg(long, value_name = "PR", value_parser = Pattern::new, hide_short_help = true)]
    pub pr: Vec<Pattern>,
    /// Count only this prompt and the work that it started, as SESSION#NUMBER
    #[arg(long, value_name = "ID#N", value_parser = Pattern::new, hide_short_help = true)]
    pub prompt: Vec<Pattern>,
    /// Count only responses that the CLI attributes to this skill, and their calls; * and ? are wildcards
    #[arg(long, value_name = "SKILL", value_parser = Pattern::new, hide_short_help = true)]
    pub skill: Vec<Pattern>,
    /// Count only calls of this MCP server, and the responses that make them or read their results; * and ? are wildcards
    #[arg(long, value_name = "SERVER", value_parser = Pattern::new, hide_short_help = true)]
    pub mcp_server: Vec<Pattern>,
    /// Count only responses with this effort, and their calls; * and ? are wildcards
    #[arg(long, value_name = "EFFORT", value_parser = Pattern::new, hide_short_help = true)]
    pub effort: Vec<Pattern>,
    /// Count only subagents of runs of workflows with this in their id; * and ? are wildcards
    #[arg(long, value_name = "RUN", value_parser = Pattern::new, hide_short_help = true)]
    pub workflow: Vec<Pattern>,
    /// Count only the main agent
    #[arg(long, conflicts_with = "subagents", hide_short_help = true)]
    pub main: bool,
    /// Count only subagents
    #[arg(long, hide_short_help = true)]
    pub subagents: bool,
    /// Use this time zone for days and for times without an offset
    ///
    /// A name such as Europe/Berlin, an offset such as +02:00, UTC, or local. The default is TZ, or else the
    /// zone of this machine.
    #[arg(long, value_name = "ZONE", hide_short_help = true, allow_hyphen_values = true)]
    pub timezone: Option<String>,
}

impl Filters {
    /// Whether any filter was given. Does not resolve times, since looking up the zone of this machine takes
    /// time.
    pub(super) fn is_filtered(&self) -> Result<bool, Error> {
        self.timezone.as_deref().map(Zone::named).transpose().map_err(Error::Usage)?;
        Ok(self.since.is_some() || self.until.is_some() || !self.filter_between(None, None).is_empty())
    }

    /// The time zone for days.
    pub(super) fn zone(&self) -> Result<Zone, Error> {
        Zone::named_or_system(self.timezone.as_deref()).map_err(Error::Usage)
    }

    /// The filter that was given. Relative times are resolved here, once.
    pub(super) fn filter(&self, zone: &Zone) -> Result<Filter, Error> {
        let (since, until) = self.times(zone, calendar::now())?;
        Ok(self.filter_between(since, until))
    }

    /// The beginning and the end of the time range that was given.
    pub(super) fn times(&self, zone: &Zone, now: Time) -> Result<(Option<Time>, Option<Time>), Error> {
        let time = |text: &Option<String>, is_end| {
            text.as_deref().map(|text| zone.parse_time(text, now, is_end)).transpose().map_err(Error::Usage)
        };
        let (since, until) = (time(&self.since, false)?, time(&self.until, true)?);
        if let (Some(from), Some(to)) = (since, until)
            && to < from
        {
            let (since, until) = (self.since.as_deref(), self.until.as_deref());
            return Err(Error::Usage(format!(
                "--until `{}` ends before --since `{}` begins: {} is before {}",
                until.unwrap_or_default(),
                since.unwrap_or_default(),
                zone.minute(to).unwrap_or_default(),
                zone.minute(from).unwrap_or_default(),
            )));
        }
        Ok((since, until))
    }

    fn filter_between(&self, since: Option<Time>, until: Option<Time>) -> Filter {
        Filter {
            since,
            until,
            last: self.last,
            projects: self.project.clone(),
            machines: self.machine.clone(),
            models: self.model.clone(),
            sessions: self.session.clone(),
            tools: self.tool.clone(),
            agents: match (self.main, self.subagents) {
                (true, _) => Agents::Main,
                (_, true) => Agents::Sub,
                _ => Agents::All,
            },
            outcomes: Vec::new(),
            attributed: Attributions {
                branches: self.branch.clone(),
                pull_requests: self.pr.clone(),
                prompts: self.prompt.clone(),
                workflows: self.workflow.clone(),
                skills: self.skill.clone(),
                mcp_servers: self.mcp_server.clone(),
                efforts: self.effort.clone(),
            },
        }
    }
}

/// The help of `--since`, with all forms of a time.
fn since_help() -> String {
    let width = TIMES.iter().map(|(form, _)| form.len()).max().unwrap_or(0);
    let forms: String = TIMES.iter().map(|(form, meaning)| format!("  {form:width$}  {meaning}\n")).collect();
    format!(
        "Count from this time on\n\n\
         {forms}\n\
         For a period such as a day or a month, --since means the beginning, --until the end. Records without a time are \
         not counted."
    )
}
