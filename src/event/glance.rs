//! Recognizes a record by its first members, without decoding the rest.

use super::kind::Type;

/// Returns whether a line is a record that has no cost, such as a prompt or the results of tools. Only looks at the members
/// before the first nested value. `false` if these do not say.
///
/// Saved sessions have the type of such records before the message. They are three quarters of the bytes of a log.
pub fn is_free(line: &[u8]) -> bool {
    type_of(line).is_some_and(|name| match Type::of(name) {
        Type::User | Type::Attachment | Type::QueueOperation | Type::PullRequestLink | Type::Other => true,
        Type::ControlRequest | Type::ControlResponse | Type::ToolResult | Type::Reject => true,
        Type::Assistant | Type::System | Type::Result | Type::StreamEvent | Type::Progress => false,
        Type::ConversationReset | Type::CostState => false,
    })
}

/// The type of a record, if only plain values precede it.
fn type_of(line: &[u8]) -> Option<&str> {
    let mut rest = line.strip_prefix(b"{")?;
    loop {
        let (key, after) = string(rest, b"\":")?;
        if key == b"type" {
            let (name, _) = string(after, b"\"")?;
            return std::str::from_utf8(name).ok();
        }
        let after = match after {
            [b'"', ..] => string(after, b"\"")?.1,
            _ => literal(after)?,
        };
        rest = after.strip_prefix(b",")?;
    }
}

/// Splits off a string without escapes that ends with `end`.
fn string<'a>(text: &'a [u8], end: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let text = text.strip_prefix(b"\"")?;
    let at = memchr::memchr2(b'"', b'\\', text)?;
    Some((&text[..at], text[at..].strip_prefix(end)?))
}

/// Skips `null`, `true` or `false`.
fn literal(text: &[u8]) -> Option<&[u8]> {
    [&b"null"[..], b"true", b"false"].into_iter().find_map(|word| text.strip_prefix(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_without_cost_are_recognized_by_the_members_before_their_message() {
        for line in [
            r#"{"type":"user","message":{}}"#,
            r#"{"parentUuid":null,"isSidechain":false,"promptId":"p","type":"user","message":{"role":"user"}}"#,
            r#"{"type":"last-prompt","lastPrompt":"a\"b"}"#,
            r#"{"type":"some-later-kind"}"#,
        ] {
            assert!(is_free(line.as_bytes()), "{line}");
        }
        for line in [
            "",
            "{",
            "{}",
            "null",
            r#"{"type":"assistant","message":{}}"#,
            r#"{"type":"cost-state","totalCostUSD":1}"#,
            r#"{"type":"user"#,
            r#"{"type":"us\u0065r","message":{}}"#,
            r#"{"type":["user"],"message":{}}"#,
            r#"{"message":{"type":"user","x":1},"type":"assistant"}"#,
            r#"{"note":"\"type\":\"user\",","type":"assistant"}"#,
            r#"{"a":"b\"","type":"user","message":{}}"#,
            r#"{"a":12,"type":"user","message":{}}"#,
            r#"{"a":["type","user"],"type":"user","message":{}}"#,
            r#"{"parentUuid":nul,"type":"user","message":{}}"#,
            r#"["type","user"]"#,
        ] {
            assert!(!is_free(line.as_bytes()), "{line}");
        }
    }
}
