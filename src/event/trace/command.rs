//! Decodes offers and uses of slash commands, skills and agents.

use super::{Decoder, Object, Text, Trace, Traces, content};
use crate::event::{
    Compaction,
    json::{self, Json},
};

names! {
    /// Kind of a command.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum CommandKind {
        /// A slash command.
        Command = "command",
        /// A skill. Each skill is also a slash command, but is not listed as one.
        Skill = "skill",
        /// A type of subagent.
        Agent = "agent",
    }
}

/// Names that a record offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer<T> {
    /// Kind of the names.
    pub kind: CommandKind,
    pub names: Vec<T>,
}

/// A command that may have been typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed<T> {
    /// How the record shows it.
    pub form: Form,
    /// Its name, without a slash.
    pub name: T,
    /// Uuid of the original record, if this one repeats it.
    pub uuid: Option<T>,
}

/// How a record shows a command. If several forms show the same number of uses, the first in this order
/// provides the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// `<command-name>` in a user's message of a saved session.
    Marked,
    /// Text that begins with a slash and a name.
    Text,
    /// `system/local_command`, which names it in `commandRun`, before 2.1.300 in `<command-name>`.
    Local,
    /// `local_command` of the result of a turn that the CLI answered itself.
    Ended,
    /// A manual compaction: before 2.1.197 a stream has no other trace of `/compact`.
    Compacted,
    /// A message that arrived while a turn was running.
    Folded,
    /// A queued message.
    Queued,
}

impl Form {
    /// Returns whether a field or tag marks it as a command; otherwise it may be any text.
    pub fn is_sure(self) -> bool {
        match self {
            Self::Marked | Self::Local | Self::Ended | Self::Compacted => true,
            Self::Text | Self::Folded | Self::Queued => false,
        }
    }
}

/// Records that list names: kind of record, member, kind of the names. The lists contain names, or objects
/// with a `name`.
const LISTS: &[(&str, &str, CommandKind)] = &[
    ("system/init", "slash_commands", CommandKind::Command),
    ("system/init", "skills", CommandKind::Skill),
    ("system/init", "agents", CommandKind::Agent),
    ("system/commands_changed", "commands", CommandKind::Command),
    ("attachment/skill_listing", "names", CommandKind::Skill),
    ("attachment/agent_listing_delta", "addedTypes", CommandKind::Agent),
];

/// Tools that use commands: keys of the name in the input, and the kind if the name was never offered.
/// `SlashCommand` exists from 1.0.123 to 2.0; `Task` became `Agent` in 2.1.
const TOOLS: &[(&str, &[&str], CommandKind)] = &[
    ("Skill", &["skill", "command"], CommandKind::Skill),
    ("SlashCommand", &["command"], CommandKind::Command),
    ("Agent", &["subagent_type"], CommandKind::Agent),
    ("Task", &["subagent_type"], CommandKind::Agent),
];

/// Returns the kind and the name of what a call uses, as far as the input has it; `None` for most tools.
pub fn used<'a>(tool: &str, input: Option<&'a str>) -> Option<(CommandKind, Option<Text<'a>>)> {
    let (_, keys, kind) = TOOLS.iter().find(|(name, ..)| *name == tool)?;
    let input = input.and_then(|input| json::object(input).ok()).unwrap_or_default();
    let said = keys.iter().find_map(|key| input.text(&[key]));
    Some((*kind, said.and_then(|said| name(&said).map(|name| name.to_owned().into()))))
}

/// Parses a name, with or without a slash, and ignores what follows it.
///
/// A name consists of letters, digits, `-`, `_` and `:`. A path is not a name: it contains another slash or a
/// dot.
fn name(said: &str) -> Option<&str> {
    let said = said.trim_start();
    let name = said.strip_prefix('/').unwrap_or(said).split(char::is_whitespace).next()?;
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ':');
    (!name.is_empty() && name.chars().all(plain)).then_some(name)
}

/// Returns the name in `<command-name>`. Before 1.0.100 it had no slash.
fn tagged(said: &str) -> Option<&str> {
    let (_, rest) = said.split_once("<command-name>")?;
    name(rest.split_once("</command-name>")?.0)
}

impl<'a, T: Clone> Decoder<'_, 'a, T> {
    pub(super) fn offers(&mut self, kind: &str, lists: &Object<'a>) {
        for &(_, key, kind) in LISTS.iter().filter(|(list, ..)| *list == kind) {
            let Some(all) = lists.get(key).and_then(Json::array) else { continue };
            let said = |one: Json<'a>| one.text().or_else(|| one.object()?.text(&["name"]));
            // A shortened list ends with a note, which is not a name.
            let known = |one: &Text<'a>| name(one).is_some_and(|plain| plain.len() == one.len());
            let names =
                all.into_iter().filter_map(said).filter(known).map(|one| self.owner.own(one)).collect();
            self.found.push(Trace::Offer(Offer { kind, names }));
        }
    }

    fn use_of(&mut self, form: Form, name: Option<&str>, uuid: Option<Text<'a>>) {
        let Some(name) = name else { return };
        let (name, uuid) = (self.owner.own(name.to_owned().into()), self.own(uuid));
        self.found.push(Trace::Typed(Typed { form, name, uuid }));
    }

    /// Decodes a text that may be a command.
    pub(super) fn typed(&mut self, form: Form, text: &str, uuid: Option<Text<'a>>) {
        let typed = Some(text).filter(|text| text.starts_with('/')).and_then(name);
        self.use_of(form, typed, uuid);
    }

    /// Decodes a user message that is not a tool result.
    pub(super) fn said(&mut self, record: &Object<'a>) {
        let Some(message) = record.object("message") else { return };
        let Some(json) = message.get("content") else { return };
        if self.wants(Traces::TASKS)
            && let Some(text) = content(json)
        {
            self.notice(&text);
        }
        // Text that the CLI adds was not typed, such as the text of a skill that the model called.
        let added = record.is_true("isMeta")
            || record.is_true("isSynthetic")
            || record.get("sourceToolUseID").is_some_and(|source| !source.is_null());
        if added || !self.wants(Traces::COMMANDS) {
            return;
        }
        let first = || json.array()?.first()?.object()?.text(&["text"]);
        let Some(said) = json.text().or_else(first) else { return };
        let marked = Some(&*said).filter(|said| said.starts_with("<command-")).and_then(tagged);
        match marked {
            Some(name) => self.use_of(Form::Marked, Some(name), None),
            None => self.typed(Form::Text, &said, None),
        }
    }

    pub(super) fn local_command(&mut self, sub: &str, record: &Object<'a>) {
        if sub != "local_command" {
            return;
        }
        let run = record.object("commandRun").and_then(|run| run.text(&["command"]));
        let said = record.text(&["content"]);
        let run = run.as_deref().and_then(name).or_else(|| tagged(said.as_deref()?));
        self.use_of(Form::Local, run, None);
    }

    /// Decodes a turn that the CLI answered itself.
    pub(super) fn ended(&mut self, record: &Object<'a>) {
        let command = record.text(&["local_command"]);
        self.use_of(Form::Ended, command.as_deref().and_then(name), None);
    }

    pub(super) fn compacted(&mut self, compaction: &Compaction<Text<'a>>) {
        if self.wants(Traces::COMMANDS) && compaction.trigger.as_deref() == Some("manual") {
            self.use_of(Form::Compacted, Some("compact"), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_not_a_command() {
        assert_eq!(name("/compact now, please"), Some("compact"));
        assert_eq!(name("plugin:review"), Some("plugin:review"));
        for none in ["/tmp/x is full", "/", "/ x", "//x", "/etc.", "", "/a,b"] {
            assert_eq!(name(none), None, "{none}");
        }
    }
}
