//! What a Claude Code run really did: reads its JSON logs and accounts for every line.
//!
//! > Bytes become lines, lines become events, events become facts, facts become reports, reports become text.
//!
//! Each arrow is one module, and nothing points backwards:
//!
//! * [`input`] finds and reads sources, and cuts them into records;
//! * [`event`] judges one record and borrows what facts need of it;
//! * [`facts`] owns, merges in any order, and settles at the end;
//! * [`report`] sorts, groups and cuts, without a word about looks;
//! * [`render`] writes, without a word about facts;
//! * [`scan`] conducts the first three in parallel; [`measure`] has the words with units;
//! * [`redact`] writes a log without its texts, so that it can be shown to others;
//! * [`permission`] is a model of Claude Code's permission system: rules, modes, and what they would decide.
//!
//! ```
//! use ccstat::{event, facts::Facts, input::{Place, SourceId}, measure::Prices};
//!
//! let line = br#"{"type":"result","subtype":"success","session_id":"s","num_turns":1,"total_cost_usd":0.0056}"#;
//! let event = event::decode(line).expect("a record");
//! let mut facts = Facts::default();
//! facts.absorb(Place { source: SourceId(0), offset: 0, unit: 0, line: 0 }, &event);
//! let account = facts.settle(&Prices::built_in());
//! assert_eq!(account.turns.ok, 1);
//! assert_eq!(account.cost.total.map(|usd| usd.to_string()).as_deref(), Some("0.0056"));
//! ```

mod api;
#[cfg(feature = "cli")]
pub mod cli;
mod error;
pub mod event;
pub mod facts;
pub mod input;
pub mod measure;
pub mod permission;
pub mod redact;
pub mod render;
pub mod report;
pub mod scan;

pub use api::{Cell, Column, Logs, Report, Row, Stream, Summary, Unreadable, report_names};
pub use error::{Error, ExitStatus};
pub use render::Format;
