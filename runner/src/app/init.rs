//! The first process of a container. It has two duties that no other process has: to take the exit status of
//! every process whose parent is gone, and to pass on the signals by which the container is steered. A runner
//! cannot see to that beside its own children, so it becomes a child.

use std::{env, process::Command, process::ExitCode};

use anyhow::Context;
use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait},
};
use tokio::signal::unix::{SignalKind, signal};

/// What is passed on.
const PASSED: [Signal; 6] = [
    Signal::TERM,
    Signal::INT,
    Signal::HUP,
    Signal::QUIT,
    Signal::USR1,
    Signal::TSTP,
];

/// Whether this process is the first of its container.
pub(super) fn is_first() -> bool {
    std::process::id() == 1
}

/// Be the first process: run this very command again as a child, and end as it ends.
pub(super) fn run() -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot watch over the runner")?;
    runtime.block_on(watch_over())
}

async fn watch_over() -> anyhow::Result<ExitCode> {
    let mut ends = signal(SignalKind::child()).context("cannot listen for ends")?;
    let mut told = Vec::new();
    for one in PASSED {
        let heard =
            signal(SignalKind::from_raw(one.as_raw())).context("cannot listen for signals")?;
        told.push((one, heard));
    }
    let program = env::current_exe().context("cannot find this program")?;
    let child = Command::new(program)
        .args(env::args_os().skip(1))
        .spawn()
        .context("cannot start the runner")?;
    let child = Pid::from_child(&child);
    for (one, mut heard) in told {
        tokio::spawn(async move {
            while heard.recv().await.is_some() {
                // It may have ended a moment ago.
                let _ = kill_process(child, one);
            }
        });
    }
    loop {
        // One signal may stand for several ends.
        while let Some((ended, status)) = next_end()? {
            if ended == child {
                return Ok(code(status));
            }
        }
        ends.recv().await;
    }
}

/// A child that ended, or an orphan.
fn next_end() -> anyhow::Result<Option<(Pid, WaitStatus)>> {
    match wait(WaitOptions::NOHANG) {
        Ok(ended) => Ok(ended),
        Err(Errno::CHILD | Errno::INTR) => Ok(None),
        Err(error) => Err(error).context("cannot wait for the runner"),
    }
}

/// As a shell has it: what the process said, or 128 and the signal that ended it.
fn code(status: WaitStatus) -> ExitCode {
    let said = status.exit_status();
    let killed = || status.terminating_signal().map(|signal| 128 + signal);
    let code = said.or_else(killed).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}
