//! Records that leave traces of what was allowed, asked, hooked, started and controlled, small enough to be kept whole.

use serde_json::Value;

use super::{Dialect, Event, mend::mend};

/// How much of a record is kept.
struct Room {
    /// Longer records are kept without their longest texts.
    whole: usize,
    /// Letters that are left of a text that is too long.
    left: usize,
}

/// Lists of skills and commands are long texts.
const ROOM: Room = Room { whole: 16 << 10, left: 1024 };

/// Two thirds of all bytes are answers of tools, of which only the frame matters here.
const ROOM_OF_USER: Room = Room { whole: 2 << 10, left: 256 };

/// Types whose every record leaves a trace. Beside them: attachments of some kinds, and everything of the bridge.
const TYPES: &[&str] = &[
    "user",
    "system",
    "result",
    "control_request",
    "control_response",
    "control_cancel_request",
    "command_lifecycle",
    "rate_limit_event",
    "tool_progress",
    "queue-operation",
    "mode",
    "permission-mode",
    "progress",
];

/// What attachments leave traces: the beginnings of their types.
const ATTACHMENTS: &[&str] = &[
    "hook_",
    "async_hook_response",
    "command_permissions",
    "skill_listing",
    "agent_listing",
    "queued_command",
    "plan_mode",
    "max_turns_reached",
];

/// A response that was refused: of all responses only these leave a trace.
const REFUSED: &str = r#""stop_reason":"refusal""#;

/// The record as JSON, if it leaves a trace. One that is very long is kept with its longest texts cut.
pub fn trace(event: &Event<'_>) -> Option<Box<str>> {
    let name = event.kind.name();
    if !leaves_trace(&name, event.dialect) && !is_refused(&name, event.text) {
        return None;
    }
    let room = if name == "user" { ROOM_OF_USER } else { ROOM };
    if event.text.len() <= room.whole {
        return Some(mend(event.text).into());
    }
    let mut record: Value = serde_json::from_str(&mend(event.text)).ok()?;
    cut(&mut record, room.left);
    Some(record.to_string().into())
}

fn leaves_trace(name: &str, dialect: Dialect) -> bool {
    let (kind, sub) = name.split_once('/').unwrap_or((name, ""));
    match kind {
        "attachment" => ATTACHMENTS.iter().any(|start| sub.starts_with(start)),
        "assistant" | "stream_event" | "stream_delta" | "thinking_delta" => false,
        _ => dialect == Dialect::Bridge || TYPES.contains(&kind),
    }
}

fn is_refused(name: &str, text: &str) -> bool {
    matches!(name, "assistant" | "stream_event/message_delta") && text.contains(REFUSED)
}

/// Cuts every long text in a value.
fn cut(value: &mut Value, left: usize) {
    match value {
        Value::String(text) if text.len() > left => {
            let end = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= left).last().unwrap_or(0);
            text.truncate(end);
            text.push('…');
        }
        Value::Array(values) => values.iter_mut().for_each(|value| cut(value, left)),
        Value::Object(members) => members.values_mut().for_each(|value| cut(value, left)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::decode;

    fn traced(record: &str) -> Option<Box<str>> {
        trace(&decode(record.as_bytes()).unwrap())
    }

    #[test]
    fn a_record_is_kept_as_it_stands() {
        let record = r#"{"type":"control_request","request_id":"1","request":{"subtype":"interrupt"}}"#;
        assert_eq!(traced(&format!("  {record} ")).as_deref(), Some(record));
        assert_eq!(traced(r#"{"type":"assistant","session_id":"s","message":{"content":[]}}"#), None);
        assert!(traced(r#"{"type":"assistant","message":{"stop_reason":"refusal"}}"#).is_some());
        assert_eq!(traced(r#"{"type":"attachment","sessionId":"s","attachment":{"type":"date"}}"#), None);
        assert!(
            traced(r#"{"type":"attachment","sessionId":"s","attachment":{"type":"hook_success"}}"#).is_some()
        );
    }

    #[test]
    fn a_long_record_loses_its_long_texts_alone() {
        let long = "é".repeat(20_000);
        let record =
            format!(r#"{{"type":"user","session_id":"s","message":{{"content":"{long}"}},"uuid":"u"}}"#);
        let kept: Value = serde_json::from_str(&traced(&record).unwrap()).unwrap();
        assert_eq!(kept["uuid"], "u");
        assert_eq!(kept["message"]["content"].as_str().unwrap().chars().count(), 129);
    }
}
