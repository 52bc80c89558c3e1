//! Groupings of costs: their columns, and why cost may have no name in one of them.

use super::Row;
#[cfg(feature = "cli")]
use crate::facts::Detail;
use crate::report::{Column, Unit};

names! {
    /// Grouping of costs.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
    pub enum By {
        /// Days in the time zone
        Day = "day",
        /// Weeks, by their Monday
        Week = "week",
        /// Months
        Month = "month",
        /// Hours
        Hour = "hour",
        /// Windows of five hours, from the full hour of the first response
        Window = "window",
        /// Working directories of sessions
        Project = "project",
        /// Machines whose sessions were archived
        Machine = "machine",
        /// Sessions
        Session = "session",
        /// Prompts with the work that they started, or turns of printed runs
        Prompt = "prompt",
        /// Models
        Model = "model",
        /// Tools that responses call
        Tool = "tool",
        /// The main agent and types of subagents
        Agent = "agent",
        /// CLI versions
        Version = "version",
        /// Branches that were checked out
        Branch = "branch",
        /// Pull requests that sessions linked
        Pr = "pr",
        /// Skills and custom commands that the CLI attributes responses to
        Skill = "skill",
        /// MCP servers that responses call or whose results they read
        McpServer = "mcp-server",
        /// Efforts that were requested
        Effort = "effort",
        /// Runs of workflows, by their subagents
        Workflow = "workflow",
    }
}

impl By {
    pub(super) fn is_time(self) -> bool {
        matches!(self, Self::Day | Self::Week | Self::Month | Self::Hour | Self::Window)
    }

    /// Detail that must be kept to group by it.
    #[cfg(feature = "cli")]
    pub(crate) fn detail(self) -> Detail {
        match self {
            Self::Branch | Self::Pr | Self::Skill | Self::McpServer | Self::Effort => Detail::ATTRIBUTION,
            Self::Day | Self::Week | Self::Month | Self::Hour | Self::Window => Detail::TOTALS,
            Self::Project | Self::Machine | Self::Session | Self::Prompt => Detail::TOTALS,
            Self::Model | Self::Tool | Self::Agent | Self::Version | Self::Workflow => Detail::TOTALS,
        }
    }

    /// Key of its column.
    pub(super) fn key(self) -> &'static str {
        if self == Self::McpServer { "mcp_server" } else { self.name() }
    }

    pub(super) fn column(self) -> Column<Row> {
        // One closure each: a column's value is a plain function.
        macro_rules! column {
            ($by:ident, $unit:ident, $head:literal, $doc:literal) => {
                Column::new(Unit::$unit, self.key(), $head, $doc, |row: &Row| {
                    row.keys.get(&By::$by).cloned().unwrap_or_default()
                })
            };
        }
        match self {
            Self::Day => column!(Day, Text, "Day", "Day in the time zone."),
            Self::Week => column!(Week, Text, "Week", "Monday of the week."),
            Self::Month => column!(Month, Text, "Month", "Month in the time zone."),
            Self::Hour => column!(Hour, Text, "Hour", "Hour in the time zone, with its offset."),
            Self::Window => column!(Window, Time, "Window", "Start of the five-hour window."),
            Self::Project => {
                column!(Project, Text, "Project", "Working directory in which sessions started.")
            }
            Self::Machine => column!(Machine, Text, "Machine", "Machine on which sessions were archived."),
            Self::Session => column!(Session, Text, "Session", "Id of the session."),
            Self::Prompt => {
                column!(Prompt, Text, "Prompt", "Session and number of the prompt in it, such as `id#3`.")
            }
            Self::Model => column!(Model, Text, "Model", "Name of the model."),
            Self::Tool => column!(Tool, Text, "Tool", "Tool that the responses call."),
            Self::Agent => column!(Agent, Text, "Agent", "`main`, or the type of the subagent."),
            Self::Version => column!(Version, Text, "Version", "CLI version."),
            Self::Branch => column!(Branch, Text, "Branch", "Branch that was checked out."),
            Self::Pr => {
                column!(Pr, Text, "PR", "Pull request that the session linked, such as `acme/shop#47`.")
            }
            Self::Skill => {
                column!(Skill, Text, "Skill", "Skill or custom command that the responses are attributed to.")
            }
            Self::McpServer => column!(
                McpServer,
                Text,
                "MCP server",
                "MCP server that the responses call, or whose results they read."
            ),
            Self::Effort => column!(Effort, Text, "Effort", "Effort that was requested."),
            Self::Workflow => column!(Workflow, Text, "Workflow", "Run of a workflow."),
        }
    }

    /// Text of the note about cost without a value in this column.
    pub(super) fn unknown(self) -> &'static str {
        match self {
            Self::Tool => " belongs to no tool: responses without a call, and charges without a response",
            Self::Agent => {
                " belongs to no agent: charges without a response in the log, such as titles and summaries"
            }
            Self::Model => " belongs to no single model",
            Self::Project => " has no project",
            Self::Machine => " is not of an archive, so its machine is not known",
            Self::Session => " has no session",
            Self::Prompt => " belongs to no prompt",
            Self::Version => " has no version",
            Self::Branch => {
                " has no branch: printed streams do not name it, nor do folders without a repository, and charges without \
                 a response cannot be divided between the branches of a session"
            }
            Self::Pr => {
                " belongs to no pull request: its session linked none, or has charges without a time and several"
            }
            Self::Skill => {
                " belongs to no skill: the CLI attributes only responses while a skill is used (2.1.3xx and later)"
            }
            Self::McpServer => {
                " belongs to no MCP server: its responses neither call one nor read a result of one"
            }
            Self::Effort => {
                " has no effort: only saved sessions of 2.1.3xx and later have it, and charges without a response have none"
            }
            Self::Workflow => {
                " belongs to no workflow: only subagents of workflows do, by the folder of their logs"
            }
            Self::Day | Self::Week | Self::Month | Self::Hour | Self::Window => " has no time",
        }
    }
}
