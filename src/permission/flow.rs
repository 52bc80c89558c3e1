//! The check flow (5.7): deny rules, ask rules, the tool, the mode, allow rules, and finally a question.

use std::{borrow::Cow, fmt};

use super::{
    Call,
    access::{Area, Workspace},
    command::{self, CommandCheck},
    context::{Context, ScopedRule},
    host::is_documentation,
    pattern::{Folders, RuleRole},
    protect::is_protected,
    scope::{Behaviour, Mode},
    shell::{ParsedCommand, Spellings, parse},
    tool::{self, Family, ToolPolicy},
};

/// The result of checking a call: the decision, and what made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<'c> {
    /// The decision.
    pub decision: Decision,
    /// The step of the flow that decided.
    pub step: Step,
    /// The step that made the decision.
    pub by: By<'c>,
}

impl<'c> Outcome<'c> {
    pub(super) fn allow(step: Step, by: By<'c>) -> Self {
        Self { decision: Decision::Allow, step, by }
    }

    fn by_rule(scoped: ScopedRule<'c>) -> Self {
        Self::allow(Step::Allow, By::Rules(vec![scoped]))
    }

    /// The tool asks.
    pub(super) fn ask(why: impl Into<Cow<'static, str>>) -> Self {
        Self { decision: Decision::Ask, step: Step::Tool, by: By::ToolAsks(why.into()) }
    }

    /// No rule matches, so a person is asked.
    pub(super) const NO_RULE: Self = Self { decision: Decision::Ask, step: Step::Default, by: By::Default };
}

wire_enum! {
    /// A decision about a call.
    Decision {
        /// The call runs.
        Allow = "allow",
        /// The call is denied.
        Deny = "deny",
        /// A person is asked.
        Ask = "ask",
        /// The decision depends on information that logs do not have.
        ToolDecides = "tool decides",
    }
}

/// The steps of the flow, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// 1: deny rules.
    Deny,
    /// 2: ask rules.
    Ask,
    /// 3 and 4: the tool's own check.
    Tool,
    /// 5: the tool asks a person by itself.
    Interaction,
    /// 6: the mode.
    Mode,
    /// 7: allow rules.
    Allow,
    /// 8: no step decided, so a person is asked.
    Default,
}

/// The step that made a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By<'c> {
    /// A rule, or several if the parts of a command needed several.
    Rules(Vec<ScopedRule<'c>>),
    /// The mode.
    Mode(Mode),
    /// The tool asks a person by itself.
    Interaction,
    /// Nobody can be asked.
    NoPrompts,
    /// The tool, which allows the call for this reason.
    Tool(&'static str),
    /// The tool, which asks for this reason.
    ToolAsks(Cow<'static, str>),
    /// This information, which logs do not have.
    Depends(&'static str),
    /// Nothing, so a person is asked.
    Default,
}

impl fmt::Display for By<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rules(rules) => {
                let rules: Vec<String> =
                    rules.iter().map(|scoped| format!("{} ({})", scoped.rule, scoped.scope)).collect();
                f.write_str(&rules.join(" + "))
            }
            Self::Mode(mode) => write!(f, "mode {mode}"),
            Self::Interaction => f.write_str("needs a person"),
            Self::NoPrompts => f.write_str("nobody to ask"),
            Self::Tool(why) => f.write_str(why),
            Self::ToolAsks(why) => f.write_str(why),
            Self::Depends(on) => write!(f, "depends on {on}"),
            Self::Default => f.write_str("no rule"),
        }
    }
}

const INSIDE: &str = "inside the working folders";
const RUNS: &str = "needs no permission";
const DOCUMENTATION: &str = "documentation host";
const PROTECTED: &str = "a protected file";
const OTHER_TOOL: &str = "the tool, which is not known here";
const NO_FOLDER: &str = "the folder of the session, which is not known";
const CLASSIFIER: &str = "the classifier of mode auto";

/// Returns what would happen to a call in a context.
pub fn check<'c>(context: &'c Context, call: &Call<'_>) -> Outcome<'c> {
    let call_check = CallCheck::of(context, call);
    if let Some(scoped) = call_check.first_rule(Behaviour::Deny) {
        return Outcome { decision: Decision::Deny, step: Step::Deny, by: By::Rules(vec![scoped]) };
    }
    if let Some(scoped) = call_check.first_rule(Behaviour::Ask) {
        return asked(context, Step::Ask, By::Rules(vec![scoped]));
    }
    if call_check.tool.policy == ToolPolicy::Interactive {
        return asked(context, Step::Interaction, By::Interaction);
    }
    if context.mode != Mode::BypassPermissions && call_check.writes_protected() {
        return asked(context, Step::Tool, By::ToolAsks(PROTECTED.into()));
    }
    if let Some(decision) = call_check.mode_decision() {
        let by = By::Mode(context.mode);
        return match decision {
            Decision::Ask => asked(context, Step::Mode, by),
            Decision::Allow | Decision::Deny | Decision::ToolDecides => {
                Outcome { decision, step: Step::Mode, by }
            }
        };
    }
    if let Some(scoped) = call_check.tool_rule() {
        return Outcome::by_rule(scoped);
    }
    let outcome = call_check.tool_outcome();
    if outcome.decision == Decision::Ask { asked(context, outcome.step, outcome.by) } else { outcome }
}

/// A part of a command with its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartOutcome<'c> {
    /// The part as written.
    pub text: String,
    /// The outcome of the part as a command of its own.
    pub outcome: Outcome<'c>,
}

/// Returns what would happen to each part of a command as a command of its own.
///
/// Empty for other tools, and for commands that cannot be split.
pub fn check_parts<'c>(context: &'c Context, call: &Call<'_>) -> Vec<PartOutcome<'c>> {
    let call_check = CallCheck::of(context, call);
    if call_check.parsed.split_error.is_some() {
        return Vec::new();
    }
    let part = |part: &super::Part| {
        let input = serde_json::json!({ "command": part.without_keywords() });
        let call = Call { tool: call.tool, input: &input, cwd: call.cwd };
        PartOutcome { text: part.text.clone(), outcome: check(context, &call) }
    };
    call_check.parsed.parts.iter().map(part).collect()
}

/// Returns the rules of a context that match none of the calls.
pub fn unmatched_rules<'c, 'a>(
    context: &'c Context,
    calls: impl IntoIterator<Item = Call<'a>>,
) -> Vec<ScopedRule<'c>> {
    let mut left: Vec<ScopedRule<'c>> = context.all_rules().collect();
    for call in calls {
        if left.is_empty() {
            break;
        }
        let call_check = CallCheck::of(context, &call);
        left.retain(|scoped| !call_check.is_matched_by(scoped));
    }
    left
}

/// Returns the working folder after a call ran, if it changes.
///
/// A `cd` inside the working folders persists; after a `cd` out of them, the CLI returns to the project's
/// folder.
pub fn folder_after(context: &Context, call: &Call<'_>) -> Option<String> {
    let call_check = CallCheck::of(context, call);
    if call_check.parsed.split_error.is_some() {
        return None;
    }
    let alone = |part: &super::Part| {
        call_check.parsed.parts.iter().filter(|other| other.pipeline == part.pipeline).count() == 1
    };
    let mut folders = call_check.folders.clone();
    for part in call_check.parsed.parts.iter().filter(|part| alone(part)) {
        if let [first, target] = part.core()
            && first.text == "cd"
            && !target.expands
            && target.text != "-"
        {
            folders = folders.within(folders.resolve(&target.text));
        }
    }
    let new = folders.cwd.clone().filter(|new| Some(new) != call_check.folders.cwd.as_ref())?;
    let inside = Workspace { context, folders: &folders }.area_of(&new) == Area::Inside;
    Some(new).filter(|_| inside).or_else(|| call_check.folders.project.clone())
}

/// A call with its command parsed, and the context to check it in.
struct CallCheck<'c, 'a> {
    context: &'c Context,
    call: Call<'a>,
    tool: &'static tool::Tool,
    folders: Folders,
    command: Option<&'a str>,
    parsed: ParsedCommand,
    spellings: Spellings,
}

impl<'c, 'a> CallCheck<'c, 'a> {
    fn of(context: &'c Context, call: &Call<'a>) -> Self {
        let tool = tool::lookup(call.tool);
        let command = call.text("command").filter(|_| tool.family == Family::Command);
        let parsed = command.map(parse).unwrap_or_default();
        let folders = Folders::new(call.cwd, context.project.as_deref());
        let spellings = Spellings::of(&parsed.parts);
        Self { context, call: *call, tool, folders, command, parsed, spellings }
    }

    fn command_check(&self) -> CommandCheck<'c, '_> {
        let command = self.command.unwrap_or_default();
        CommandCheck { context: self.context, folders: &self.folders, command, parsed: &self.parsed }
    }

    fn workspace(&self) -> Workspace<'c, '_> {
        Workspace { context: self.context, folders: &self.folders }
    }

    /// Returns the first deny or ask rule that matches.
    fn first_rule(&self, behaviour: Behaviour) -> Option<ScopedRule<'c>> {
        let stops = |scoped: &ScopedRule<'_>| {
            let role = RuleRole { behaviour, scope: scoped.scope };
            scoped.rule.matches_call(&self.call, &self.spellings, &self.folders, role)
        };
        let rule = self.context.rules(behaviour).find(stops);
        // Ask rules for paths do not apply to commands.
        let reaches = behaviour == Behaviour::Deny && self.command.is_some();
        rule.or_else(|| if reaches { command::denying_file_rule(&self.command_check()) } else { None })
    }

    fn writes_protected(&self) -> bool {
        match self.tool.family {
            Family::Command => command::writes_protected(&self.folders, &self.parsed),
            Family::Edit(_) => tool::path_of(&self.call).is_some_and(|path| is_protected(&path)),
            Family::Read(_) | Family::Web | Family::Agent | Family::Skill | Family::Other => false,
        }
    }

    /// Returns what the mode decides.
    fn mode_decision(&self) -> Option<Decision> {
        let edits = matches!(self.tool.family, Family::Edit(_));
        match self.context.mode {
            Mode::BypassPermissions => Some(Decision::Allow),
            Mode::Plan if self.context.bypass_available => Some(Decision::Allow),
            Mode::Plan if edits || tool::is_mcp(self.call.tool) => Some(Decision::Ask),
            Mode::AcceptEdits if edits => {
                let path = tool::path_of(&self.call)?;
                (self.workspace().area_of_unresolved(&path) == Area::Inside).then_some(Decision::Allow)
            }
            Mode::AcceptEdits | Mode::Default | Mode::Plan => None,
            Mode::Delegate | Mode::DontAsk | Mode::Auto => None,
        }
    }

    /// Returns an allow rule for the whole tool.
    fn tool_rule(&self) -> Option<ScopedRule<'c>> {
        let whole = |scoped: &ScopedRule<'_>| {
            scoped.rule.content.is_none()
                && scoped.rule.covers_tool(self.call.tool, Behaviour::Allow)
                && scoped.rule.no_effect(Behaviour::Allow).is_none()
        };
        self.context.rules(Behaviour::Allow).find(whole)
    }

    /// Returns what the tool decides by its input.
    fn tool_outcome(&self) -> Outcome<'c> {
        let runs = |why| Outcome::allow(Step::Tool, By::Tool(why));
        let asks = Outcome::NO_RULE;
        match (self.tool.family, self.tool.policy) {
            (Family::Command, _) => self.command_check().outcome(),
            (Family::Read(_), _) => self.read(),
            (Family::Edit(_), _) => {
                let path = tool::path_of(&self.call);
                let rule = path.and_then(|path| self.workspace().allow_rule(&["Edit"], &path));
                rule.map_or(asks, Outcome::by_rule)
            }
            (Family::Web, _) => {
                let named = |scoped: &ScopedRule<'_>| {
                    scoped.rule.tool == self.call.tool && scoped.rule.matches_name(&self.call)
                };
                let rule = self.context.rules(Behaviour::Allow).find(named);
                let host = tool::host_of(&self.call).unwrap_or_default();
                let known = is_documentation(&host, self.call.text("url").unwrap_or_default());
                rule.map_or_else(|| if known { runs(DOCUMENTATION) } else { asks }, Outcome::by_rule)
            }
            (Family::Agent | Family::Skill | Family::Other, ToolPolicy::Allow) => runs(RUNS),
            (Family::Agent | Family::Skill | Family::Other, ToolPolicy::Unknown) => depends(OTHER_TOOL),
            (
                Family::Agent | Family::Skill | Family::Other,
                ToolPolicy::Ask | ToolPolicy::ByInput | ToolPolicy::Interactive,
            ) => asks,
        }
    }

    /// Checks a tool that reads: it runs inside the working folders, and elsewhere by a rule. In `plan`,
    /// which uses `auto`, it runs everywhere.
    fn read(&self) -> Outcome<'c> {
        let inside = Outcome::allow(Step::Tool, By::Tool(INSIDE));
        let Some(path) = tool::path_of(&self.call) else { return inside };
        let access = self.workspace().area_of_unresolved(&path);
        if access == Area::Inside {
            return inside;
        }
        if let Some(scoped) = self.workspace().allow_rule(&["Read", "Edit"], &path) {
            return Outcome::by_rule(scoped);
        }
        match access {
            _ if matches!(self.context.mode, Mode::Plan | Mode::Auto) => {
                Outcome::allow(Step::Mode, By::Mode(self.context.mode))
            }
            Area::Unknown => depends(NO_FOLDER),
            Area::Inside | Area::Outside => Outcome::ask(command::OUTSIDE),
        }
    }

    /// Returns whether a rule matches the call or a part of it.
    fn is_matched_by(&self, scoped: &ScopedRule<'_>) -> bool {
        let role = RuleRole { behaviour: scoped.behaviour, scope: scoped.scope };
        if scoped.rule.matches_call(&self.call, &self.spellings, &self.folders, role) {
            return true;
        }
        scoped.behaviour != Behaviour::Ask && command::matches_files(&self.command_check(), scoped)
    }
}

fn depends<'c>(on: &'static str) -> Outcome<'c> {
    Outcome { decision: Decision::ToolDecides, step: Step::Tool, by: By::Depends(on) }
}

/// Returns the outcome of a question: `dontAsk` denies it, in `auto` a classifier answers it unless a rule or
/// the tool needs a person, and it is denied if nobody can be asked.
fn asked<'c>(context: &Context, step: Step, by: By<'c>) -> Outcome<'c> {
    let (decision, by) = match context.mode {
        Mode::DontAsk => (Decision::Deny, By::Mode(Mode::DontAsk)),
        Mode::Auto if !matches!(step, Step::Ask | Step::Interaction) => {
            (Decision::ToolDecides, By::Depends(CLASSIFIER))
        }
        _ if context.avoid_prompts => (Decision::Deny, By::NoPrompts),
        _ => (Decision::Ask, by),
    };
    Outcome { decision, step, by }
}

#[cfg(test)]
mod tests;
