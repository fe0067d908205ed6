//! The runner's own log, on standard error.

use std::io::{self, IsTerminal, Write};

use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, layer::SubscriberExt, reload};

use crate::{
    cli::plain,
    config::{Config, LogFormat},
};

/// Standard error as the log sees it: an event comes as one write. Who reads it may have gone, or its disk
/// may be full: then a line is lost, and no job.
struct Unfailing {
    to: io::Stderr,
    format: LogFormat,
    /// Whether escapes of the log's own are in it.
    ansi: bool,
}

impl Write for Unfailing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = match self.format {
            LogFormat::Text => self.to.write_all(one_line(bytes, self.ansi).as_bytes()),
            // JSON has its own escapes.
            LogFormat::Json => self.to.write_all(bytes),
        };
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An event as one line, whatever callers and guests wrote into it: ends of lines and orders to a terminal
/// are written out. With `ansi` escapes stay, which by then are the log's own.
fn one_line(event: &[u8], ansi: bool) -> String {
    let text = String::from_utf8_lossy(event);
    let (body, end) = match text.strip_suffix('\n') {
        Some(body) => (body, "\n"),
        None => (&*text, ""),
    };
    let mut line = match ansi {
        false => plain(body).into_owned(),
        true => {
            let parts: Vec<_> = body.split('\u{1b}').map(plain).collect();
            parts.join("\u{1b}")
        }
    };
    line.push_str(end);
    line
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
    let format = config.log.format;
    let ansi = io::stderr().is_terminal() && format == LogFormat::Text;
    let to = move || Unfailing {
        to: io::stderr(),
        format,
        ansi,
    };
    let lines = fmt::layer().log_internal_errors(false).with_writer(to);
    let lines = match format {
        LogFormat::Text => lines.with_target(false).with_ansi(ansi).boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    let log = tracing_subscriber::registry().with(filter).with(lines);
    let set = tracing::subscriber::set_global_default(log);
    set.map_err(|error| anyhow::anyhow!("cannot write the log: {error}"))?;
    Ok(LogLevel((!is_fixed).then_some(level)))
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn an_event_is_one_line_whatever_is_in_it() {
        let event = "INFO a\r\nb\u{0}\u{2028}\u{1b}[31mc\n".as_bytes();
        let plain = "INFO a\\r\\nb\\u{0}\\u{2028}\\u{1b}[31mc\n";
        assert_eq!(one_line(event, false), plain);
        assert_eq!(one_line(event, true), plain.replace("\\u{1b}", "\u{1b}"));
        assert_eq!(one_line(b"\xff\n", false), "\u{fffd}\n");
    }
}
