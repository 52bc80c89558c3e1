//! Why a call was refused, where no allow rule could have helped it.

use super::Decision;

/// An obstacle that no allow rule can remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Obstacle {
    /// A hook.
    Hook,
    /// A person or a host was asked, and refused.
    Person,
    /// A person refused it, or interrupted the run while it was asked for.
    Interrupt,
    /// Plan mode.
    PlanMode,
    /// A rule that denies or asks, which goes before rules that allow.
    Rule,
}

impl Obstacle {
    /// The reason in words, with what would help.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Hook => "refused by a hook, which no rule overrides: change the hook",
            Self::Person => "refused by a person or a host who was asked",
            Self::Interrupt => "refused or interrupted by a person",
            Self::PlanMode => "refused by plan mode, which no rule overrides: leave plan mode",
            Self::Rule => "refused by a deny or ask rule, which goes before allow rules: change that rule",
        }
    }

    /// What a decision was, as far as the fields of the log say it.
    pub(super) fn of(decision: &Decision, kind: Option<&str>) -> Option<Self> {
        let (source, reason) = (decision.source.as_deref(), decision.reason.as_deref());
        let starts = |text: Option<&str>, start: &str| text.is_some_and(|text| text.starts_with(start));
        match () {
            () if source == Some("hook") || starts(reason, "hook") => Some(Self::Hook),
            () if starts(source, "user") || source == Some("host") => Some(Self::Person),
            () if reason == Some("permissionPromptTool") => Some(Self::Person),
            () if reason == Some("mode:plan") => Some(Self::PlanMode),
            () if reason == Some("mode") && decision.mode.as_deref() == Some("plan") => Some(Self::PlanMode),
            () if reason == Some("rule") || starts(reason, "rule:") => Some(Self::Rule),
            // Hooks and hosts have this kind too, but another source.
            () if kind == Some("permission-rule") && source == Some("config") => Some(Self::Rule),
            () => None,
        }
    }

    /// Finds the obstacle by the text of a refusal, for versions without such fields.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        let says = |(start, later, _): &&(&str, &str, Self)| {
            text.strip_prefix(start).is_some_and(|rest| rest.contains(later))
        };
        TEXTS.iter().find(says).map(|(.., obstacle)| *obstacle)
    }
}

/// How such a refusal reads: what it starts with, what follows somewhere after that, and what it means. A refusal that is
/// not here comes from a lack of permission, which a rule can give.
const TEXTS: &[(&str, &str, Obstacle)] = &[
    ("PreToolUse:", " hook error:", Obstacle::Hook),
    ("Hook PreToolUse:", " denied this tool", Obstacle::Hook),
    ("Hook '", "' requires approval", Obstacle::Hook),
    ("Permission denied by hook", "", Obstacle::Hook),
    ("The user doesn't want to ", "", Obstacle::Interrupt),
    ("Permission denied by user", "", Obstacle::Person),
    ("User denied permission", "", Obstacle::Person),
    ("Permission prompt was aborted", "", Obstacle::Interrupt),
    ("Cannot write to ", " while in plan mode", Obstacle::PlanMode),
    ("Permission to ", " has been denied", Obstacle::Rule),
    ("Permission rule '", " requires approval", Obstacle::Rule),
    ("Output redirection to '", "' was blocked by a deny rule", Obstacle::Rule),
    ("Denied by Bash prompt rule:", "", Obstacle::Rule),
    ("MCP tool ", " has been denied", Obstacle::Rule),
    ("Skill execution blocked by permission rules", "", Obstacle::Rule),
    ("Slash command ", " blocked by permission rules", Obstacle::Rule),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_says_what_no_rule_overrides() {
        for (text, obstacle) in [
            ("PreToolUse:Bash hook error: [exit 2]: no", Obstacle::Hook),
            ("Hook PreToolUse:Bash denied this tool", Obstacle::Hook),
            ("The user doesn't want to proceed with this tool use. The tool", Obstacle::Interrupt),
            ("The user doesn't want to take this action right now.", Obstacle::Interrupt),
            ("Permission denied by user", Obstacle::Person),
            ("Cannot write to /x while in plan mode.", Obstacle::PlanMode),
            ("Permission to use Bash with command curl x has been denied.", Obstacle::Rule),
            ("Permission rule 'Bash(git push:*)' from project settings requires approval", Obstacle::Rule),
        ] {
            assert_eq!(Obstacle::of_text(text), Some(obstacle), "{text}");
        }
    }

    #[test]
    fn a_lack_of_permission_is_no_obstacle() {
        for text in [
            "Claude requested permissions to write to /x, but you haven't granted it yet.",
            "This command requires approval",
            "touch in '/x' was blocked. For security, Claude Code may only create",
            "touch in '/x' needs approval. The path",
            "This Bash command contains multiple operations. The following part requires approval: a",
            "Permission to use Bash has been auto-denied (prompts unavailable).",
            "",
        ] {
            assert_eq!(Obstacle::of_text(text), None, "{text}");
        }
    }

    #[test]
    fn fields_say_who_refused_it() {
        let decision = |source: &str, reason: Option<&str>, mode: &str| Decision {
            source: Some(source.to_owned()),
            reason: reason.map(str::to_owned),
            mode: Some(mode.to_owned()),
            ..Decision::default()
        };
        let automatic = Some("user-rejected");
        let rule = Some("permission-rule");
        for (decision, kind, obstacle) in [
            (decision("config", None, "default"), automatic, None),
            (decision("config", Some("subcommandResults"), "default"), automatic, None),
            (decision("config", Some("subcommandResults"), "default"), rule, Some(Obstacle::Rule)),
            (decision("config", Some("rule"), "default"), None, Some(Obstacle::Rule)),
            (decision("hook", Some("hook"), "default"), rule, Some(Obstacle::Hook)),
            (decision("user_reject", None, "default"), rule, Some(Obstacle::Person)),
            (decision("host", None, "default"), None, Some(Obstacle::Person)),
            (decision("config", Some("mode"), "plan"), automatic, Some(Obstacle::PlanMode)),
            // `dontAsk` refuses what no rule allows, and a rule helps.
            (decision("config", Some("mode"), "dontAsk"), automatic, None),
        ] {
            assert_eq!(Obstacle::of(&decision, kind), obstacle, "{decision:?} {kind:?}");
        }
    }
}
