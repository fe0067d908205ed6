//! The compiler in a process of its own, watched: whatever a component makes of it, the runner goes
//! on.
//!
//! The child is this same program. It gets the component on standard input and gives the code on
//! standard output, both memory that the two share; it knows no path and needs no file.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group, setpriority_pgrp};

use super::halt::Halt;
use crate::plugin::code::Draft;

/// The hidden verb that makes a process the compiler, and how it is told its limits.
pub const COMPILE_VERB: &str = "compile-component";
/// The child's exit code for a component that does not compile; the reason is on standard error.
pub(crate) const REFUSED: u8 = 10;
/// The priority of a compiler while jobs run, as `nice` counts.
pub(crate) const BESIDE_JOBS: i32 = 10;
/// Most bytes kept of what the child says.
const SAID: u64 = 4 << 10;
/// Between two looks at a child: short at first, as most are done soon.
const LOOKS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(10));

/// What one compilation may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileLimits {
    /// Wall time.
    pub timeout: Duration,
    /// Resident memory, in bytes.
    pub memory: u64,
}

impl Default for CompileLimits {
    fn default() -> Self {
        Self {
            // An interpreter of Python or JavaScript takes some 15 s of processor time, which a busy machine
            // of two cores gives it in minutes: what it is refused for would be remembered.
            timeout: Duration::from_secs(300),
            memory: 1 << 30,
        }
    }
}

/// Why there is no code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoCode {
    /// The component does not compile.
    Refused(String),
    /// The compiler broke.
    Crashed(String),
    /// It took longer than it may.
    Slow,
    /// It took more memory than it may.
    Large,
    /// It was asked to let go.
    Halted,
    /// There is no compiler to be had.
    Machine(String),
}

/// Ends at the latest at an instant, or when it is asked to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Until<'a> {
    pub(crate) halt: &'a Halt,
    pub(crate) at: Option<Instant>,
}

impl Until<'_> {
    pub(crate) fn is_over(&self) -> bool {
        self.halt.asked() || self.at.is_some_and(|at| Instant::now() >= at)
    }
}

/// The program to run as the compiler: this very file, even when another one has its name by now.
pub(crate) fn own_program() -> PathBuf {
    let own = Path::new("/proc/self/exe");
    match own.exists() {
        true => own.to_owned(),
        // Without /proc, the name it was started by is all there is.
        false => std::env::current_exe().unwrap_or_else(|_| own.to_owned()),
    }
}

/// A compilation under way in a child. It ends with this.
pub(crate) struct Compilation {
    watched: Watched,
    code: Draft,
    said: File,
}

/// How waiting for a compilation went.
pub(crate) enum Waited {
    /// There is code.
    Code(Draft),
    /// There will be none.
    Not(NoCode),
    /// It was not done by the instant up to which was waited, and goes on.
    Underway(Box<Compilation>),
}

impl Compilation {
    /// Begin to compile.
    pub(crate) fn begin(
        program: &Path,
        limits: &CompileLimits,
        parallel: bool,
        bytes: &[u8],
    ) -> Result<Self, NoCode> {
        let machine = |error: io::Error| NoCode::Machine(error.to_string());
        let mut component = shared(bytes).map_err(machine)?;
        component.rewind().map_err(machine)?;
        let said = Draft::new()
            .map_err(machine)?
            .file()
            .try_clone()
            .map_err(machine)?;
        let code = Draft::new().map_err(machine)?;
        let mut command = Command::new(program);
        command
            .arg0("sandhog")
            .arg(COMPILE_VERB)
            .arg(limits.memory.to_string())
            .arg(limits.timeout.as_secs().max(1).to_string())
            .arg(std::process::id().to_string())
            .args(parallel.then_some("--parallel"))
            .env_clear()
            .stdin(component)
            .stdout(code.file().try_clone().map_err(machine)?)
            .stderr(said.try_clone().map_err(machine)?);
        let watched = Watched::start(&mut command, limits).map_err(machine)?;
        Ok(Self {
            watched,
            code,
            said,
        })
    }

    /// Wait for its end.
    pub(crate) fn wait(mut self, until: Until<'_>) -> Waited {
        let status = match self.watched.wait(until) {
            Ok(Some(status)) => status,
            Ok(None) => return Waited::Underway(Box::new(self)),
            Err(why) => return Waited::Not(why),
        };
        if status.success() {
            return Waited::Code(self.code);
        }
        let mut text = String::new();
        let read = self.said.rewind();
        Waited::Not(
            match read.and_then(|()| (&self.said).take(SAID).read_to_string(&mut text)) {
                Ok(_) => told(status, text.trim()),
                Err(error) => NoCode::Machine(error.to_string()),
            },
        )
    }

    /// Let jobs go first from here on. A wish only: without it they share the cores.
    pub(crate) fn yield_to_jobs(&self) {
        let group = Pid::from_child(&self.watched.child);
        if let Err(error) = setpriority_pgrp(Some(group), BESIDE_JOBS) {
            tracing::debug!(%error, "the compiler keeps its priority");
        }
    }
}

/// Bytes in memory that a child can read as a file.
fn shared(bytes: &[u8]) -> io::Result<File> {
    let draft = Draft::new()?;
    let mut file = draft.file().try_clone()?;
    file.write_all(bytes)?;
    Ok(file)
}

/// A child within its limits. It ends with this, and all it started.
#[derive(Debug)]
struct Watched {
    child: Child,
    started: Instant,
    limits: CompileLimits,
    ended: bool,
}

impl Watched {
    fn start(command: &mut Command, limits: &CompileLimits) -> io::Result<Self> {
        // A group of its own: it ends with all it started, and a signal from a terminal is ours alone.
        let child = command.process_group(0).spawn()?;
        Ok(Self {
            child,
            started: Instant::now(),
            limits: limits.clone(),
            ended: false,
        })
    }

    /// Wait for its end, which is ours to set when it takes too much. `None`: not by the instant.
    fn wait(&mut self, until: Until<'_>) -> Result<Option<ExitStatus>, NoCode> {
        let mut pause = LOOKS.0;
        let why = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    self.ended = true;
                    return Ok(Some(status));
                }
                Ok(None) => {}
                Err(error) => break NoCode::Machine(error.to_string()),
            }
            if until.halt.asked() {
                break NoCode::Halted;
            }
            if self.started.elapsed() > self.limits.timeout {
                break NoCode::Slow;
            }
            if resident(&self.child).is_some_and(|bytes| bytes > self.limits.memory) {
                break NoCode::Large;
            }
            if until.is_over() {
                return Ok(None);
            }
            thread::sleep(pause);
            pause = (pause * 2).min(LOOKS.1);
        };
        self.end();
        Err(why)
    }

    fn end(&mut self) {
        if !self.ended {
            self.ended = true;
            end(&mut self.child);
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.end();
    }
}

/// Resident bytes of a child; `None` once it is gone.
fn resident(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

/// End a child with everything it started, and wait until it is gone.
fn end(child: &mut Child) {
    if let Err(error) = kill_process_group(Pid::from_child(child), Signal::KILL) {
        tracing::debug!(%error, "the compiler's group was gone");
    }
    if let Err(error) = child.kill().and_then(|()| child.wait()) {
        tracing::warn!(%error, "cannot wait for the compiler's end");
    }
}

/// What a child's end means.
fn told(status: ExitStatus, said: &str) -> NoCode {
    if status.code() == Some(i32::from(REFUSED)) {
        return NoCode::Refused(said.to_owned());
    }
    if said.contains("memory allocation of") {
        return NoCode::Large;
    }
    let line = said.lines().next().unwrap_or_default();
    NoCode::Crashed(match (status.signal(), status.code()) {
        (Some(9), _) => {
            "it was killed, most likely because the machine had no memory left".to_owned()
        }
        (Some(24), _) => return NoCode::Slow,
        (Some(signal), _) if line.is_empty() => format!("signal {signal}"),
        (Some(signal), _) => format!("signal {signal}: {line}"),
        (None, _) if !line.is_empty() => line.to_owned(),
        (None, code) => format!("it ended with {}", code.unwrap_or(-1)),
    })
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::PermissionsExt, process::Stdio};

    use super::*;

    fn limits(timeout_ms: u64, memory: u64) -> CompileLimits {
        CompileLimits {
            timeout: Duration::from_millis(timeout_ms),
            memory,
        }
    }

    fn run(script: &str, limits: &CompileLimits) -> Result<ExitStatus, NoCode> {
        let halt = Halt::default();
        let until = Until {
            halt: &halt,
            at: None,
        };
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut watched = Watched::start(&mut command, limits).unwrap();
        watched.wait(until).map(Option::unwrap)
    }

    /// Whether a process is there and not a zombie.
    fn lives(pid: &str) -> bool {
        fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[test]
    fn a_child_that_is_done_in_time_ends_by_itself() {
        let status = run("exit 7", &limits(20_000, 1 << 30)).unwrap();
        assert_eq!(status.code(), Some(7));
    }

    #[test]
    fn a_child_that_takes_too_long_ends_with_all_it_started() {
        let dir = tempfile::tempdir().unwrap();
        let pid = dir.path().join("pid");
        let script = format!("sleep 3600 & echo $! > {}; wait", pid.display());
        let started = Instant::now();
        assert_eq!(run(&script, &limits(300, 1 << 30)), Err(NoCode::Slow));
        assert!(started.elapsed() < Duration::from_secs(20));
        let pid = fs::read_to_string(pid).unwrap();
        sandhog_kit::wait::until("the grandchild to be gone", Duration::from_secs(20), || {
            (!lives(pid.trim())).then_some(())
        });
    }

    #[test]
    fn a_child_that_takes_too_much_memory_is_ended() {
        // A shell's variable, doubled without an end.
        let script = "x=0123456789abcdef; while :; do x=$x$x; done";
        assert_eq!(run(script, &limits(60_000, 32 << 20)), Err(NoCode::Large));
    }

    #[test]
    fn a_halt_ends_a_child_and_an_instant_does_not() {
        let halt = Halt::default();
        let mut command = Command::new("sleep");
        command.arg("3600");
        let mut watched = Watched::start(&mut command, &limits(60_000, 1 << 30)).unwrap();
        let pid = watched.child.id().to_string();
        let at = Some(Instant::now());
        assert_eq!(watched.wait(Until { halt: &halt, at }), Ok(None));
        assert!(lives(&pid));
        halt.stop();
        let until = Until {
            halt: &halt,
            at: None,
        };
        assert_eq!(watched.wait(until), Err(NoCode::Halted));
        assert!(!lives(&pid));
    }

    #[test]
    fn a_compilation_goes_on_where_it_was_and_ends_when_it_is_let_go() {
        let dir = tempfile::tempdir().unwrap();
        let (program, go) = (dir.path().join("compiler"), dir.path().join("go"));
        let script = format!(
            "#!/bin/sh\nread component\nwhile ! [ -e {} ]; do sleep 0.01; done\necho code of $component\n",
            go.display()
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        let halt = Halt::default();
        // Not at once, when another test's process was started while the script was open for writing.
        let begin = || {
            sandhog_kit::wait::until("the script to be run", Duration::from_secs(20), || {
                Compilation::begin(&program, &limits(60_000, 1 << 30), false, b"it\n").ok()
            })
        };
        let until = |at| Until { halt: &halt, at };
        let Waited::Underway(compilation) = begin().wait(until(Some(Instant::now()))) else {
            panic!("it was done before it may have been");
        };
        let pid = compilation.watched.child.id().to_string();
        compilation.yield_to_jobs();
        let other = begin();
        let other_pid = other.watched.child.id().to_string();
        drop(other);
        assert!(lives(&pid) && !lives(&other_pid));
        fs::write(&go, "").unwrap();
        let Waited::Code(code) = compilation.wait(until(None)) else {
            panic!("it gave no code");
        };
        let mut text = String::new();
        let mut file = code.file().try_clone().unwrap();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "code of it\n");
    }

    #[test]
    fn each_end_has_its_meaning() {
        let of = |raw: i32, said: &str| told(ExitStatus::from_raw(raw), said);
        let code = |code: i32| code << 8;
        assert_eq!(of(code(10), "no"), NoCode::Refused("no".into()));
        assert_eq!(of(6, "memory allocation of 7 bytes failed"), NoCode::Large);
        assert_eq!(of(24, ""), NoCode::Slow);
        assert_eq!(of(11, ""), NoCode::Crashed("signal 11".into()));
        let panicked = "thread main panicked\nmore";
        assert_eq!(
            of(code(101), panicked),
            NoCode::Crashed("thread main panicked".into())
        );
        assert!(matches!(of(9, ""), NoCode::Crashed(why) if why.contains("no memory")));
    }

    #[test]
    fn without_a_program_it_is_the_machine() {
        let end = Compilation::begin(Path::new("/nowhere/sandhog"), &limits(1, 1), false, b"");
        assert!(matches!(end, Err(NoCode::Machine(_))));
    }
}
