//! The program as its users see it: whole logs in, whole reports out.

mod broken;
mod cli;
mod kinds;
mod plain;
mod recordings;
mod screens;
mod shapes;
mod sources;
mod support;
