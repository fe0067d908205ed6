//! Jobs, queues, letters, schedules and plugins as JSON, both ways: the shapes of `-o json` and of HTTP.
//!
//! Knows nothing of who reads them or where they come from.

pub(crate) mod base64;
pub(crate) mod batch;
pub(crate) mod chain;
pub(crate) mod cron;
pub(crate) mod dead;
pub(crate) mod letter;
pub(crate) mod new_job;
mod plugins;
pub(crate) mod shapes;
pub(crate) mod sound;
pub(crate) mod when;
