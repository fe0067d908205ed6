//! Being the compiler: what the child process does between its start and its end.

use std::{
    fs,
    io::{self, Read, Write},
    process::ExitCode,
};

use rustix::process::{
    Resource, Rlimit, Signal, getppid, nice, set_parent_process_death_signal, setrlimit,
};

use super::child::{BESIDE_JOBS, REFUSED};
use crate::{plugin::sandbox::engines, processors};

/// Address space beside what may be resident: the program, its threads' stacks, and what its
/// allocator sets aside without touching it.
const ASIDE: u64 = 3 << 30;

/// Read a component from standard input and write its native code to standard output. `memory` in
/// bytes and `seconds` are bounds of the system's own, behind those that the parent watches; without
/// that parent nothing is done.
#[must_use]
pub fn compile_as_child(memory: u64, seconds: u64, parent: u32, parallel: bool) -> ExitCode {
    confine(memory, seconds, parallel);
    // It may have gone before it was agreed to go with it.
    let lives = getppid().is_some_and(|pid| pid.as_raw_pid().cast_unsigned() == parent);
    let done = match lives {
        true => compile(parallel),
        false => Err("nobody waits for the code".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            // Nobody is there to be told when this fails.
            let _ = io::stderr().write_all(text.as_bytes());
            ExitCode::from(REFUSED)
        }
    }
}

fn compile(parallel: bool) -> Result<(), String> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|error| format!("the component cannot be read: {error}"))?;
    let engine = engines::compile_only(parallel)?;
    let code = engine
        .precompile_component(&bytes)
        .map_err(|error| format!("{error:#}"))?;
    let mut out = io::stdout().lock();
    out.write_all(&code)
        .and_then(|()| out.flush())
        .map_err(|error| format!("the code cannot be written: {error}"))
}

/// Give up what a compiler has no use for. Each is a second wall: when one cannot be had, the
/// parent's watch still stands.
fn confine(memory: u64, seconds: u64, parallel: bool) {
    // Rather this than the runner, when the machine has no memory left.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    if !parallel {
        // Jobs run beside it.
        let _ = nice(BESIDE_JOBS);
    }
    let cores = processors::count() as u64;
    for (resource, bound) in [
        (Resource::Core, 0),
        (
            Resource::Cpu,
            seconds.saturating_mul(cores).saturating_add(1),
        ),
        (Resource::As, memory.saturating_mul(2).saturating_add(ASIDE)),
        (Resource::Nofile, 64),
    ] {
        let limit = Rlimit {
            current: Some(bound),
            // The soft bound of processor time is a signal that says so, the hard one is not.
            maximum: Some(bound.saturating_add(1)),
        };
        let _ = setrlimit(resource, limit);
    }
}
