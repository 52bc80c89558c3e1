//! Claude Code's permission system: rules, scopes, modes, and the flow that decides whether a tool may run.
//!
//! This is a pure model. It opens no files and knows nothing about logs: [`check`] takes a [`Call`] (a tool,
//! its input and its working folder) and a [`Context`] (mode and rules), and returns what Claude Code would
//! do.
//!
//! The model comes from these sources, and comments name them:
//!
//! * *measured*: what 2.1.326 did with 1,840 calls under 129 settings (`testdata/permissions`). Most tables
//!   of this module come from it: tools, read-only commands, wrappers and variables, protected files,
//!   documentation hosts;
//! * *documented*: sections 5.1 to 5.9 of the protocol specification of Claude Code, which describe modes,
//!   the form of rules, scopes, operations and the flow;
//! * *recorded*: the output of 2.1.325 (`testdata/recordings`), where it says more than the specification;
//! * *published*: the public settings documentation;
//! * *guess*: everything else. A guess always chooses to ask.
//!
//! # Limits
//!
//! [`Decision::ToolDecides`] means that the outcome depends on information that logs do not have;
//! [`By::Depends`] names it:
//!
//! * the check of a tool that is not in the table of tools;
//! * in mode `auto`, the answer of the classifier;
//! * the folder of the session, if the log does not name it.
//!
//! Symbolic links are not followed: a path is checked as written.
//!
//! ```
//! use ccstat::internal::permission::{Behaviour, Call, Context, Decision, Mode, Rule, Scope, check};
//!
//! let mut context = Context::new(Mode::Default);
//! context.add(Behaviour::Allow, Scope::Project, Rule::parse("Bash(npm:*)").expect("a rule"));
//! let input = serde_json::json!({"command": "npm test && rm -rf /"});
//! let call = Call { tool: "Bash", input: &input, cwd: Some("/home/dev/project") };
//! assert_eq!(check(&context, &call).decision, Decision::Ask);
//! ```

#[macro_use]
mod scope;

mod access;
mod command;
mod context;
mod danger;
mod flow;
mod glob;
mod host;
mod path;
mod pattern;
mod protect;
mod rule;
mod settings;
mod shell;
mod suggest;
mod tool;
mod windows;

pub use context::{Context, ScopedRule};
pub use danger::danger;
pub use flow::{By, Decision, Outcome, PartOutcome, Step, check, check_parts, folder_after, unmatched_rules};
pub use pattern::Pattern;
pub use rule::{Content, Rule, RuleError};
pub use scope::{Behaviour, Mode, Scope};
pub use settings::{BrokenRule, Settings, SettingsError};
pub use shell::{Part, Redirect, SplitError, Unchecked, Word, split};
pub use suggest::{Breadth, Refused, Suggested, Suggestions, allowed_tools, fits_command_line, suggest};
pub use tool::input_for;

use serde_json::Value;

/// One use of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Name of the tool.
    pub tool: &'a str,
    /// The tool's input.
    pub input: &'a Value,
    /// The working folder, if known. Relative paths and patterns start there.
    pub cwd: Option<&'a str>,
}

impl<'a> Call<'a> {
    /// Returns a field of the input, if it is a string.
    pub(crate) fn text(&self, field: &str) -> Option<&'a str> {
        self.input.get(field).and_then(Value::as_str)
    }
}

#[cfg(test)]
mod laws;
