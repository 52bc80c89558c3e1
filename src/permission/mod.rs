//! Claude Code's permission system: rules, scopes, modes, and the flow that decides whether a tool may run.
//!
//! A pure model. It opens no file and knows nothing of logs: whoever has a [`Call`] (a tool, its input, the
//! folder it ran in) and a [`Context`] (mode and rules) can ask [`check`] what would have happened.
//!
//! What is modelled, and where it comes from:
//!
//! * *documented*: the protocol specification of Claude Code, whose sections 5.1 to 5.9 have the modes, the form of
//!   rules, the scopes, the operations and the flow;
//! * *recorded*: what 2.1.325 printed (`testdata/recordings`), where it says more than the specification;
//! * *published*: the public settings documentation, for the forms of path patterns and of MCP and domain rules;
//! * *guess*: the rest, always called that, and always the choice that allows less.
//!
//! # What a log cannot know
//!
//! The third step of the flow asks the tool itself (`tool.checkPermissions()`). Where no rule and no mode decides,
//! the tool's answer does. It depends on things that no log holds: links in the file system, sandboxes, lists inside
//! the program. So these calls are [`Decision::ToolDecides`] and never a difference to what was recorded:
//!
//! * tools that only read files (`Read`, `Glob`, `Grep`): let through in the working folders, asked about outside;
//! * shell commands whose every part is known to read only (`ls`, `git status`), which the tool lets through;
//! * tools that only touch the session (`EnterPlanMode`, `TaskCreate`, `StructuredOutput`): recorded as let through
//!   without a rule (55, 78);
//! * tools that this module does not know;
//! * in `acceptEdits`: edits outside the working folders and of protected folders, and shell commands that the mode
//!   may take for edits (`touch x`: recording 53 offers the mode as an answer to it);
//! * in `bypassPermissions`: edits of protected folders, which newer versions still ask about;
//! * in `auto`: all that would be asked, since a classifier answers.
//!
//! All else is known to be asked: edits (recording 34), shell commands that do more than read (34, 53), MCP tools,
//! the web, and what needs a person (77, 96).
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

mod context;
mod danger;
mod flow;
mod list;
mod path;
mod rule;
mod scope;
mod settings;
mod shell;
mod suggest;
mod tool;
mod update;

pub use context::{Context, Placed};
pub use danger::danger;
pub use flow::{By, Decision, Outcome, Step, check, unmatched};
pub use list::rule_list;
pub use path::Pattern;
pub use rule::{Content, Rule, RuleError};
pub use scope::{Behaviour, Mode, Scope};
pub use settings::{Settings, SettingsError};
pub use shell::{Part, Redirect, Unsplit, Word, split};
pub use suggest::{Breadth, Refused, Suggested, Suggestions, allowed_tools, snippet, suggest};
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
