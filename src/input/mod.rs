//! Finds logs, reads them and splits them into records.
//!
//! This is the only module that opens logs. It knows where a record begins and ends, not what it means.

pub mod archive;
mod buffer;
pub mod chain;
mod copies;
mod find;
mod growth;
mod gzip;
mod open;
mod pipe;
mod place;
mod read;
mod relay;
mod shape;
mod split;
mod validator;

pub use find::{Environment, FindError, Origin, Roots, Search, Source, find, find_changed};
pub use growth::{Fingerprint, FollowMode, Stamp, complete_lines, folder_modified, follow_mode};
pub use open::{Bytes, LEAN_MAGIC, open_regular};
pub use pipe::Stop;
pub use place::{Place, SourceId};
pub use read::{Amount, CHUNK_HEAD, ChunkKind, Limits, Range, Sink, read_all, shape_of};
#[cfg(fuzzing)]
#[doc(hidden)]
pub use relay::check_spool;
pub use relay::{FailedOutlet, Outlet, Relay};
pub use shape::{Shape, first_value};
pub use split::{Piece, Splitter};
pub use validator::{Validation, Validator};
