//! What can be made of a damaged log, before anything is changed.

use std::{collections::BTreeMap, path::Path};

use sandhog_model::{
    Carried, Event, JobId, RecordAt, Status, Token, codec::FRAME_HEADER_BYTES, cron::CronState,
};
use serde::{Deserialize, Serialize};

use super::{
    fold::{Folded, fold},
    layout::LogId,
    merge,
    salvage::{self, Salvaged, Unsalvaged},
    segments::SegmentFiles,
};
use crate::disk::Disk;

/// What damage means for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// The record that accepted it is lost: it cannot be run, and is left out.
    Lost,
    /// A record about it is lost; a later one tells where it is in its life.
    Bridged,
    /// Its latest record may be lost: it may be further in its life, and runs once more if it ended
    /// there.
    Uncertain,
}

/// A damaged log, as far as it can be read.
pub(super) struct Examined {
    pub(super) log: LogId,
    pub(super) found: Salvaged,
    /// Where each job's records lie.
    pub(super) trails: BTreeMap<JobId, Vec<RecordAt>>,
    /// Schedules as they were last told of.
    pub(super) crons: BTreeMap<String, Box<CronState>>,
    pub(super) last_id: Option<JobId>,
    /// The largest token seen or lost.
    pub(super) last_token: Token,
    /// What people said of queues last, as facts.
    pub(super) steered: BTreeMap<String, Event>,
    /// What was said of batches last, as facts without the jobs that follow them.
    pub(super) batches: BTreeMap<JobId, Event>,
    files: SegmentFiles,
}

/// Read every sound record of a log.
pub(super) fn examine(disk: &dyn Disk, data: &Path, log: LogId) -> Result<Examined, Unsalvaged> {
    let mut trails: BTreeMap<JobId, Vec<RecordAt>> = BTreeMap::new();
    let mut crons: BTreeMap<String, Box<CronState>> = BTreeMap::new();
    let (mut last_id, mut last_token) = (None, Token::default());
    let mut steered = BTreeMap::new();
    let mut batches = BTreeMap::new();
    let found = salvage::salvage(disk, data, log, |at, record| {
        for id in record.event.ids() {
            trails.entry(id).or_default().push(at);
            last_id = last_id.max(Some(id));
        }
        last_token = last_token.max(token(&record.event));
        match record.event {
            Event::Trimmed { last_id: id, .. } => last_id = last_id.max(id),
            Event::Cron { name, state, .. } => {
                crons.insert(name, state);
            }
            Event::CronForgotten { name, .. } => {
                crons.remove(&name);
            }
            Event::Batch { id, at, state, .. } => {
                let ids = state.callbacks().map(|callback| callback.id);
                last_id = last_id.max(ids.chain([id]).max());
                let jobs = Vec::new();
                let event = Event::Batch {
                    id,
                    at,
                    state,
                    jobs,
                };
                batches.insert(id, event);
            }
            Event::BatchForgotten { id, .. } => {
                batches.remove(&id);
            }
            Event::Steered { ref queue, .. } => {
                steered.insert(queue.clone(), record.event);
            }
            _ => {}
        }
    })?;
    // Lost leases had tokens too, one each at most.
    let lost = found.holes.iter().map(|hole| {
        hole.records
            .unwrap_or(hole.bytes / FRAME_HEADER_BYTES as u64 + 1)
    });
    let last_token = Token(last_token.0.saturating_add(lost.sum()));
    Ok(Examined {
        files: merge::open_files(disk, data, log)?,
        log,
        found,
        trails,
        crons,
        last_id,
        last_token,
        steered,
        batches,
    })
}

impl Examined {
    /// A job's records, put together.
    pub(super) fn fold(&self, id: JobId) -> Folded {
        let trail = self.trails.get(&id).map_or(&[][..], |trail| trail);
        fold(
            id,
            trail
                .iter()
                // Each was sound a moment ago.
                .filter_map(|at| Some((*at, self.files.read(*at).ok()?))),
        )
    }

    /// What the damage means for each job that it is about.
    pub(super) fn fates(&self) -> Vec<(JobId, Fate)> {
        let ids = self.trails.keys().copied();
        ids.filter_map(|id| Some((id, self.fate(&self.fold(id))?)))
            .collect()
    }

    /// What the damage means for a job, if anything.
    pub(super) fn fate(&self, folded: &Folded) -> Option<Fate> {
        let Some(job) = &folded.carried else {
            return (!folded.is_gone).then_some(Fate::Lost);
        };
        if self.may_go_on(job, folded.latest) {
            return Some(Fate::Uncertain);
        }
        folded.is_bridged.then_some(Fate::Bridged)
    }

    fn may_go_on(&self, job: &Carried, latest: RecordAt) -> bool {
        let is_open = match job.status {
            Status::Waiting { .. } | Status::Running { .. } | Status::Dead(_) => true,
            Status::Completed(_)
            | Status::Cancelled(_)
            | Status::Discarded(_)
            | Status::Expired(_) => false,
        };
        let holes = &self.found.holes;
        is_open
            && holes
                .iter()
                .any(|hole| hole.records != Some(0) && hole.at > latest)
    }

    /// The record at a place.
    pub(super) fn read(&self, at: RecordAt) -> Option<sandhog_model::Record> {
        self.files.read(at).ok()
    }
}

/// The largest token that a fact names.
fn token(event: &Event) -> Token {
    match event {
        Event::Leased { token, .. }
        | Event::Checkpointed { token, .. }
        | Event::Lost { token, .. }
        | Event::CancelAsked { token, .. } => *token,
        Event::Settled { attempt, .. } => attempt.token,
        Event::Carried(carried) => carried.token,
        Event::Trimmed { last_token, .. } | Event::Merged { last_token, .. } => *last_token,
        Event::Enqueued(_)
        | Event::Cron { .. }
        | Event::CronForgotten { .. }
        | Event::Batch { .. }
        | Event::BatchForgotten { .. }
        | Event::Requeued { .. }
        | Event::Hastened { .. }
        | Event::Deleted { .. }
        | Event::Cancelled { .. }
        | Event::Postponed { .. }
        | Event::Expired { .. }
        | Event::Dropped { .. }
        | Event::Replaced { .. }
        | Event::Unlocked { .. }
        | Event::Steered { .. }
        | Event::Pruned { .. } => Token::default(),
    }
}
