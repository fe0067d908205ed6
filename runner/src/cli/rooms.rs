//! What the command line needs from the composition root, which alone can wire rooms together.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use sandhog_model::JobId;

use crate::{
    api::Ctx,
    config::{Config, ConfigError},
    plugin::{BareAttempt, Catalog, Checked, Live, Plugin, Problem, Tried},
};

/// Reads the settings, with the flags and the environment of the command.
pub type ReadSettings = Box<dyn Fn() -> Result<Config, ConfigError> + Send + Sync>;

/// The rest of the program, as a command sees it.
pub trait Rooms {
    /// Be a runner until told to stop. `read` reads the settings again, as they are by then.
    fn start(&self, config: Config, read: ReadSettings) -> anyhow::Result<ExitCode>;

    /// What a start would refuse of settings of which each is right in itself.
    fn usable(&self, config: &Config) -> Result<(), ConfigError>;

    /// Open the data directory for one command, without an engine. Called when no runner answers;
    /// takes the directory's `LOCK` and must not wait for it.
    fn open(&self, config: &Config) -> Result<Ctx, OpenError>;

    /// Who holds the data directory now, as `LOCK` says.
    fn holder(&self, config: &Config) -> Option<String>;

    /// How long a directory may be held by someone who does not answer: another command that is
    /// about to end, or a runner that compiles its plugins before it listens.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }

    /// Check, compile and ask every component of the plugin folder.
    fn catalog(&self, config: &Config) -> anyhow::Result<Catalog>;

    /// Look at single files, wherever they are, with what each is granted by the file beside it.
    fn check_plugins(
        &self,
        config: &Config,
        files: &[PathBuf],
    ) -> anyhow::Result<Vec<Result<Checked, Problem>>>;

    /// Get a component ready to be tried without a store. Refused when the file cannot be used.
    fn tryout(&self, config: &Config, file: &Path) -> Result<Box<dyn Tryout>, Problem>;

    /// Get a component ready to be measured by a runner of its own, on a data directory that is thrown away. Refused
    /// when the file cannot be used.
    fn measure(&self, config: &Config, file: &Path) -> Result<Box<dyn Measure>, Problem>;

    /// Read the whole log and dead letters and change nothing; works beside a running runner.
    fn check_log(&self, config: &Config) -> anyhow::Result<LogCheck>;

    /// Keep what is sound of damaged logs and dead letters, or say what would be kept.
    fn repair_log(&self, config: &Config, dry_run: bool) -> anyhow::Result<LogRepair>;

    /// Hand over the records of a log, oldest first, until `each` says `false`. Changes nothing.
    fn dump_log(
        &self,
        config: &Config,
        wanted: &Dumped,
        each: &mut dyn FnMut(LogRecord) -> bool,
    ) -> anyhow::Result<()>;
}

/// Why a data directory cannot be opened for one command.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process holds it.
    #[error("{} is held by {holder}", data.display())]
    Held {
        /// The directory.
        data: PathBuf,
        /// Who, as `LOCK` says.
        holder: String,
    },
    /// Anything else.
    #[error(transparent)]
    Failed(#[from] anyhow::Error),
}

/// A component, compiled once and tried as often as one likes.
pub trait Tryout {
    /// What it is.
    fn plugin(&self) -> &Plugin;

    /// Run one attempt to its end. Refused when it does not serve the kind.
    fn run(&self, trial: Trial) -> Result<Tried, Problem>;
}

/// One attempt to try.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The kind to run, one of those it serves.
    pub kind: String,
    /// The payload.
    pub payload: Vec<u8>,
    /// Its media type; what the handler expects when `None`.
    pub content_type: Option<String>,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// By which it is interrupted.
    pub live: Arc<Live>,
}

/// A component ready to be measured.
pub trait Measure {
    /// What it is.
    fn plugin(&self) -> &Plugin;

    /// The folder on whose disk the log is written.
    fn place(&self) -> &Path;

    /// Run so many jobs that wait already, to the last report. Refused when one of them does not complete.
    fn drain(&self, trial: &Trial, jobs: usize) -> anyhow::Result<Drained>;

    /// Run as many attempts with nothing around them.
    fn bare(&self, trial: &Trial, jobs: usize) -> anyhow::Result<Bared>;
}

/// Jobs that a runner ran.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Drained {
    /// How many.
    pub jobs: usize,
    /// From the first claim to the last report that is as durable as the settings ask for.
    pub seconds: f64,
    /// Worker threads.
    pub workers: usize,
    /// The time of all attempts in the workers' hosts, added up.
    pub running: Duration,
    /// From each claim to its answer, added up.
    pub claiming: Duration,
    /// From each report to its answer, added up. Workers do not wait for it.
    pub reporting: Duration,
    /// Reports, each on attempts that ended together.
    pub reports: u64,
    /// Syncs of the log.
    pub syncs: u64,
}

/// Attempts with nothing around them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bared {
    /// How many.
    pub jobs: usize,
    /// Threads that ran them.
    pub workers: usize,
    /// Their time, added up over the threads.
    pub spent: BareAttempt,
}

/// What a check of the log found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogCheck {
    /// Segments read.
    pub segments: u64,
    /// Sound records in them.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sound dead letters.
    pub dead_letters: u64,
    /// What is not sound, in the order of the files.
    pub findings: Vec<Finding>,
}

/// Something in the log that is not sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub file: PathBuf,
    /// Where in it.
    pub offset: u64,
    /// What is wrong there, what is affected, and what to do.
    pub what: String,
    /// `false` for a torn tail that was never acknowledged, which the next open mends by itself.
    pub damage: bool,
}

/// Which records a dump shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dumped {
    /// Of this log; of the only one when not given.
    pub log: Option<String>,
    /// From this segment and offset on.
    pub from: Option<(u32, u64)>,
}

/// What a repair did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogRepair {
    /// Damaged logs.
    pub logs: Vec<RepairedLog>,
    /// What was wrong with the dead letters, and where they are kept as they were.
    pub letters: Option<(Vec<Finding>, PathBuf)>,
}

/// One damaged log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairedLog {
    /// Its directory.
    pub log: PathBuf,
    /// Where that is kept.
    pub kept: PathBuf,
    /// The list of what did not come along.
    pub list: PathBuf,
    /// Sound records in it.
    pub records: u64,
    /// Sound records that say nothing that can be used.
    pub unused: u64,
    /// Jobs that go on.
    pub jobs: u64,
    /// What is damaged or missing, and how many records are lost there if known.
    pub removed: Vec<(Finding, Option<u64>)>,
    /// Jobs that the damage is about, and how.
    pub affected: Vec<(JobId, &'static str)>,
}

/// A record of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRecord {
    /// The file.
    pub file: PathBuf,
    /// Where in it.
    pub offset: u64,
    /// Its sequence number.
    pub sequence: u64,
    /// The job it is about, if it is about one.
    pub id: Option<JobId>,
    /// Every job it is about: those it accepts besides and those it forgets too.
    pub ids: Vec<JobId>,
    /// The fact, as JSON.
    pub event: serde_json::Value,
}
