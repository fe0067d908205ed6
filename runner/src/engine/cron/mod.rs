//! Schedules: what each of them is to do, and the clockwork that gives their slots their jobs.

mod book;
mod clockwork;
mod entry;

pub use book::{CronBook, ReadEntry};
pub(super) use clockwork::Clockwork;
pub use entry::{CRON_HEADER, CronEntry, CronOverlap, SLOT_HEADER};
