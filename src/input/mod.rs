//! Bytes: the only module that opens files. It knows where records begin and end, not what they mean.

mod buffer;
mod cut;
mod find;
mod grammar;
mod growth;
mod gzip;
mod open;
mod pipe;
mod place;
mod read;
mod relay;
mod shape;

pub use cut::{Cutter, Found};
pub use find::{Environment, Missing, Origin, Search, Source, Wanted, find};
pub use grammar::{Grammar, Step};
pub use growth::{Growth, Mark, Stamp, folder_time, grown, growth};
pub use open::{Bytes, open_regular};
pub use pipe::Stop;
pub use place::{Place, SourceId};
pub use read::{Amount, Feed, Limits, Range, read_all, shape_of};
#[cfg(fuzzing)]
#[doc(hidden)]
pub use relay::spool_keeps;
pub use relay::{Lost, Outlet, Relay};
pub use shape::{Shape, first_value};
