//! When a schedule's next slot is: cron expressions with time zones. Pure: the time is an argument, the
//! rules of the zones are part of the program.
//!
//! A *slot* is an instant at which one job is to be enqueued. [`Schedule::next_after`] gives the first
//! slot after an instant, and does not depend on anything else: a restart, or a clock that was set, does
//! not move a slot. The syntax and what happens when clocks are set are described in `docs/cron.md`.

#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod days;
mod every;
mod field;
mod item;
mod parse;
mod pattern;
pub mod plan;
mod refused;
mod schedule;
mod zone;

pub use field::Field;
pub use jiff::{SignedDuration, Timestamp, civil::DateTime};
pub use refused::{Refused, Why};
pub use schedule::{Pass, Schedule, Slot};
pub use zone::{Change, UnknownZone, Zone};
