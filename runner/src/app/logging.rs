//! The runner's own log, on standard error.

use std::io::{self, IsTerminal, Write};

use tracing_subscriber::{EnvFilter, fmt};

use crate::config::{Config, LogFormat};

/// Standard error as the log sees it. Who reads it may have gone, or its disk may be full: then a
/// line is lost, and no job.
struct Unfailing(io::Stderr);

impl Write for Unfailing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Write the log as the settings say. What `SANDHOG_LOG` says comes first.
pub(super) fn start(config: &Config) -> anyhow::Result<()> {
    let filter = match std::env::var("SANDHOG_LOG") {
        Ok(directives) if !directives.is_empty() => EnvFilter::try_new(&directives)
            .map_err(|error| anyhow::anyhow!("SANDHOG_LOG is {directives:?}: {error}"))?,
        _ => EnvFilter::new(&config.log.level),
    };
    let log = fmt::Subscriber::builder()
        .with_env_filter(filter)
        .log_internal_errors(false)
        .with_writer(|| Unfailing(io::stderr()));
    let set = match config.log.format {
        LogFormat::Text => {
            let log = log.with_target(false).with_ansi(io::stderr().is_terminal());
            tracing::subscriber::set_global_default(log.finish())
        }
        LogFormat::Json => tracing::subscriber::set_global_default(log.json().finish()),
    };
    set.map_err(|error| anyhow::anyhow!("cannot write the log: {error}"))
}
