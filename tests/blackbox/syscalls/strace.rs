//! A runner under `strace`.

use std::{
    fs::{self, OpenOptions},
    os::unix::{net::UnixStream, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use sandhog_kit::{Home, wait};

use crate::SANDHOG;

/// Longest time for a start or an end.
pub(super) const BOUND: Duration = Duration::from_secs(60);
/// Small segments and one worker, so that little work rolls, buries and frees.
const CONFIG: &str = "[runner]\nworkers = 1\nshutdown_grace = \"1s\"\n\
    [store]\nsegment_size = \"64KiB\"\n[kind.flaky]\nbackoff = \"fixed 20ms jitter 0\"\n";

/// A runner's folders with a log that has been begun, so that its paths are known, and with the
/// plugin compiled.
pub(super) fn home() -> Home {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config(CONFIG);
    home.grant("misbehave", "[grants]\nenqueue = { queues = [\"*\"] }\n");
    let _ = home.enqueue(&["echo", "first"]);
    // As a killed runner leaves it: a start removes it.
    fs::write(log(&home).join("spare.tmp"), [0; 100]).expect("a spare");
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled");
    let code = home.data().join("code");
    if let Ok(entries) = fs::read_dir(&kept) {
        fs::create_dir_all(&code).expect("the cache can be made");
        for entry in entries.flatten() {
            fs::copy(entry.path(), code.join(entry.file_name())).expect("a copy");
        }
    }
    home
}

/// Compiles the plugin once for all [`home`]s to come.
pub(super) fn compile() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        assert!(
            Command::new("strace").arg("-V").output().is_ok(),
            "strace is not there: install it, `apt-get install strace`"
        );
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled");
        let home = home();
        assert!(home.start().terminate().success());
        // What an earlier run kept may be another component's.
        let _ = fs::remove_dir_all(&kept);
        fs::create_dir_all(&kept).expect("the cache can be kept");
        for entry in fs::read_dir(home.data().join("code"))
            .expect("a cache")
            .flatten()
        {
            let passing = kept.join(format!("{}.{}", std::process::id(), "passing"));
            fs::copy(entry.path(), &passing).expect("a copy");
            fs::rename(passing, kept.join(entry.file_name())).expect("a name");
        }
    });
}

/// The directory of the one log.
pub(super) fn log(home: &Home) -> PathBuf {
    let mut logs = fs::read_dir(home.data().join("logs")).expect("there are logs");
    logs.next()
        .expect("there is a log")
        .expect("readable")
        .path()
}

/// Every path in which the store keeps something, as `-P` options.
pub(super) fn store_paths(home: &Home) -> Vec<String> {
    let (log, dead) = (log(home), home.data().join("dead"));
    let segments = (1..40).map(|number| log.join(format!("{number:010}.seg")));
    let mut paths: Vec<PathBuf> = segments.collect();
    paths.extend([
        log.join("spare.tmp"),
        dead.join("letters"),
        dead.join("letters.new"),
    ]);
    paths.extend([log, dead]);
    let option = |path: PathBuf| ["-P".to_owned(), path.to_str().expect("UTF-8").to_owned()];
    paths.into_iter().flat_map(option).collect()
}

/// Whether programs may be traced here at all; says so when not.
pub(super) fn permitted() -> bool {
    let probe = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .output();
    let probe = probe.expect("strace is not there: install it, `apt-get install strace`");
    if probe.status.success() {
        return true;
    }
    let why = String::from_utf8_lossy(&probe.stderr);
    // Through the test harness's capture, so that nobody takes this for a pass.
    let line = format!("NOT RUN, this system forbids ptrace: {why}\n");
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
    false
}

/// See the module.
pub(super) struct Traced {
    child: Child,
    home: PathBuf,
    /// What it called.
    pub(super) calls: PathBuf,
}

impl Traced {
    /// Starts `sandhog start` under `strace` with these options.
    pub(super) fn start<S: AsRef<str>>(home: &Home, options: &[S]) -> Self {
        let words: Vec<&str> = options.iter().map(AsRef::as_ref).collect();
        Self::under(home, &["strace"], &words)
    }

    /// The same below another program.
    pub(super) fn under(home: &Home, wrapper: &[&str], options: &[&str]) -> Self {
        let calls = home.folder().join("calls");
        let runner = home.command(&["start"]);
        let mut said = OpenOptions::new();
        said.create(true).append(true);
        let said = said.open(home.folder().join("runner.log")).expect("a log");
        let mut command = Command::new(wrapper[0]);
        command.args(&wrapper[1..]);
        if wrapper.last() == Some(&"strace") {
            command.args(["-f", "-y", "-o"]).arg(&calls);
            // strace 6.1 forgets a signal to inject when the kernel filters the calls for it.
            if !options.iter().any(|option| option.contains("signal=")) {
                command.arg("--seccomp-bpf");
            }
        }
        command
            .args(options)
            .arg(runner.get_program())
            .args(runner.get_args());
        for (name, value) in runner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(home.folder()).process_group(0);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said);
        Self {
            child: command.spawn().expect("it starts"),
            home: home.folder().into(),
            calls,
        }
    }

    /// Waits until it answers or ends: whether it answers.
    pub(super) fn ready(&mut self) -> bool {
        let socket = self.home.join("data/sandhog.sock");
        wait::until("the runner to answer or to end", BOUND, || {
            if self.ended().is_some() {
                return Some(false);
            }
            UnixStream::connect(&socket).is_ok().then_some(true)
        })
    }

    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be asked")
    }

    /// Waits for its end.
    #[track_caller]
    pub(super) fn end(&mut self) -> ExitStatus {
        wait::until("the runner to end", BOUND, || self.ended())
    }

    /// The runner's own process id, below `strace`.
    pub(super) fn pid(&self) -> u32 {
        let mut pid = self.child.id();
        loop {
            let path = format!("/proc/{pid}/task/{pid}/children");
            let children = fs::read_to_string(path).unwrap_or_default();
            match children
                .split_whitespace()
                .next()
                .and_then(|child| child.parse().ok())
            {
                Some(child) => pid = child,
                None => return pid,
            }
        }
    }

    /// Asks it to stop, when it still runs.
    pub(super) fn ask(&mut self) {
        if self.ended().is_none() {
            let pid = self.pid().to_string();
            let _ = Command::new("kill").args(["-TERM", &pid]).output();
        }
    }

    /// What it said so far, earlier runners of the same folders included.
    pub(super) fn said(&self) -> String {
        fs::read_to_string(self.home.join("runner.log")).unwrap_or_default()
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        if self.ended().is_none() {
            // strace and the runner below it.
            let group = format!("-{}", self.child.id());
            let _ = Command::new("kill").args(["-KILL", "--", &group]).output();
            let _ = self.child.wait();
            // The runner is not this process's child: it is gone when its socket answers nobody.
            let socket = self.home.join("data/sandhog.sock");
            wait::until("the runner to be gone", BOUND, || {
                UnixStream::connect(&socket).is_err().then_some(())
            });
        }
    }
}
