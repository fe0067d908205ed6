//! `log`: the attempt's own log.

use sandhog_model::LogLevel;

use crate::plugin::sandbox::{bindings::sandhog::job::log, state::State};

impl log::Host for State {
    fn log(&mut self, level: log::Level, message: String, fields: Vec<(String, String)>) {
        let level = match level {
            log::Level::Trace => LogLevel::Trace,
            log::Level::Debug => LogLevel::Debug,
            log::Level::Info => LogLevel::Info,
            log::Level::Warn => LogLevel::Warn,
            log::Level::Error => LogLevel::Error,
        };
        self.journal.log(level, &message, fields);
    }

    fn enabled(&mut self, _: log::Level) -> bool {
        // Every level is kept until the log limit; the reader chooses.
        true
    }
}
