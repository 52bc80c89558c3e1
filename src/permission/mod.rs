//! Claude Code's permission system: rules, scopes, modes, and the flow that decides whether a tool may run.
//!
//! A pure model. It opens no file and knows nothing of logs: whoever has a [`Call`] (a tool, its input, the
//! folder it ran in) and a [`Context`] (mode and rules) can ask [`check`] what would have happened.
//!
//! What is modelled, and where it comes from:
//!
//! * *measured*: what 2.1.326 did with 1,840 calls under 129 settings (`testdata/permissions`). Most tables of this module
//!   are lists of that: tools, read-only commands, wrappers and variables, protected files, documentation hosts;
//! * *documented*: the protocol specification of Claude Code, whose sections 5.1 to 5.9 have the modes, the form of
//!   rules, the scopes, the operations and the flow;
//! * *recorded*: what 2.1.325 printed (`testdata/recordings`), where it says more than the specification;
//! * *published*: the public settings documentation;
//! * *guess*: the rest, always called that, and always the choice that asks.
//!
//! # What a log cannot know
//!
//! [`Decision::ToolDecides`] is left for calls whose outcome depends on what no log holds; [`By::Depends`] says on what:
//!
//! * the check of a tool that is not known here;
//! * in `auto`, the classifier that answers what would be asked;
//! * the folder of the session, where a log does not name it.
//!
//! Links in the file system cannot be known either: a path is judged as it is written.
//!
//! ```
//! use ccstat::permission::{Behaviour, Call, Context, Decision, Mode, Rule, Scope, check};
//!
//! let mut context = Context::new(Mode::Default);
//! context.add(Behaviour::Allow, Scope::Project, Rule::parse("Bash(npm:*)").expect("a rule"));
//! let input = serde_json::json!({"command": "npm test && rm -rf /"});
//! let call = Call { tool: "Bash", input: &input, cwd: Some("/home/dev/project") };
//! assert_eq!(check(&context, &call).decision, Decision::Ask);
//! ```

mod access;
mod command;
mod context;
mod danger;
mod flow;
mod glob;
mod host;
mod list;
mod path;
mod pattern;
mod protect;
mod rule;
mod scope;
mod settings;
mod shell;
mod suggest;
mod tool;
mod update;
mod windows;

pub use context::{Context, Placed};
pub use danger::danger;
pub use flow::{By, Decision, Judged, Outcome, Step, check, check_parts, folder_after, unmatched};
pub use list::rule_list;
pub use pattern::Pattern;
pub use rule::{Content, Rule, RuleError};
pub use scope::{Behaviour, Mode, Scope};
pub use settings::{BrokenRule, Settings, SettingsError};
pub use shell::{Part, Redirect, Unchecked, Unsplit, Word, split};
pub use suggest::{
    Breadth, Refused, Suggested, Suggestions, allowed_tools, fits_command_line, snippet, suggest,
};
pub use tool::input_for;
pub use update::{Rules, Update, UpdateError};

use serde_json::Value;

/// One use of a tool, as a log has it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Name of the tool.
    pub tool: &'a str,
    /// What it was given.
    pub input: &'a Value,
    /// The folder that it ran in, if known. Relative paths and patterns start there.
    pub cwd: Option<&'a str>,
}

impl<'a> Call<'a> {
    /// A text of the input, if it has one by that name.
    pub(crate) fn text(&self, field: &str) -> Option<&'a str> {
        self.input.get(field).and_then(Value::as_str)
    }
}

#[cfg(test)]
mod laws;
