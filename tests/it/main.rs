//! The program as its users see it: whole logs in, whole reports out.

#![expect(
    clippy::unwrap_used,
    reason = "the helpers of tests are tests too, and clippy only knows those with an attribute"
)]

mod broken;
mod cli;
mod export;
mod kinds;
mod ledger;
mod plain;
mod recordings;
mod screens;
mod shapes;
mod sources;
mod stories;
mod support;
