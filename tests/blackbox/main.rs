//! The program from outside: what a user types and what comes of it, on real processes and files.

mod backup;
mod batches;
mod bulk;
mod call_off;
mod chains;
mod cli;
mod clock;
mod compile;
mod crash;
mod cron;
mod dead;
mod dry_run;
mod fixtures;
mod format;
mod happy;
mod hostile;
mod keys;
mod languages;
mod messages;
mod metrics;
mod offline;
mod owner;
mod plugin_new;
mod plugin_run;
mod producer;
mod quarantine;
mod queues;
mod reload;
mod retention;
mod retry;
mod schedules;
mod service;
mod settings;
mod signals;
mod space;
mod stops;
mod swap;
mod syscalls;
mod values;
mod verbs;
mod waiting;
mod web;
mod webhook;
mod workers;

/// The program under test.
pub(crate) const SANDHOG: &str = env!("CARGO_BIN_EXE_sandhog");
