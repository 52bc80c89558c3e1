//! Questions of the model to people, and their answers.

use std::collections::HashMap;

use serde_json::Value;

pub(crate) use crate::event::trace::QUESTION_TOOL;
use crate::{
    event::{
        NO_SUCH_TOOL,
        trace::{Request, Trace, Verdict},
    },
    facts::{
        Name,
        ledger::{Call, Context, End, Ledger},
    },
    measure::Millis,
};

names! {
    /// The outcome of a question.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Fate {
        Answered = "answered",
        /// The call was denied.
        Denied = "denied",
        /// There is no answer, or only other questions of the same call were answered.
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
    /// Session, agent, time and location of the call.
    pub context: Context,
    /// Id of the call.
    pub call: Option<Name>,
    /// Its short label.
    pub header: Option<String>,
    /// Its text.
    pub question: Option<String>,
    /// The labels to choose from.
    pub options: Vec<String>,
    /// Whether several may be chosen.
    pub multi_select: Option<bool>,
    /// The chosen labels or the written text.
    pub answer: Option<String>,
    /// Its outcome.
    pub fate: Fate,
    /// Time from the question to its outcome.
    pub wait: Option<Millis>,
}

/// Returns all questions, in log order.
pub fn questions(ledger: &Ledger) -> Vec<Question> {
    let calls = ledger.calls.iter().filter(|call| call.tool == QUESTION_TOOL).map(QuestionCall::of);
    let mut collector = Collector::default();
    calls.for_each(|asked| collector.ask(asked));
    ledger.traces.iter().for_each(|row| collector.read(&row.context, &row.trace));
    for (request, denied, answers) in std::mem::take(&mut collector.replies) {
        let Some(&call) = collector.requests.get(request) else { continue };
        if denied {
            collector.refused.push(Name::clone(call));
        }
        if let Some(answers) = answers {
            collector.give(call, answers);
        }
    }
    let mut questions: Vec<Question> =
        collector.asked.iter().flat_map(|asked| collector.questions(asked)).collect();
    questions.sort_by_key(|question| question.context.location);
    questions
}

/// Parses JSON text; `null` if there is none.
fn opened(json: Option<&str>) -> Value {
    json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}

/// Returns a string that is not empty.
fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// A call of the question tool.
struct QuestionCall {
    id: Option<Name>,
    context: Context,
    input: Value,
    output: Value,
    end: End,
    wait: Option<Millis>,
}

impl QuestionCall {
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

    /// Creates a call that only another record shows: a request of the control protocol, or the list of
    /// denied calls.
    fn from_record(id: &Name, context: &Context, input: Option<&str>, end: End) -> Self {
        let (id, context) = (Some(Name::clone(id)), context.clone());
        Self { id, context, input: opened(input), output: Value::Null, end, wait: None }
    }
}

#[derive(Default)]
struct Collector<'l> {
    asked: Vec<QuestionCall>,
    /// Index of each call in `asked`.
    calls: HashMap<Name, usize>,
    /// Answers by call. An answer in a field is preferred to text.
    given: HashMap<Name, Value>,
    /// The call that each request of the control protocol asks about.
    requests: HashMap<&'l Name, &'l Name>,
    /// Responses of a host to requests, and whether it denied. They may be before the requests, in another
    /// log.
    replies: Vec<(&'l Name, bool, Option<&'l Name>)>,
    /// Calls that a host denied.
    refused: Vec<Name>,
}

impl<'l> Collector<'l> {
    /// Adds a call, once.
    fn ask(&mut self, asked: QuestionCall) {
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
            Trace::GivenAnswers(decoded) => self.give(&decoded.call, &decoded.answers),
            Trace::Request(decoded) => self.request(context, decoded),
            Trace::Response(decoded) => {
                self.replies.push((&decoded.id, decoded.verdict == Verdict::Deny, decoded.given.as_ref()));
            }
            Trace::DeniedQuestion(decoded) => {
                self.ask(QuestionCall::from_record(
                    &decoded.call,
                    context,
                    decoded.input.as_deref(),
                    End::Denied,
                ));
            }
            _ => {}
        }
    }

    fn request(&mut self, context: &Context, decoded: &'l Request<Name>) {
        let is_question = decoded.subtype.as_deref() == Some("can_use_tool")
            && decoded.tool.as_deref() == Some(QUESTION_TOOL);
        let Some(call) = decoded.call.as_ref().filter(|_| is_question) else { return };
        self.requests.insert(&decoded.id, call);
        self.ask(QuestionCall::from_record(call, context, decoded.questions.as_deref(), End::Open));
    }

    fn give(&mut self, call: &Name, answers: &str) {
        self.given.entry(Name::clone(call)).or_insert_with(|| opened(Some(answers)));
    }

    /// Returns the questions of a call; one without text if its input cannot be parsed.
    fn questions(&self, asked: &QuestionCall) -> Vec<Question> {
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
                // An option is an object with a label, or a plain string.
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

/// Returns the answer to a question and its outcome.
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
    // Text that answers several questions at once, without saying which.
    let together =
        given.unwrap_or(&said).as_str().is_some_and(|said| !said.is_empty() && !said.contains("\"=\""));
    let fate = if answer.is_some() || together { Fate::Answered } else { Fate::Unanswered };
    (answer, fate)
}

/// Finds the answer to a question: by its text or its header, or in the sentence that the CLI writes for the
/// model. Other text is the answer if there is a single question.
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

/// Returns the choice: a label, several labels joined by commas, or a list.
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

/// Text that may follow the quote that ends an answer: the rest of the sentence, or notes of the person.
const AFTER: &[&str] = &["\". You can now", "\" user notes:", "\" selected preview:"];

/// Parses `"question"="answer"`, as 2.0 and later write it for the model. An answer may contain quotes: it
/// ends before the next pair, or before the rest of the sentence.
fn written(said: &str, question: &str) -> Option<String> {
    let start = format!("\"{question}\"=\"");
    let rest = &said[said.find(&start)? + start.len()..];
    let next = rest.find("\", \"").filter(|end| rest[end + 3..].contains("\"=\""));
    let ends = AFTER.iter().filter_map(|end| rest.find(end));
    let end = ends.chain(next).min().or_else(|| rest.rfind('"')).unwrap_or(rest.len());
    Some(rest[..end].to_owned()).filter(|answer| !answer.is_empty())
}

/// Returns the text of a result, which is a string or a list of blocks.
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
    fn an_answer_in_a_sentence_ends_before_the_next_pair() {
        let said = "User has answered your questions: \"A?\"=\"one\", \"B?\"=\"say \"two\", or so\" user notes: soon, \"D?\"=\"the \"cart\" one\". You can now go on.";
        assert_eq!(written(said, "A?").as_deref(), Some("one"));
        assert_eq!(written(said, "B?").as_deref(), Some("say \"two\", or so"));
        assert_eq!(written(said, "D?").as_deref(), Some("the \"cart\" one"));
        assert_eq!(written(said, "C?"), None);
        assert_eq!(written("\"A?\"=\"one\"", "A?").as_deref(), Some("one"));
    }
}
