//! The signals a runner minds.

use std::io::{self, IsTerminal};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// `TERM` and `INT`: the first asks for a stop, the second for a quick one. `HUP` asks for the settings
/// to be read again, or for a stop when it comes because the runner's terminal went away. `TSTP` asks
/// the workers to claim nothing more.
pub(super) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    quiet: Signal,
    /// Whether somebody sits at a terminal.
    had_terminal: bool,
}

/// What comes.
pub(super) enum Told {
    /// To stop, by the signal of this name.
    Stop(&'static str),
    /// To claim nothing more.
    Quiet,
    /// To read the settings again.
    Reload,
}

impl StopSignals {
    /// Listen from now on.
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
            quiet: signal(SignalKind::from_raw(rustix::process::Signal::TSTP.as_raw()))?,
            had_terminal: io::stdin().is_terminal(),
        })
    }

    /// The next signal that comes.
    pub(super) async fn any(&mut self) -> Told {
        tokio::select! {
            _ = self.terminate.recv() => Told::Stop("SIGTERM"),
            _ = self.interrupt.recv() => Told::Stop("SIGINT"),
            _ = self.hang_up.recv() => match self.had_terminal && !io::stdin().is_terminal() {
                true => Told::Stop("SIGHUP, and the terminal is gone"),
                false => Told::Reload,
            },
            _ = self.quiet.recv() => Told::Quiet,
        }
    }

    /// The name of the next signal that asks for a stop.
    pub(super) async fn next(&mut self) -> &'static str {
        loop {
            if let Told::Stop(name) = self.any().await {
                return name;
            }
        }
    }
}
