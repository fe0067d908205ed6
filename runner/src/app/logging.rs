//! The runner's own log, on standard error.

use std::io::IsTerminal;

use tracing_subscriber::{EnvFilter, fmt};

use crate::config::{Config, LogFormat};

/// Write the log as the settings say. What `SANDHOG_LOG` says comes first.
pub(super) fn start(config: &Config) -> anyhow::Result<()> {
    let filter = match std::env::var("SANDHOG_LOG") {
        Ok(directives) if !directives.is_empty() => EnvFilter::try_new(&directives)
            .map_err(|error| anyhow::anyhow!("SANDHOG_LOG is {directives:?}: {error}"))?,
        _ => EnvFilter::new(&config.log.level),
    };
    let log = fmt::Subscriber::builder()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let set = match config.log.format {
        LogFormat::Text => {
            let log = log
                .with_target(false)
                .with_ansi(std::io::stderr().is_terminal());
            tracing::subscriber::set_global_default(log.finish())
        }
        LogFormat::Json => tracing::subscriber::set_global_default(log.json().finish()),
    };
    set.map_err(|error| anyhow::anyhow!("cannot write the log: {error}"))
}
