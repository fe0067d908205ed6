//! The slots of schedules: by a table, against a count of every minute, and what is refused.

mod cases;
mod hostile;
mod minutes;
mod plan;
mod refused;
mod shown;
