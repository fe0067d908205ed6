//! What can be asked.

use sandhog_model::{Asked, JobId, Letter, NewJob, UnixMs};
use serde::{Deserialize, Serialize};

use super::BatchRequest;
use crate::{
    plugin::PluginAct,
    store::{DeadFilter, JobFilter, LetterBounds, LetterName, LetterRef, PageRequest, Steer},
};

/// Most jobs in one [`Request::Enqueue`].
pub const JOBS_PER_ENQUEUE: usize = 500;
/// Longest wait of one [`Request::Wait`], in milliseconds.
pub const WAIT_MS: u64 = 2_000;

/// What the workers are to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkersAct {
    /// Claim nothing more; what runs goes on.
    Quiet,
    /// Claim again.
    Resume,
    /// End, and the runner with them, as a `SIGTERM` has it.
    Stop,
}

/// What to do with jobs that no attempt holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobAct {
    /// Run a waiting job now, or one that ended again.
    Retry,
    /// Have a waiting job become due at this instant.
    Snooze {
        /// The instant.
        due: UnixMs,
    },
    /// End a waiting job as one that was dropped.
    Discard {
        /// Who asks, as they call themselves.
        by: String,
        /// Why.
        reason: Option<String>,
    },
    /// Delete a job that ended, a dead one with its letter.
    Remove {
        /// Delete one that waits, too.
        force: bool,
    },
}

/// What to do with a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CronAct {
    /// Give its slots no jobs.
    Pause {
        /// Who asks, as they call themselves.
        by: String,
        /// Why.
        reason: Option<String>,
    },
    /// Give its slots jobs again, from now on.
    Resume,
    /// Enqueue its job now, outside of every slot.
    Trigger,
    /// Have it do this from now on.
    Add {
        /// Its entry, as a table of the settings has it.
        entry: String,
    },
    /// Take away what was added.
    Remove,
}

/// An attempt of a job by a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Nth {
    /// The latest of this number, which begins anew when the job is brought back.
    Number(u32),
    /// The one in this place among all, those before the job was brought back included.
    InAll(u32),
}

/// A request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Who is there.
    Ping,
    /// Accept jobs, at most [`JOBS_PER_ENQUEUE`]. Each is answered for itself.
    Enqueue {
        /// The jobs.
        jobs: Vec<NewJob>,
    },
    /// One job with its history.
    Job {
        /// Which.
        id: JobId,
    },
    /// Jobs, newest first.
    Jobs {
        /// Which.
        filter: JobFilter,
        /// Which part.
        page: PageRequest,
    },
    /// The log lines of one attempt.
    Logs {
        /// Of which job.
        id: JobId,
        /// Of which attempt; the latest when `None`, the running one included.
        attempt: Option<Nth>,
    },
    /// Run a waiting job now, or a completed or discarded one again.
    Retry {
        /// Which.
        id: JobId,
    },
    /// Change jobs that no attempt holds. Each is answered for itself.
    AmendJobs {
        /// Which, at most 1000.
        ids: Vec<JobId>,
        /// What to do.
        act: JobAct,
        /// Only say what would become of each.
        #[serde(default)]
        dry_run: bool,
    },
    /// Call jobs off. Each is answered for itself.
    CallOff {
        /// Which, at most 1000.
        ids: Vec<JobId>,
        /// How.
        how: Asked,
        /// Who asks, as they call themselves.
        by: String,
        /// Why.
        reason: Option<String>,
        /// Only say what would become of each.
        #[serde(default)]
        dry_run: bool,
    },
    /// Wait for a job's end, at most [`WAIT_MS`].
    Wait {
        /// Which.
        id: JobId,
        /// How long, in milliseconds.
        timeout_ms: u64,
    },
    /// Queues by name.
    Queues,
    /// Schedules by name.
    Crons,
    /// Change a schedule, or have it run now.
    ActOnCron {
        /// Its name.
        name: String,
        /// What to do.
        act: CronAct,
    },
    /// Say what a queue is to do, until someone says otherwise.
    Steer(Steer),
    /// Unique jobs that stand in the way of others, by key.
    Unique {
        /// Which part.
        page: PageRequest,
    },
    /// Say that unique jobs stand in nobody's way any more. Each is answered for itself.
    Unlock {
        /// Which, at most 1000.
        ids: Vec<JobId>,
    },
    /// Dead letters, newest first.
    Dead {
        /// Which.
        filter: DeadFilter,
        /// Which part.
        page: PageRequest,
    },
    /// How many dead letters there are. When not all were looked at, the answer says where to go on.
    CountDead {
        /// Which.
        filter: DeadFilter,
        /// Where to go on.
        cursor: Option<String>,
    },
    /// One dead letter.
    Letter {
        /// Of which job.
        id: JobId,
        /// With the log lines of every attempt, not of the latest alone.
        logs: bool,
    },
    /// The bytes of a dead letter, whether it can be read or not.
    RawLetter {
        /// Which.
        name: LetterName,
    },
    /// Give dead jobs fresh attempts. Each is answered for itself.
    Requeue {
        /// Which, at most 1000.
        letters: Vec<LetterRef>,
        /// Only say what would become of each.
        #[serde(default)]
        dry_run: bool,
    },
    /// Delete dead jobs with their letters. Each is answered for itself.
    Delete {
        /// Which, at most 1000.
        letters: Vec<LetterRef>,
        /// Only say what would become of each.
        #[serde(default)]
        dry_run: bool,
    },
    /// Take in letters of another store. Each is answered for itself.
    ImportDead {
        /// The letters, at most 1000.
        letters: Vec<Letter>,
        /// Only say what would happen.
        dry_run: bool,
    },
    /// Delete the oldest letters over some bounds, at most 1000 at once.
    PurgeDead {
        /// What is kept.
        bounds: LetterBounds,
        /// Only say what would go.
        dry_run: bool,
    },
    /// Something about batches.
    Batch(BatchRequest),
    /// What the plugin folder offers.
    Plugins,
    /// One plugin with its versions.
    Plugin {
        /// Its name.
        name: String,
    },
    /// Look at a plugin's file anew: whether it can run, and what it is denied.
    CheckPlugin {
        /// Its name.
        name: String,
    },
    /// Choose which version of a plugin is served.
    ActOnPlugin {
        /// Its name.
        name: String,
        /// What to do.
        act: PluginAct,
    },
    /// The worker threads.
    Workers,
    /// Have the workers do something else.
    ActOnWorkers {
        /// What.
        act: WorkersAct,
    },
    /// Read the settings again.
    Reload,
    /// What was counted and measured since the start.
    Metrics,
    /// The settings in force.
    Settings,
    /// Everything at a glance.
    Stats,
}
