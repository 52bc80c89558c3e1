//! What the model asked people, and what became of it.

use std::collections::HashMap;

use serde_json::Value;

use crate::{
    event::{
        NO_SUCH_TOOL,
        trace::{QUESTION_TOOL, Request, Trace, Verdict},
    },
    facts::{
        Name,
        ledger::{Call, Context, End, Ledger},
    },
    measure::Millis,
};

names! {
    /// What became of a question.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Fate {
        /// It was answered.
        Answered = "answered",
        /// The call was refused.
        Denied = "denied",
        /// No answer was seen, or others of the same call were answered.
        Unanswered = "unanswered",
        /// The tool does not exist in this mode, so nobody was asked.
        NotAvailable = "not available",
        /// The call failed.
        Error = "error",
    }
}

/// One question. A call asks up to four.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// When and where it was asked.
    pub context: Context,
    /// Id of the call.
    pub call: Option<Name>,
    /// Its short label.
    pub header: Option<String>,
    /// Its words.
    pub question: Option<String>,
    /// The labels to choose from.
    pub options: Vec<String>,
    /// Whether several may be chosen.
    pub multi_select: Option<bool>,
    /// What was chosen or written.
    pub answer: Option<String>,
    /// What became of it.
    pub fate: Fate,
    /// Time from the question to what became of it.
    pub wait: Option<Millis>,
}

/// Every question, in the order they stand.
pub fn questions(ledger: &Ledger) -> Vec<Question> {
    let calls = ledger.calls.iter().filter(|call| call.tool == QUESTION_TOOL).map(Asked::of);
    let mut told = Told::default();
    calls.for_each(|asked| told.ask(asked));
    ledger.traces.iter().for_each(|row| told.read(&row.context, &row.trace));
    for (request, denied, answers) in std::mem::take(&mut told.replies) {
        let Some(&call) = told.requests.get(request) else { continue };
        if denied {
            told.refused.push(Name::clone(call));
        }
        if let Some(answers) = answers {
            told.give(call, answers);
        }
    }
    let mut questions: Vec<Question> = told.asked.iter().flat_map(|asked| told.questions(asked)).collect();
    questions.sort_by_key(|question| question.context.location);
    questions
}

/// JSON text opened; `null` if there is none.
fn opened(json: Option<&str>) -> Value {
    json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}

/// A string that is not empty.
fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// A call that asks.
struct Asked {
    id: Option<Name>,
    context: Context,
    input: Value,
    output: Value,
    end: End,
    wait: Option<Millis>,
}

impl Asked {
    fn of(call: &Call) -> Self {
        Self {
            id: call.id.clone(),
            context: call.context.clone(),
            input: opened(call.input_text.as_deref()),
            output: opened(call.output_text.as_deref()),
            end: call.end,
            wait: call.latency,
        }
    }

    /// A call of which only another record tells: a request of the control protocol, or the list of what was refused.
    fn told(id: &Name, context: &Context, input: Option<&str>, end: End) -> Self {
        let (id, context) = (Some(Name::clone(id)), context.clone());
        Self { id, context, input: opened(input), output: Value::Null, end, wait: None }
    }
}

#[derive(Default)]
struct Told<'l> {
    asked: Vec<Asked>,
    /// Where each call stands in that list.
    calls: HashMap<Name, usize>,
    /// What was answered, by call: the first that tells it as a field, before any text.
    given: HashMap<Name, Value>,
    /// The call that each request of the control protocol asks about.
    requests: HashMap<&'l Name, &'l Name>,
    /// What a host answered to requests, and whether it refused: it may stand before them, in another log.
    replies: Vec<(&'l Name, bool, Option<&'l Name>)>,
    /// Calls that a host refused.
    refused: Vec<Name>,
}

impl<'l> Told<'l> {
    /// Each call once.
    fn ask(&mut self, asked: Asked) {
        if let Some(id) = &asked.id {
            if self.calls.contains_key(id) {
                return;
            }
            self.calls.insert(Name::clone(id), self.asked.len());
        }
        self.asked.push(asked);
    }

    fn read(&mut self, context: &Context, trace: &'l Trace<Name>) {
        match trace {
            Trace::Given(told) => self.give(&told.call, &told.answers),
            Trace::Request(told) => self.request(context, told),
            Trace::Response(told) => {
                self.replies.push((&told.id, told.verdict == Verdict::Deny, told.given.as_ref()));
            }
            Trace::Asked(told) => {
                self.ask(Asked::told(&told.call, context, told.input.as_deref(), End::Denied));
            }
            _ => {}
        }
    }

    fn request(&mut self, context: &Context, told: &'l Request<Name>) {
        let is_question =
            told.subtype.as_deref() == Some("can_use_tool") && told.tool.as_deref() == Some(QUESTION_TOOL);
        let Some(call) = told.call.as_ref().filter(|_| is_question) else { return };
        self.requests.insert(&told.id, call);
        self.ask(Asked::told(call, context, told.questions.as_deref(), End::Open));
    }

    fn give(&mut self, call: &Name, answers: &str) {
        self.given.entry(Name::clone(call)).or_insert_with(|| opened(Some(answers)));
    }

    /// The questions of a call; one without words if its input cannot be read.
    fn questions(&self, asked: &Asked) -> Vec<Question> {
        let given = asked.id.as_ref().and_then(|id| self.given.get(id));
        let refused = asked.id.as_ref().is_some_and(|id| self.refused.contains(id));
        let end = if refused && asked.end == End::Open { End::Denied } else { asked.end };
        let unread = [Value::Null];
        let all = asked.input["questions"].as_array().map_or(&unread[..], Vec::as_slice);
        let all = if all.is_empty() { &unread[..] } else { all };
        let one = |value: &Value| {
            let (answer, fate) = fate(end, given, &asked.output, value, all.len() == 1);
            let options = value["options"].as_array().into_iter().flatten();
            Question {
                context: asked.context.clone(),
                call: asked.id.clone(),
                header: text(&value["header"]).map(str::to_owned),
                question: text(&value["question"]).map(str::to_owned),
                // A label is what is asked for; a plain string is one too.
                options: options
                    .filter_map(|option| text(&option["label"]).or(text(option)))
                    .map(str::to_owned)
                    .collect(),
                multi_select: value["multiSelect"].as_bool(),
                answer,
                fate,
                wait: asked.wait,
            }
        };
        all.iter().map(one).collect()
    }
}

/// The answer to a question, and what became of it.
fn fate(
    end: End,
    given: Option<&Value>,
    output: &Value,
    question: &Value,
    alone: bool,
) -> (Option<String>, Fate) {
    let said = words(output);
    match end {
        End::Denied => return (None, Fate::Denied),
        End::Error if said.contains(NO_SUCH_TOOL) => return (None, Fate::NotAvailable),
        End::Error => return (None, Fate::Error),
        End::Open | End::Ok => {}
    }
    let said = Value::String(said);
    let answer = match given {
        Some(given) => answer_in(given, question, alone),
        None => answer_in(&said, question, alone),
    };
    // Words that answer several questions at once, in no form that says which.
    let together =
        given.unwrap_or(&said).as_str().is_some_and(|said| !said.is_empty() && !said.contains("\"=\""));
    let fate = if answer.is_some() || together { Fate::Answered } else { Fate::Unanswered };
    (answer, fate)
}

/// The answer to a question: by its words or its header, or as the CLI writes it for the model. Words that answer a
/// single question are its answer.
fn answer_in(given: &Value, question: &Value, alone: bool) -> Option<String> {
    let keys = ["question", "header"].map(|key| text(&question[key]));
    let keys = keys.into_iter().flatten();
    match given {
        Value::Object(members) => {
            let answers = members.get("answers").and_then(Value::as_object).unwrap_or(members);
            keys.filter_map(|key| answers.get(key)).find_map(choice)
        }
        Value::String(said) => match serde_json::from_str(said) {
            Ok(inner @ Value::Object(_)) => answer_in(&inner, question, alone),
            _ if said.contains("\"=\"") => keys.filter_map(|key| written(said, key)).next(),
            _ if alone => choice(given),
            _ => None,
        },
        _ if alone => choice(given),
        _ => None,
    }
}

/// What was chosen: a label, labels with commas between them, or a list.
fn choice(value: &Value) -> Option<String> {
    match value {
        Value::Array(all) => {
            let all: Vec<String> = all.iter().filter_map(choice).collect();
            (!all.is_empty()).then(|| all.join(", "))
        }
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => text(value).map(str::to_owned),
    }
}

/// What may stand after the quote that ends an answer: the sentence goes on, or the person added something.
const AFTER: &[&str] = &["\". You can now", "\" user notes:", "\" selected preview:"];

/// `"question"="answer"`, as 2.0 and later tell the model. An answer may hold quotes: it ends before the next pair, or
/// where the sentence goes on.
fn written(said: &str, question: &str) -> Option<String> {
    let start = format!("\"{question}\"=\"");
    let rest = &said[said.find(&start)? + start.len()..];
    let next = rest.find("\", \"").filter(|end| rest[end + 3..].contains("\"=\""));
    let ends = AFTER.iter().filter_map(|end| rest.find(end));
    let end = ends.chain(next).min().or_else(|| rest.rfind('"')).unwrap_or(rest.len());
    Some(rest[..end].to_owned()).filter(|answer| !answer.is_empty())
}

/// The text of an answer, which is a string or blocks of which some are texts.
fn words(content: &Value) -> String {
    match content {
        Value::String(said) => said.clone(),
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_found_in_every_form() {
        let question = json!({"question": "Which one?", "header": "One"});
        let find = |given: Value| answer_in(&given, &question, true);
        assert_eq!(find(json!({"Which one?": "Go"})).as_deref(), Some("Go"));
        assert_eq!(find(json!({"answers": {"One": ["Go", "Rust"]}})).as_deref(), Some("Go, Rust"));
        assert_eq!(find(json!("{\"Which one?\":\"Go\"}")).as_deref(), Some("Go"));
        assert_eq!(find(json!("Neither")).as_deref(), Some("Neither"));
        assert_eq!(find(json!({"Another?": "Go"})), None);
        assert_eq!(find(json!("")), None);
    }

    #[test]
    fn an_answer_in_words_ends_where_the_next_begins() {
        let said = "User has answered your questions: \"A?\"=\"one\", \"B?\"=\"say \"two\", or so\" user notes: soon, \"D?\"=\"the \"cart\" one\". You can now go on.";
        assert_eq!(written(said, "A?").as_deref(), Some("one"));
        assert_eq!(written(said, "B?").as_deref(), Some("say \"two\", or so"));
        assert_eq!(written(said, "D?").as_deref(), Some("the \"cart\" one"));
        assert_eq!(written(said, "C?"), None);
        assert_eq!(written("\"A?\"=\"one\"", "A?").as_deref(), Some("one"));
    }
}
