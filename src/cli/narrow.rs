//! Questions narrowed: the options that say which rows count, and in which time zone days are days.

use clap::Args;

use crate::{
    error::Error,
    measure::calendar::{self, Zone},
    report::{Agents, Filter, Pattern},
};

/// Which rows count. A filter means the same in every report.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filters")]
pub struct Narrow {
    /// Count only what happened at this time or later
    ///
    /// A date (2026-11-15), a time (2026-11-15T08:00), or how long ago (7d, 12h, 2 weeks ago, yesterday). What has no time
    /// does not count then.
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Count only what happened before this time, or on this day
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Count only the latest N sessions
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    /// Count only projects whose folder has this in its path; * and ? match anything
    #[arg(long, value_name = "PROJECT", value_parser = Pattern::new)]
    pub project: Vec<Pattern>,
    /// Count only models with this in their name; * and ? match anything
    #[arg(long, value_name = "MODEL", value_parser = Pattern::new)]
    pub model: Vec<Pattern>,
    /// Count only sessions whose id begins with this
    #[arg(long, value_name = "ID", value_parser = Pattern::new)]
    pub session: Vec<Pattern>,
    /// Count only calls of this tool, and the responses that make them; * and ? match anything
    #[arg(long, value_name = "TOOL", value_parser = Pattern::new)]
    pub tool: Vec<Pattern>,
    /// Count only the main agent
    #[arg(long, conflicts_with = "subagents")]
    pub main: bool,
    /// Count only subagents
    #[arg(long)]
    pub subagents: bool,
    /// Take days, and times without an offset, in this time zone
    ///
    /// A name such as Europe/Berlin, an offset such as +02:00, UTC, or local. Without it TZ counts, else the zone of this
    /// machine.
    #[arg(long, value_name = "ZONE")]
    pub timezone: Option<String>,
}

impl Narrow {
    /// Whether anything is left out. The zone of this machine does not matter for that, and looking it up takes time.
    pub(super) fn narrows(&self) -> Result<bool, Error> {
        let zone = self.timezone.as_deref().map_or_else(|| Ok(Zone::default()), Zone::named);
        Ok(!self.filter(&zone.map_err(Error::Usage)?)?.is_empty())
    }

    /// The zone in which days are days.
    pub(super) fn zone(&self) -> Result<Zone, Error> {
        self.timezone.as_deref().map_or_else(|| Ok(Zone::system()), Zone::named).map_err(Error::Usage)
    }

    /// The filter that was asked for; what is relative to now is resolved here, once.
    pub(super) fn filter(&self, zone: &Zone) -> Result<Filter, Error> {
        let moment = |text: &Option<String>, is_end| {
            text.as_deref()
                .map(|text| zone.moment(text, calendar::now(), is_end))
                .transpose()
                .map_err(Error::Usage)
        };
        Ok(Filter {
            since: moment(&self.since, false)?,
            until: moment(&self.until, true)?,
            last: self.last,
            projects: self.project.clone(),
            models: self.model.clone(),
            sessions: self.session.clone(),
            tools: self.tool.clone(),
            agents: match (self.main, self.subagents) {
                (true, _) => Agents::Main,
                (_, true) => Agents::Sub,
                _ => Agents::All,
            },
            outcomes: Vec::new(),
        })
    }
}
