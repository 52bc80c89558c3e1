//! The check flow (5.7): deny, ask, the tool, the mode, allow, and at last a question.

use std::fmt;

use super::{
    Call,
    context::{Context, Placed},
    danger::is_protected,
    path::{below, resolve},
    rule::{Content, Rule},
    scope::{Behaviour, Mode},
    shell::{Part, Unsplit, guises, pieces},
    tool::{self, Family, Own},
};

/// What would have happened to a call, where in the flow, and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<'c> {
    /// What would have happened.
    pub decision: Decision,
    /// The step of the flow that decided.
    pub step: Step,
    /// By what.
    pub by: By<'c>,
}

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// It runs.
    Allow,
    /// It is refused.
    Deny,
    /// A person is asked.
    Ask,
    /// The tool answers, by what a log does not hold.
    ToolDecides,
}

/// The steps of the flow, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// 1: rules that deny.
    Deny,
    /// 2: rules that ask.
    Ask,
    /// 3 and 4: the tool's own answer.
    Tool,
    /// 5: the tool is a question to a person.
    Interaction,
    /// 6: the mode.
    Mode,
    /// 7: rules that allow.
    Allow,
    /// 8: nothing decided.
    Default,
}

/// By what a call was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By<'c> {
    /// By a rule; by several if the parts of a command needed several.
    Rules(Vec<Placed<'c>>),
    /// By the mode.
    Mode(Mode),
    /// By the need for a person.
    Interaction,
    /// By nobody being there to ask.
    NoPrompts,
    /// By the tool.
    Tool,
    /// By nothing: that is asked.
    Default,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::ToolDecides => "tool decides",
        })
    }
}

impl fmt::Display for By<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rules(rules) => {
                let rules: Vec<String> =
                    rules.iter().map(|placed| format!("{} ({})", placed.rule, placed.scope)).collect();
                f.write_str(&rules.join(" + "))
            }
            Self::Mode(mode) => write!(f, "mode {mode}"),
            Self::Interaction => f.write_str("needs a person"),
            Self::NoPrompts => f.write_str("nobody to ask"),
            Self::Tool => f.write_str("the tool"),
            Self::Default => f.write_str("no rule"),
        }
    }
}

/// What would happen to a call in a context.
pub fn check<'c>(context: &'c Context, call: &Call<'_>) -> Outcome<'c> {
    let subject = Subject::of(call);
    let stopped = |behaviour| context.rules(behaviour).find(|placed| subject.is_stopped_by(placed.rule));
    if let Some(placed) = stopped(Behaviour::Deny) {
        return Outcome { decision: Decision::Deny, step: Step::Deny, by: By::Rules(vec![placed]) };
    }
    if let Some(placed) = stopped(Behaviour::Ask) {
        return asked(context, Step::Ask, By::Rules(vec![placed]));
    }
    // The third step. What the tool answers is known only where it is a question to a person; 5.1 lets
    // `AskUserQuestion` through in `acceptEdits`, so there it is none.
    let tool = tool::known(call.tool);
    let accepted = context.mode == Mode::AcceptEdits && tool.safe;
    if tool.own == Own::Interacts && !accepted {
        return asked(context, Step::Interaction, By::Interaction);
    }
    if let Some(decision) = by_mode(context, &subject) {
        return Outcome { decision, step: Step::Mode, by: By::Mode(context.mode) };
    }
    if let Some(rules) = allowing(context, &subject) {
        return Outcome { decision: Decision::Allow, step: Step::Allow, by: By::Rules(rules) };
    }
    if own(context, &subject) == Own::Decides {
        return Outcome { decision: Decision::ToolDecides, step: Step::Tool, by: By::Tool };
    }
    let by = if context.mode == Mode::Plan { By::Mode(Mode::Plan) } else { By::Default };
    asked(context, Step::Default, by)
}

/// The rules of a context that are about none of the calls.
pub fn unmatched<'c, 'a>(context: &'c Context, calls: impl IntoIterator<Item = Call<'a>>) -> Vec<Placed<'c>> {
    let mut left: Vec<Placed<'c>> = context.all_rules().collect();
    for call in calls {
        let subject = Subject::of(&call);
        left.retain(|placed| !subject.is_stopped_by(placed.rule));
        if left.is_empty() {
            break;
        }
    }
    left
}

/// A call with its command taken apart.
struct Subject<'a> {
    call: Call<'a>,
    command: Option<&'a str>,
    parts: Vec<Part>,
    guises: Vec<String>,
    doubt: Option<Unsplit>,
}

impl<'a> Subject<'a> {
    fn of(call: &Call<'a>) -> Self {
        let command = call.text("command").filter(|_| tool::known(call.tool).family == Family::Command);
        let (parts, doubt) = command.map(pieces).unwrap_or_default();
        Self { call: *call, command, guises: guises(&parts), parts, doubt }
    }

    /// Whether a rule is about the call, a part of it, or a file that a part writes by a redirection (a guess: rules
    /// about edits would else be useless beside a shell).
    fn is_stopped_by(&self, rule: &Rule) -> bool {
        let writes = |part: &Part| part.written().any(|file| rule.writes(&file.text, self.call.cwd));
        let redirected = matches!(rule.content, Some(Content::Path(_))) && self.parts.iter().any(writes);
        redirected || rule.matches_guises(&self.call, &self.guises)
    }

    /// Whether the command can be split with certainty and every part is like this.
    fn every(&self, like: impl Fn(&Part) -> bool) -> bool {
        self.doubt.is_none() && !self.parts.is_empty() && self.parts.iter().all(like)
    }
}

/// What becomes of a question: `dontAsk` refuses it, in `auto` a classifier answers it unless a rule or the tool wants
/// a person, and where nobody is there it is refused.
fn asked<'c>(context: &Context, step: Step, by: By<'c>) -> Outcome<'c> {
    let (decision, by) = match context.mode {
        Mode::DontAsk => (Decision::Deny, By::Mode(Mode::DontAsk)),
        Mode::Auto if step == Step::Default => (Decision::ToolDecides, By::Mode(Mode::Auto)),
        _ if context.avoid_prompts => (Decision::Deny, By::NoPrompts),
        _ => (Decision::Ask, by),
    };
    Outcome { decision, step, by }
}

/// The sixth step, and `acceptEdits`, which the specification has as a mode (5.1) but not in the flow.
fn by_mode(context: &Context, subject: &Subject<'_>) -> Option<Decision> {
    let tool = tool::known(subject.call.tool);
    let edits = matches!(tool.family, Family::Edit(_));
    let path = tool::path_of(&subject.call);
    let protected = edits && path.as_deref().is_some_and(is_protected);
    match context.mode {
        // The specification allows everything. Newer versions still ask before edits of protected folders (published).
        Mode::BypassPermissions if protected => Some(Decision::ToolDecides),
        Mode::BypassPermissions => Some(Decision::Allow),
        Mode::Plan if context.bypass_available => Some(Decision::Allow),
        Mode::AcceptEdits if tool.safe && !protected => {
            let inside = path.is_none_or(|path| is_inside(context, &path, subject.call.cwd));
            inside.then_some(Decision::Allow)
        }
        Mode::AcceptEdits | Mode::Default | Mode::Plan => None,
        Mode::Delegate | Mode::DontAsk | Mode::Auto => None,
    }
}

/// Whether a path is in a working folder. Where no folder is known, nothing is outside.
fn is_inside(context: &Context, path: &str, cwd: Option<&str>) -> bool {
    let folders = context.directories.iter().map(|(folder, _)| folder.as_str()).chain(cwd);
    let folders: Vec<String> = folders.filter_map(|folder| resolve(folder, cwd)).collect();
    let Some(path) = resolve(path, cwd) else { return true };
    folders.is_empty() || folders.iter().any(|folder| below(&path, folder).is_some())
}

/// The allow rules that let a call through: one, or for a compound command one for every part.
///
/// A command that cannot be split with certainty needs a rule for the tool or for its whole text: a prefix says
/// nothing about what else stands there.
fn allowing<'c>(context: &'c Context, subject: &Subject<'_>) -> Option<Vec<Placed<'c>>> {
    let rules = || context.rules(Behaviour::Allow).filter(|placed| placed.rule.names(subject.call.tool));
    let Some(command) = subject.command else {
        return rules().find(|placed| placed.rule.matches(&subject.call)).map(|placed| vec![placed]);
    };
    let whole = |rule: &Rule| !matches!(rule.content, Some(Content::Prefix(_))) && rule.says(command);
    if let Some(placed) = rules().find(|placed| whole(placed.rule)) {
        return Some(vec![placed]);
    }
    if subject.doubt.is_some() || subject.parts.is_empty() {
        return None;
    }
    let mut used: Vec<Placed<'c>> = Vec::new();
    for part in &subject.parts {
        for placed in covering(context, part, &rules().collect::<Vec<_>>(), subject.call.cwd)? {
            if !used.contains(&placed) {
                used.push(placed);
            }
        }
    }
    Some(used)
}

/// The rules that cover one part. Where a redirection writes a file, a prefix is not enough: the file needs a rule too.
///
/// Assignments and wrappers before a command are not taken off here, so `Bash(npm:*)` does not cover `LD_PRELOAD=x npm`.
fn covering<'c>(
    context: &'c Context,
    part: &Part,
    rules: &[Placed<'c>],
    cwd: Option<&str>,
) -> Option<Vec<Placed<'c>>> {
    let exact = |rule: &Rule| matches!(rule.content, Some(Content::Command(_))) && rule.says(&part.text);
    if let Some(placed) = rules.iter().find(|placed| exact(placed.rule)) {
        return Some(vec![*placed]);
    }
    let bare = part.bare();
    let mut used = vec![*rules.iter().find(|placed| placed.rule.says(&bare))?];
    for file in part.written() {
        let writes = |placed: &Placed<'_>| !file.expands && placed.rule.writes(&file.text, cwd);
        used.push(context.rules(Behaviour::Allow).find(writes)?);
    }
    Some(used)
}

/// What the tool answers when nothing else decided.
fn own(context: &Context, subject: &Subject<'_>) -> Own {
    let tool = tool::known(subject.call.tool);
    let accepts = context.mode == Mode::AcceptEdits;
    match tool.family {
        Family::Command if subject.every(tool::reads_only) => Own::Decides,
        Family::Command if accepts && subject.every(|part| tool::edits(part) || tool::reads_only(part)) => {
            Own::Decides
        }
        Family::Edit(_) if accepts => Own::Decides,
        Family::Command | Family::Edit(_) | Family::Read(_) => tool.own,
        Family::Web | Family::Agent | Family::Skill | Family::Other => tool.own,
    }
}

#[cfg(test)]
mod table;
