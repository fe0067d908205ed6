//! The runner's own log, on standard error.

use std::io::{self, IsTerminal, Write};

use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, layer::SubscriberExt, reload};

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

/// Changes the least level that is written.
pub(super) struct LogLevel(Option<reload::Handle<EnvFilter, Registry>>);

impl LogLevel {
    /// Write what is of this level from now on, unless `SANDHOG_LOG` says something else.
    pub(super) fn set(&self, level: &str) {
        let changed = self
            .0
            .as_ref()
            .map(|held| held.reload(EnvFilter::new(level)));
        if let Some(Err(error)) = changed {
            tracing::warn!(%error, "the log's level stays as it was");
        }
    }
}

/// Write the log as the settings say. What `SANDHOG_LOG` says comes first.
pub(super) fn start(config: &Config) -> anyhow::Result<LogLevel> {
    let (filter, is_fixed) = match std::env::var("SANDHOG_LOG") {
        Ok(directives) if !directives.is_empty() => {
            let filter = EnvFilter::try_new(&directives)
                .map_err(|error| anyhow::anyhow!("SANDHOG_LOG is {directives:?}: {error}"))?;
            (filter, true)
        }
        _ => (EnvFilter::new(&config.log.level), false),
    };
    let (filter, level) = reload::Layer::new(filter);
    let lines = fmt::layer()
        .log_internal_errors(false)
        .with_writer(|| Unfailing(io::stderr()));
    let lines = match config.log.format {
        LogFormat::Text => lines
            .with_target(false)
            .with_ansi(io::stderr().is_terminal())
            .boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    let log = tracing_subscriber::registry().with(filter).with(lines);
    let set = tracing::subscriber::set_global_default(log);
    set.map_err(|error| anyhow::anyhow!("cannot write the log: {error}"))?;
    Ok(LogLevel((!is_fixed).then_some(level)))
}
