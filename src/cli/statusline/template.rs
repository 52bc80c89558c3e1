//! The template of a status line.

use std::iter::Peekable;

names! {
    /// A field of a status line.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Field {
        /// Name of the model.
        Model = "model",
        /// Effort of the model.
        Effort = "effort",
        /// Used share of the context.
        Context = "context",
        /// Cost of the session, as the CLI counts it.
        Cost = "cost",
        /// Cost of all saved sessions since midnight.
        Today = "today",
        /// Used shares of the limits.
        Limits = "limits",
        /// Name of the working directory.
        Folder = "folder",
        /// Branch of a worktree.
        Branch = "branch",
        /// Session id.
        Session = "session",
        /// Version of the CLI.
        Version = "version",
        /// Added and removed lines.
        Lines = "lines",
        /// Duration of the session.
        Duration = "duration",
    }
}

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Always(Vec<Piece>),
    /// Left out if a field is not known.
    IfKnown(Vec<Piece>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Field(Field),
}

impl Template {
    pub(super) const DEFAULT: &str =
        "{model}[ · {context} context][ · {cost} session][ · {today} today][ · {limits}]";

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut letters = text.chars().peekable();
        let mut parts = Vec::new();
        while letters.peek().is_some() {
            if letters.peek() == Some(&']') && letters.clone().nth(1) != Some(']') {
                return Err("a `]` has no `[`; write `]]` for the character itself".to_owned());
            }
            if letters.next_if_eq(&'[').is_none() {
                parts.push(Part::Always(pieces(&mut letters)?));
                continue;
            }
            if letters.next_if_eq(&'[').is_some() {
                parts.push(Part::Always(vec![Piece::Text("[".to_owned())]));
                continue;
            }
            let inner = pieces(&mut letters)?;
            match letters.next() {
                Some(']') => parts.push(Part::IfKnown(inner)),
                Some(_) => return Err("a part in brackets cannot contain another one".to_owned()),
                None => return Err("a `[` has no `]`; write `[[` for the character itself".to_owned()),
            }
        }
        Ok(Self(parts))
    }

    /// Whether the line has this field.
    pub(super) fn has(&self, field: Field) -> bool {
        let pieces = self.0.iter().flat_map(|part| match part {
            Part::Always(pieces) | Part::IfKnown(pieces) => pieces,
        });
        pieces.into_iter().any(|piece| *piece == Piece::Field(field))
    }

    /// The line. A field that is not known is left out, with the part in brackets around it.
    pub(super) fn fill(&self, value: impl Fn(Field) -> Option<String>) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Field(field) => value(*field),
        };
        let part = |part: &Part| match part {
            Part::Always(pieces) => pieces.iter().filter_map(text).collect(),
            Part::IfKnown(pieces) => pieces.iter().map(text).collect::<Option<String>>().unwrap_or_default(),
        };
        let line: String = self.0.iter().map(part).collect();
        // Without its first part, the line would begin with a separator.
        line.trim_start_matches([' ', '·', '|', ',']).trim_end().to_owned()
    }
}

/// Reads pieces up to a bracket that opens or closes a part. A doubled `]` or brace is text.
fn pieces(letters: &mut Peekable<impl Iterator<Item = char> + Clone>) -> Result<Vec<Piece>, String> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut text = String::new();
    while let Some(&letter) = letters.peek() {
        let is_doubled = letters.clone().nth(1) == Some(letter);
        match letter {
            '[' => break,
            ']' if !is_doubled => break,
            '{' | '}' | ']' if is_doubled => {
                letters.nth(1);
                text.push(letter);
            }
            '{' => {
                letters.next();
                let mut name = String::new();
                while let Some(letter) = letters.next_if(|&letter| letter != '}') {
                    name.push(letter);
                }
                letters.next().ok_or("a `{` has no `}`; write `{{` for the character itself")?;
                pieces.push(Piece::Text(std::mem::take(&mut text)));
                pieces.push(Piece::Field(field(&name)?));
            }
            _ => {
                letters.next();
                text.push(letter);
            }
        }
    }
    pieces.push(Piece::Text(text));
    pieces.retain(|piece| *piece != Piece::Text(String::new()));
    Ok(pieces)
}

fn field(name: &str) -> Result<Field, String> {
    Field::ALL.into_iter().find(|field| field.name() == name).ok_or_else(|| {
        let all: Vec<&str> = Field::ALL.into_iter().map(Field::name).collect();
        format!("there is no field `{name}`: the fields are {}", all.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str) -> String {
        Template::parse(template).unwrap().fill(|field| match field {
            Field::Model => Some("Opus".to_owned()),
            Field::Cost => Some("$1.20".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn a_part_without_its_value_is_left_out() {
        assert_eq!(filled("{model}[ · {context} context][ · {cost} session]"), "Opus · $1.20 session");
        assert_eq!(filled("{model} {context}[ ({effort}, {cost})]"), "Opus");
        assert_eq!(filled(""), "");
    }

    #[test]
    fn a_line_does_not_begin_with_a_separator() {
        assert_eq!(filled("[{context}][ · {cost}]"), "$1.20");
    }

    #[test]
    fn doubled_brackets_and_braces_are_text() {
        assert_eq!(filled("[[{model}]] {{x}}"), "[Opus] {x}");
    }

    #[test]
    fn a_wrong_template_says_what_is_wrong() {
        let wrong = |text: &str| Template::parse(text).unwrap_err();
        assert!(
            wrong("{modle}").contains("no field `modle`: the fields are model, effort"),
            "{}",
            wrong("{modle}")
        );
        assert!(wrong("[{model}").contains("has no `]`"));
        assert!(wrong("[a [{model}]]").contains("cannot contain another"));
        assert!(wrong("{model").contains("has no `}`"));
        assert!(wrong("{model}]").contains("has no `[`"));
    }

    #[test]
    fn the_default_shows_every_figure_that_people_ask_for() {
        let template = Template::parse(Template::DEFAULT).unwrap();
        for field in [Field::Model, Field::Context, Field::Cost, Field::Today, Field::Limits] {
            assert!(template.has(field), "{field:?}");
        }
    }
}
