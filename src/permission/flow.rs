//! The check flow (5.7): deny, ask, the tool, the mode, allow, and at last a question.

use std::{borrow::Cow, fmt};

use super::{
    Call,
    access::{Access, Place},
    command::{self, Judge},
    context::{Context, Placed},
    host::is_documentation,
    pattern::{Ground, Use},
    protect::is_protected,
    scope::{Behaviour, Mode},
    shell::{Pieces, Spoken, pieces},
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
    /// It depends on what a log does not hold.
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
    /// By the tool itself, which lets it run for this reason.
    Own(&'static str),
    /// By the tool itself, which asks for this reason.
    Asks(Cow<'static, str>),
    /// By this, which a log does not hold.
    Depends(&'static str),
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
            Self::Own(why) => f.write_str(why),
            Self::Asks(why) => f.write_str(why),
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

/// What would happen to a call in a context.
pub fn check<'c>(context: &'c Context, call: &Call<'_>) -> Outcome<'c> {
    let subject = Subject::of(context, call);
    if let Some(placed) = subject.stopped(Behaviour::Deny) {
        return Outcome { decision: Decision::Deny, step: Step::Deny, by: By::Rules(vec![placed]) };
    }
    if let Some(placed) = subject.stopped(Behaviour::Ask) {
        return asked(context, Step::Ask, By::Rules(vec![placed]));
    }
    if subject.tool.own == Own::Interacts {
        return asked(context, Step::Interaction, By::Interaction);
    }
    if context.mode != Mode::BypassPermissions && subject.writes_protected() {
        return asked(context, Step::Tool, By::Asks(PROTECTED.into()));
    }
    if let Some(decision) = subject.by_mode() {
        let by = By::Mode(context.mode);
        return match decision {
            Decision::Ask => asked(context, Step::Mode, by),
            Decision::Allow | Decision::Deny | Decision::ToolDecides => {
                Outcome { decision, step: Step::Mode, by }
            }
        };
    }
    if let Some(placed) = subject.allowed_whole() {
        return Outcome { decision: Decision::Allow, step: Step::Allow, by: By::Rules(vec![placed]) };
    }
    let outcome = subject.looked_at();
    if outcome.decision == Decision::Ask { asked(context, outcome.step, outcome.by) } else { outcome }
}

/// A part of a command, and what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged<'c> {
    /// The part as it was written.
    pub text: String,
    /// What becomes of it alone.
    pub outcome: Outcome<'c>,
}

/// What would happen to each part of a command by itself. Empty for other tools, and for commands that cannot be checked.
pub fn check_parts<'c>(context: &'c Context, call: &Call<'_>) -> Vec<Judged<'c>> {
    let subject = Subject::of(context, call);
    if subject.pieces.doubt.is_some() {
        return Vec::new();
    }
    let part = |part: &super::Part| {
        let input = serde_json::json!({ "command": part.unguarded() });
        let call = Call { tool: call.tool, input: &input, cwd: call.cwd };
        Judged { text: part.text.clone(), outcome: check(context, &call) }
    };
    subject.pieces.parts.iter().map(part).collect()
}

/// The rules of a context that are about none of the calls.
pub fn unmatched<'c, 'a>(context: &'c Context, calls: impl IntoIterator<Item = Call<'a>>) -> Vec<Placed<'c>> {
    let mut left: Vec<Placed<'c>> = context.all_rules().collect();
    for call in calls {
        if left.is_empty() {
            break;
        }
        let subject = Subject::of(context, &call);
        left.retain(|placed| !subject.is_met_by(placed));
    }
    left
}

/// The folder that later commands run in after a call that ran, if it changes: a command that ends elsewhere in the
/// working folders stays there, one that leaves them is taken back to the project's folder.
pub fn folder_after(context: &Context, call: &Call<'_>) -> Option<String> {
    let subject = Subject::of(context, call);
    if subject.pieces.doubt.is_some() {
        return None;
    }
    let alone = |part: &super::Part| {
        subject.pieces.parts.iter().filter(|other| other.pipeline == part.pipeline).count() == 1
    };
    let mut ground = subject.ground.clone();
    for part in subject.pieces.parts.iter().filter(|part| alone(part)) {
        if let [first, target] = part.core()
            && first.text == "cd"
            && !target.expands
            && target.text != "-"
        {
            ground = ground.within(ground.resolve(&target.text));
        }
    }
    let new = ground.cwd.clone().filter(|new| Some(new) != subject.ground.cwd.as_ref())?;
    let inside = Place { context, ground: &ground }.find(&new) == Access::Inside;
    Some(new).filter(|_| inside).or_else(|| subject.ground.project.clone())
}

/// A call in its context, with its command taken apart.
struct Subject<'c, 'a> {
    context: &'c Context,
    call: Call<'a>,
    tool: &'static tool::Tool,
    ground: Ground,
    command: Option<&'a str>,
    pieces: Pieces,
    spoken: Spoken,
}

impl<'c, 'a> Subject<'c, 'a> {
    fn of(context: &'c Context, call: &Call<'a>) -> Self {
        let tool = tool::known(call.tool);
        let command = call.text("command").filter(|_| tool.family == Family::Command);
        let pieces = command.map(pieces).unwrap_or_default();
        let ground = Ground::new(call.cwd, context.project.as_deref());
        let spoken = Spoken::of(&pieces.parts);
        Self { context, call: *call, tool, ground, command, pieces, spoken }
    }

    fn judge(&self) -> Judge<'c, '_> {
        let command = self.command.unwrap_or_default();
        Judge { context: self.context, ground: &self.ground, command, pieces: &self.pieces }
    }

    fn place(&self) -> Place<'c, '_> {
        Place { context: self.context, ground: &self.ground }
    }

    /// The first rule that denies or asks.
    fn stopped(&self, behaviour: Behaviour) -> Option<Placed<'c>> {
        let stops = |placed: &Placed<'_>| {
            let of = Use { behaviour, scope: placed.scope };
            placed.rule.stops(&self.call, &self.spoken, &self.ground, of)
        };
        let rule = self.context.rules(behaviour).find(stops);
        // Paths of rules that ask do not reach commands.
        let reaches = behaviour == Behaviour::Deny && self.command.is_some();
        rule.or_else(|| if reaches { command::kept_away(&self.judge()) } else { None })
    }

    fn writes_protected(&self) -> bool {
        match self.tool.family {
            Family::Command => command::writes_protected(&self.ground, &self.pieces),
            Family::Edit(_) => tool::path_of(&self.call).is_some_and(|path| is_protected(&path)),
            Family::Read(_) | Family::Web | Family::Agent | Family::Skill | Family::Other => false,
        }
    }

    /// What the mode decides.
    fn by_mode(&self) -> Option<Decision> {
        let edits = matches!(self.tool.family, Family::Edit(_));
        match self.context.mode {
            Mode::BypassPermissions => Some(Decision::Allow),
            Mode::Plan if self.context.bypass_available => Some(Decision::Allow),
            Mode::Plan if edits || tool::is_mcp(self.call.tool) => Some(Decision::Ask),
            Mode::AcceptEdits if edits => {
                let path = tool::path_of(&self.call)?;
                (self.place().find_written(&path) == Access::Inside).then_some(Decision::Allow)
            }
            Mode::AcceptEdits | Mode::Default | Mode::Plan => None,
            Mode::Delegate | Mode::DontAsk | Mode::Auto => None,
        }
    }

    /// An allow rule for any use of the tool.
    fn allowed_whole(&self) -> Option<Placed<'c>> {
        let whole = |placed: &Placed<'_>| {
            placed.rule.content.is_none()
                && placed.rule.names(self.call.tool, Behaviour::Allow)
                && placed.rule.idle(Behaviour::Allow).is_none()
        };
        self.context.rules(Behaviour::Allow).find(whole)
    }

    /// What the tool decides by its input.
    fn looked_at(&self) -> Outcome<'c> {
        let runs = |why| Outcome { decision: Decision::Allow, step: Step::Tool, by: By::Own(why) };
        let asks = Outcome { decision: Decision::Ask, step: Step::Default, by: By::Default };
        let by_rule =
            |placed| Outcome { decision: Decision::Allow, step: Step::Allow, by: By::Rules(vec![placed]) };
        match (self.tool.family, self.tool.own) {
            (Family::Command, _) => self.judge().whole(),
            (Family::Read(_), _) => self.read(),
            (Family::Edit(_), _) => {
                let path = tool::path_of(&self.call);
                let rule = path.and_then(|path| self.place().allowing(&["Edit"], &path));
                rule.map_or(asks, by_rule)
            }
            (Family::Web, _) => {
                let named =
                    |placed: &Placed<'_>| placed.rule.tool == self.call.tool && placed.rule.fits(&self.call);
                let rule = self.context.rules(Behaviour::Allow).find(named);
                let host = tool::host_of(&self.call).unwrap_or_default();
                let known = is_documentation(&host, self.call.text("url").unwrap_or_default());
                rule.map_or_else(|| if known { runs(DOCUMENTATION) } else { asks }, by_rule)
            }
            (Family::Agent | Family::Skill | Family::Other, Own::Runs) => runs(RUNS),
            (Family::Agent | Family::Skill | Family::Other, Own::Unknown) => depends(OTHER_TOOL),
            (Family::Agent | Family::Skill | Family::Other, Own::Asks | Own::Looks | Own::Interacts) => asks,
        }
    }

    /// A tool that reads: inside it runs, elsewhere a rule must let it. In `plan`, which uses `auto`, it runs everywhere.
    fn read(&self) -> Outcome<'c> {
        let inside = Outcome { decision: Decision::Allow, step: Step::Tool, by: By::Own(INSIDE) };
        let Some(path) = tool::path_of(&self.call) else { return inside };
        let access = self.place().find_written(&path);
        if access == Access::Inside {
            return inside;
        }
        if let Some(placed) = self.place().allowing(&["Read", "Edit"], &path) {
            return Outcome { decision: Decision::Allow, step: Step::Allow, by: By::Rules(vec![placed]) };
        }
        match access {
            _ if matches!(self.context.mode, Mode::Plan | Mode::Auto) => {
                Outcome { decision: Decision::Allow, step: Step::Mode, by: By::Mode(self.context.mode) }
            }
            Access::Unknown => depends(NO_FOLDER),
            Access::Inside | Access::Outside => {
                Outcome { decision: Decision::Ask, step: Step::Tool, by: By::Asks(command::OUTSIDE.into()) }
            }
        }
    }

    /// Whether a rule is about the call or a part of it.
    fn is_met_by(&self, placed: &Placed<'_>) -> bool {
        let of = Use { behaviour: placed.behaviour, scope: placed.scope };
        if placed.rule.stops(&self.call, &self.spoken, &self.ground, of) {
            return true;
        }
        placed.behaviour != Behaviour::Ask && command::is_about_files(&self.judge(), placed)
    }
}

fn depends<'c>(on: &'static str) -> Outcome<'c> {
    Outcome { decision: Decision::ToolDecides, step: Step::Tool, by: By::Depends(on) }
}

/// What becomes of a question: `dontAsk` refuses it, in `auto` a classifier answers it unless a rule or the tool wants
/// a person, and where nobody is there it is refused.
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
mod table;
