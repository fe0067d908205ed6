//! What is answered.

use sandhog_model::{JobId, Letter, LogLine, State, UnixMs, cron::CronState};
use serde::{Deserialize, Serialize};

use super::{ApiError, BatchResponse, Difference, SettingsInForce};
use crate::{
    engine::{MemoryUse, Mode, WorkerRow},
    plugin::{Catalog, Checked, PluginView, Problem, Progress},
    store::{
        DeadCount, DeadRow, Imported, JobRow, JobView, LetterName, Page, Purged, QueueRow,
        RawLetter, StoreStats, UniqueRow,
    },
};

/// A schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CronView {
    /// Its name.
    pub name: String,
    /// What it is to do; `None` when that cannot be read.
    pub does: Option<CronDoes>,
    /// Why what it is to do cannot be read.
    pub fault: Option<String>,
    /// Whether it was added while a runner was up; else it stands in the settings.
    pub is_added: bool,
    /// Its next slot; `None` while it is paused.
    pub next: Option<UnixMs>,
    /// What the log knows of it.
    pub state: CronState,
    /// The state of its latest job, while that is known.
    pub latest: Option<State>,
}

/// What a schedule is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CronDoes {
    /// Its expression.
    pub schedule: String,
    /// The zone whose clocks count.
    pub zone: String,
    /// The kind of its jobs.
    pub kind: String,
    /// Their queue, when it names one.
    pub queue: Option<String>,
}

/// What became of a change of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActedOnCron {
    /// The schedule; `None` when it is gone.
    pub view: Option<CronView>,
    /// The job that was enqueued.
    pub job: Option<JobId>,
}

/// A response; each request has one of the same name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Response {
    /// Who is there.
    Pong(Pong),
    /// One answer per job, in their order. Durable.
    Enqueued(Vec<Result<Enqueued, ApiError>>),
    /// One job. Of its attempts only the latest keeps its log lines.
    Job(Box<JobView>),
    /// Jobs.
    Jobs(Page<JobRow>),
    /// Log lines.
    Logs(AttemptLogs),
    /// The job's state after the retry.
    Retried(State),
    /// One answer per job, in their order: the state it is in now, `None` when it is gone. Durable.
    AmendedJobs(Vec<Result<Option<State>, ApiError>>),
    /// One answer per job, in their order: the state it is in now, `running` as long as its attempt
    /// ends. Durable.
    CalledOff(Vec<Result<State, ApiError>>),
    /// How the job stands.
    Waited(Box<Waited>),
    /// Queues.
    Queues(Vec<QueueView>),
    /// Schedules.
    Crons(Vec<CronView>),
    /// The schedule as it is after that, and the job that was enqueued.
    ActedOnCron(Box<ActedOnCron>),
    /// The queue does so from now on. Durable.
    Steered,
    /// Unique jobs.
    Unique(Page<UniqueRow>),
    /// One answer per job, in their order: whether it stood in the way of others. Durable.
    Unlocked(Vec<Result<bool, ApiError>>),
    /// Dead letters.
    Dead(Page<DeadRow>),
    /// How many dead letters there are.
    DeadCounted(DeadCount),
    /// A dead letter. Unless asked for, only its latest attempt keeps its log lines.
    Letter(Box<Letter>),
    /// The bytes of a dead letter.
    RawLetter(RawLetter),
    /// One answer per letter, in their order.
    Amended(Vec<Result<LetterName, ApiError>>),
    /// One answer per letter, in their order.
    Imported(Vec<Result<Imported, ApiError>>),
    /// What was purged, or would be.
    Purged(Purged),
    /// Something about batches.
    Batch(BatchResponse),
    /// What the plugin folder offers; `None` when no runner watches it.
    Plugins(Plugins),
    /// One plugin with its versions.
    Plugin(Box<PluginView>),
    /// What the plugin's file is, or what is wrong with it.
    CheckedPlugin(Box<Result<Checked, Problem>>),
    /// The plugin as it is after the choice.
    ActedOnPlugin(Box<PluginView>),
    /// The worker threads; none when no runner is up.
    Workers(Vec<WorkerRow>),
    /// What the workers do now.
    ActedOnWorkers(Mode),
    /// What differs in the settings.
    Reloaded(Vec<Difference>),
    /// The settings in force.
    Settings(Box<SettingsInForce>),
    /// What was counted, as text for Prometheus, in the OpenMetrics format.
    Metrics(String),
    /// Everything at a glance.
    Stats(Box<Stats>),
}

/// A job that was enqueued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enqueued {
    /// Its id.
    pub id: JobId,
    /// Whether it was there before: it stands for the one that was wished.
    #[serde(default)]
    pub existing: bool,
    /// The unique job that was cancelled so that this one takes its place.
    #[serde(default)]
    pub replaced: Option<JobId>,
    /// When a unique job that was put off is due now.
    #[serde(default)]
    pub due: Option<UnixMs>,
    /// How it stands with the batch, when the wish was for one.
    #[serde(default)]
    pub batch: Option<Joined>,
}

/// The batch that a job was wished into, and the one that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// The one of the wish.
    pub wished: JobId,
    /// The one it is in: another one or none for a job that was there before and stayed where it was.
    pub is: Option<JobId>,
}

impl Joined {
    /// Whether the job is where it was wished.
    #[must_use]
    pub fn is_as_wished(&self) -> bool {
        self.is == Some(self.wished)
    }
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pong {
    /// The program's version.
    pub version: String,
    /// The process.
    pub pid: u32,
}

/// The log lines of one attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptLogs {
    /// The job.
    pub id: JobId,
    /// The attempt's number.
    pub attempt: u32,
    /// Its place among all attempts, those before the job was brought back included, from 1.
    #[serde(default)]
    pub in_all: u32,
    /// Those of the other attempts with the same number.
    #[serde(default)]
    pub also: Vec<u32>,
    /// Whether it still runs.
    pub running: bool,
    /// The lines, in order.
    pub lines: Vec<LogLine>,
    /// Lines left out because the attempt was over its log limit.
    pub dropped: u64,
}

/// How a job that someone waits for stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Waited {
    /// The short of it.
    pub row: JobRow,
    /// What the running attempt last reported.
    pub progress: Option<Progress>,
    /// Why it waits although it is due, when known.
    pub reason: Option<String>,
    /// Everything about it, once it ended.
    pub ended: Option<JobView>,
}

/// A queue, with the reason when its jobs wait for something else than a free worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueView {
    /// Its jobs by state.
    pub row: QueueRow,
    /// Why jobs wait.
    pub reason: Option<String>,
}

/// What the plugin folder offers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Plugins {
    /// The plugins and what is wrong with other files.
    pub catalog: Catalog,
}

/// Everything at a glance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// The program's version.
    pub version: String,
    /// The store.
    pub store: StoreStats,
    /// The runner, when one is up.
    pub runner: Option<RunnerStats>,
}

/// A running runner at a glance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunnerStats {
    /// The process.
    pub pid: u32,
    /// What the workers do.
    pub mode: Mode,
    /// Worker threads.
    pub workers: Vec<WorkerRow>,
    /// Memory that running attempts hold.
    pub memory: MemoryUse,
    /// Plugins served.
    pub plugins: usize,
    /// Files in the plugin folder that cannot be used.
    pub problems: usize,
    /// Plugins that are held back.
    #[serde(default)]
    pub held: usize,
}

impl RunnerStats {
    /// How many attempts run, of how many that may.
    #[must_use]
    pub fn busy_of_slots(&self) -> (usize, usize) {
        busy_of_slots(&self.workers)
    }
}

/// The same of workers.
#[must_use]
pub fn busy_of_slots(workers: &[WorkerRow]) -> (usize, usize) {
    let busy = workers.iter().map(|worker| worker.running.len()).sum();
    (busy, workers.iter().map(|worker| worker.slots).sum())
}
