//! A runner process.

use std::{
    fs::{self, OpenOptions},
    net::SocketAddr,
    os::unix::{fs::FileTypeExt, net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus},
    time::{Duration, Instant},
};

use crate::{Home, http, wait};

/// Longest time for a start; the first one compiles plugins.
const START: Duration = Duration::from_secs(60);

/// A started runner. It is killed when it is let go.
#[derive(Debug)]
pub struct Runner {
    child: Child,
    log: PathBuf,
    /// Where its own words begin in the log: what earlier runners of the same folder said is before.
    own: u64,
    /// From its start until it answered.
    pub ready_after: Duration,
}

impl Runner {
    /// Starts `sandhog start` and waits until its socket takes connections.
    ///
    /// # Panics
    ///
    /// When it ends, or does not answer within a minute; with what it said.
    #[track_caller]
    #[must_use]
    pub fn start(home: &Home) -> Self {
        Self::by(home, home.command(&["start"]))
    }

    /// The same by another command: with more environment, within another program.
    ///
    /// # Panics
    ///
    /// As [`Self::start`] does.
    #[track_caller]
    #[must_use]
    pub fn by(home: &Home, mut command: Command) -> Self {
        let log = home.folder().join("runner.log");
        let file = OpenOptions::new().create(true).append(true).open(&log);
        let file = file.expect("the runner's log can be opened");
        let own = file.metadata().expect("an open file has a length").len();
        command.stderr(file);
        let start = Instant::now();
        let child = command.spawn().expect("the program starts");
        let mut runner = Self {
            child,
            log,
            own,
            ready_after: Duration::ZERO,
        };
        wait::until("the runner to answer", START, || {
            if let Some(status) = runner.ended() {
                panic!("the runner ended at once: {status}\n{}", runner.said());
            }
            answers(&home.data()).then_some(())
        });
        runner.ready_after = start.elapsed();
        runner
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it said on stderr; nothing of earlier runners of the same folder.
    #[must_use]
    pub fn said(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        let own = usize::try_from(self.own).unwrap_or(usize::MAX);
        String::from_utf8_lossy(bytes.get(own..).unwrap_or_default()).into_owned()
    }

    /// Where it is reached over HTTP, as the line says with which it was ready.
    ///
    /// # Panics
    ///
    /// When it is not within a minute, or is not reached over HTTP.
    #[track_caller]
    #[must_use]
    pub fn http(&self) -> SocketAddr {
        wait::until("the runner to be ready", START, || {
            http::announced(&self.said())
        })
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be asked")
    }

    /// `kill -9`, and no more of it is running when this returns.
    ///
    /// # Panics
    ///
    /// When it was not running any more.
    #[track_caller]
    pub fn kill9(mut self) {
        if let Some(status) = self.ended() {
            panic!("the runner had ended before: {status}\n{}", self.said());
        }
        self.child.kill().expect("a child can be killed");
        self.child.wait().expect("a child can be waited for");
    }

    /// Sends a signal by its name, such as `TERM`.
    ///
    /// # Panics
    ///
    /// When `kill` cannot be run.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .args([&format!("-{name}"), &self.pid().to_string()])
            .status();
        assert!(
            status.expect("kill can be run").success(),
            "kill -{name} failed"
        );
    }

    /// Asks it to stop and waits, 60 s at most.
    ///
    /// # Panics
    ///
    /// When it does not stop.
    #[track_caller]
    #[must_use]
    pub fn terminate(mut self) -> ExitStatus {
        self.signal("TERM");
        wait::until("the runner to stop", START, || self.ended())
    }

    /// Its resident memory in KiB.
    ///
    /// # Panics
    ///
    /// When it is not running.
    #[track_caller]
    #[must_use]
    pub fn resident_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.expect("a running process has a status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.unwrap_or_else(|| panic!("the runner is not running any more\n{}", self.said()))
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the runner said:\n{}", self.said());
        }
    }
}

/// Whether a runner listens on a socket in the data directory.
fn answers(data: &Path) -> bool {
    let Ok(entries) = fs::read_dir(data) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let socket = entry.file_type().is_ok_and(|kind| kind.is_socket());
        socket && UnixStream::connect(entry.path()).is_ok()
    })
}
