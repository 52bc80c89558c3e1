//! The program as its users see it: whole logs in, whole reports out.

#![expect(
    clippy::unwrap_used,
    reason = "the helpers of tests are tests too, and clippy only knows those with an attribute"
)]

mod archive;
mod attribution;
mod broken;
mod budget;
mod cache;
mod ccusage;
mod ci;
mod cli;
mod commands;
#[cfg(unix)]
mod completions;
mod config;
mod context;
mod contract;
mod control;
mod diff;
mod doctor;
mod explain;
mod export;
#[cfg(unix)]
mod faults;
mod follow;
mod forecast;
mod foreign;
mod formats;
mod gates;
mod headline;
#[cfg(unix)]
mod hints;
mod hooks;
mod html;
mod kinds;
mod ledger;
#[cfg(unix)]
mod load;
mod overview;
#[cfg(unix)]
mod packaging;
mod pages;
mod parquet;
mod permission;
mod permissions;
mod plain;
mod printed;
mod privacy;
mod prompts;
mod questions;
#[cfg(unix)]
mod reasons;
mod recordings;
mod redact;
mod reports;
#[cfg(target_os = "linux")]
mod resources;
mod run;
mod schema;
mod screens;
mod search;
mod seeds;
mod shapes;
mod show;
mod sources;
mod statusline;
#[cfg(unix)]
mod stdin;
mod stories;
mod support;
mod tee;
#[cfg(unix)]
mod terminal;
mod time;
mod trace;
#[cfg(target_os = "linux")]
mod trust;
