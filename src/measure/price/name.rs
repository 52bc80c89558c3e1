//! Canonical names of models, which providers, releases and settings write in many ways.

use std::borrow::Cow;

/// Returns the name of a model in the price table.
///
/// Removes everything that a provider or a release adds: `us.anthropic.claude-sonnet-4-5-20250929-v1:0` and
/// `claude-sonnet-4-5[1m]` both become `claude-sonnet-4-5`.
pub fn canonical(model: &str) -> Cow<'_, str> {
    let model = model.trim();
    if model.bytes().any(|byte| byte.is_ascii_uppercase() || !byte.is_ascii()) {
        return Cow::Owned(bare_name(&model.to_lowercase()).to_owned());
    }
    Cow::Borrowed(bare_name(model))
}

fn bare_name(name: &str) -> &str {
    let name = without_provider(without_brackets(name));
    match without_date(without_version(name)) {
        "claude-sonnet-4" => "claude-sonnet-4-0",
        "claude-opus-4" => "claude-opus-4-0",
        name => name,
    }
}

/// Removes the `[1m]` of a larger context window.
fn without_brackets(name: &str) -> &str {
    let Some(open) = name.strip_suffix(']') else { return name };
    let from = open.rfind(']').map_or(0, |closed| closed + 1);
    open[from..].find('[').map_or(name, |start| &name[..from + start])
}

/// Removes Bedrock's `us.anthropic.`, a gateway's `anthropic/`, or Vertex's path.
///
/// The gateway itself may be called `claude-something/`; the model is then the part after it.
fn without_provider(name: &str) -> &str {
    const FAMILY: &str = "claude-";
    let start = name.find(FAMILY).unwrap_or(0);
    let after = if start == 0 { name.get(1..).and_then(|rest| rest.find(FAMILY)) } else { None };
    after.map_or(&name[start..], |next| &name[1 + next..])
}

/// Removes Vertex's `@20250929`, Bedrock's `-v1:0`, or `-latest`.
fn without_version(name: &str) -> &str {
    if let Some((name, _)) = name.split_once('@') {
        return name;
    }
    if let Some(name) = name.strip_suffix("-latest") {
        return name;
    }
    bedrock_base(name).unwrap_or(name)
}

fn bedrock_base(name: &str) -> Option<&str> {
    let rest = without_digits(name)?;
    rest.strip_suffix("-v").or_else(|| without_digits(rest.strip_suffix(':')?)?.strip_suffix("-v"))
}

/// Removes the digits at the end; `None` if there are none.
fn without_digits(text: &str) -> Option<&str> {
    let rest = text.trim_end_matches(|c: char| c.is_ascii_digit());
    (rest.len() < text.len()).then_some(rest)
}

fn without_date(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((name, date))
            if date.len() == 8 && date.starts_with("20") && without_digits(date) == Some("") =>
        {
            name
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn additions_of_providers_releases_and_settings_are_removed() {
        for (model, expected) in [
            ("claude-opus-5-5", "claude-opus-5-5"),
            (" Claude-Opus-5-5\n", "claude-opus-5-5"),
            ("claude-opus-4-8[1m]", "claude-opus-4-8"),
            ("claude-sonnet-4-5-20250929[1m]", "claude-sonnet-4-5"),
            ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
            ("anthropic.claude-3-5-sonnet-20241022-v2", "claude-3-5-sonnet"),
            ("anthropic/claude-fable-5-2", "claude-fable-5-2"),
            ("projects/p/locations/eu/models/claude-haiku-4-5@20251001", "claude-haiku-4-5"),
            ("claude-3-7-sonnet-latest", "claude-3-7-sonnet"),
            ("claude-sonnet-4-20250514", "claude-sonnet-4-0"),
            ("claude-opus-4", "claude-opus-4-0"),
            ("claude-opus-4-1-20250805", "claude-opus-4-1"),
            ("gpt-4o-latest", "gpt-4o"),
            ("", ""),
        ] {
            assert_eq!(canonical(model), expected, "{model}");
        }
    }

    /// The expected names come from the same rules written as regular expressions.
    #[test]
    fn unusual_names_lose_only_what_the_rules_remove() {
        for (model, expected) in [
            ("a[1][2]", "a[1]"),
            ("a[b[c]", "a"),
            ("a]", "a]"),
            ("a[]b]", "a[]b]"),
            ("claude-gateway/claude-x", "claude-x"),
            ("a/claude-b/claude-x", "claude-b/claude-x"),
            ("claude-x-v1@2", "claude-x-v1"),
            ("claude-x-v1-latest", "claude-x-v1"),
            ("claude-x-v", "claude-x-v"),
            ("claude-x-v1:", "claude-x-v1:"),
            ("claude-x-v:1", "claude-x-v:1"),
            ("claude-x-v12:34", "claude-x"),
            ("claude-x-19991231", "claude-x-19991231"),
            ("claude-x-2025092", "claude-x-2025092"),
            ("claude-x-20250929-20250929", "claude-x-20250929"),
        ] {
            assert_eq!(canonical(model), expected, "{model}");
        }
    }

    #[test]
    fn a_plain_name_is_borrowed() {
        assert!(matches!(canonical("us.anthropic.claude-opus-5-5"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn no_name_is_cut_inside_a_character(model in r"(\PC|[\[\]@:-]|claude-|-v1|-20250929){0,12}") {
            canonical(&model);
        }
    }
}
