//! Looking at a log without touching it: is it sound, where is it not, what does it say.
//!
//! Takes no lock. While a runner writes, a consistent first part is seen, and a last record that is
//! half there is one being written.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use sandhog_model::{JobId, Status, recover::Ending};
use serde::{Deserialize, Serialize};

use super::{
    examine::{Fate, examine},
    layout::{self, LogId},
    logs::{self, LookError, Misplaced},
    replay::{self, Damage, Reads, Segment, Stopped},
    run::{MissingSegments, Run},
    salvage::{Hole, Unsalvaged},
};
use crate::{
    disk::{Disk, DiskError, RealDisk},
    store::{
        dead::{self, DeadOpenError, DeadReport, DeadStore},
        frames,
        lock::{self, Holder, LockError},
    },
};

/// Job ids listed in a report at most; how many more there are is counted.
const AFFECTED: usize = 1000;

/// Why a check or a dump was not possible.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// There is no log.
    #[error("{} holds no log: name the data directory of a runner", data.display())]
    NoLog {
        /// The directory.
        data: PathBuf,
    },
    /// The file system refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// Whether a runner lives could not be found out.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The dead letters cannot be read at all.
    #[error(transparent)]
    Dead(#[from] DeadOpenError),
    /// A log lies under a name that is not its own.
    #[error(transparent)]
    Misplaced(#[from] Misplaced),
    /// A dump is of one log.
    #[error("{} holds several logs: choose one with `--log`: {}", data.display(), logs.join(", "))]
    SeveralLogs {
        /// The directory.
        data: PathBuf,
        /// Their ids.
        logs: Vec<String>,
    },
    /// There is no such log.
    #[error("{} holds no log {log}: it has {}", data.display(), logs.join(", "))]
    NoSuchLog {
        /// The directory.
        data: PathBuf,
        /// What was asked for.
        log: String,
        /// Those that are there.
        logs: Vec<String>,
    },
    /// A dump met damage.
    #[error("{} is damaged at byte {offset}: {why}", path.display())]
    Damaged {
        /// The segment.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is wrong there.
        why: String,
    },
}

impl From<LookError> for CheckError {
    fn from(error: LookError) -> Self {
        match error {
            LookError::Disk(error) => Self::Disk(error),
            LookError::Misplaced(misplaced) => Self::Misplaced(misplaced),
        }
    }
}

/// What a segment, or a whole directory, is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every record is sound.
    Sound,
    /// A runner is writing its last record.
    BeingWritten,
    /// The last record was not written to its end. It was never acknowledged; the next start cuts
    /// it, after a copy.
    TornTail,
    /// Dead letters that cannot be read are skipped; the log is sound.
    LettersDamaged,
    /// A runner refuses to start on it.
    Damaged,
}

/// One segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentReport {
    /// The file.
    pub file: PathBuf,
    /// Its number.
    pub segment: u32,
    /// Its size in bytes.
    pub bytes: u64,
    /// Bytes up to the end of its last sound record.
    pub used_bytes: u64,
    /// Sound records.
    pub records: u64,
    /// What it is like.
    pub verdict: Verdict,
    /// Where the bad bytes begin, if any.
    pub offset: Option<u64>,
    /// What is wrong there.
    pub why: Option<String>,
}

/// Jobs with records behind the damage.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Affected {
    /// Their ids, the first thousand.
    pub jobs: Vec<JobId>,
    /// How many more.
    pub more: u64,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// The directories of the logs; the next start makes one of several.
    pub logs: Vec<PathBuf>,
    /// The runner that holds the directory now.
    pub holder: Option<Holder>,
    /// The worst of all below.
    pub verdict: Verdict,
    /// Every segment, up to the first that is damaged.
    pub segments: Vec<SegmentReport>,
    /// Sound records.
    pub records: u64,
    /// Bytes of all segments read.
    pub bytes: u64,
    /// Jobs the log knows.
    pub jobs: u64,
    /// Jobs with sound records behind the damage: what starting without them would lose.
    pub affected: Affected,
    /// What is damaged or missing in damaged logs.
    pub holes: Vec<Hole>,
    /// Jobs that the damage is about.
    pub fates: Vec<(JobId, Fate)>,
    /// Dead jobs without a letter, which the next start writes again.
    pub missing_letters: Vec<JobId>,
    /// The dead letters.
    pub dead: DeadReport,
}

/// Check a data directory on this machine's disk.
pub fn check(data: &Path) -> Result<CheckReport, CheckError> {
    check_on(&(Arc::new(RealDisk) as Arc<dyn Disk>), data)
}

/// Check a data directory on any disk.
pub fn check_on(disk: &Arc<dyn Disk>, data: &Path) -> Result<CheckReport, CheckError> {
    let found = logs::look(&**disk, data)?;
    // One that has no record yet.
    let used = match found.used[..] {
        [] => &found.empty[..found.empty.len().min(1)],
        [..] => &found.used,
    };
    if used.is_empty() {
        return Err(CheckError::NoLog {
            data: data.to_path_buf(),
        });
    }
    let holder = lock::living_holder(&**disk, data)?;
    let letters = DeadStore::open_to_read(disk.clone(), &dead::dir(data))?;
    let mut report = CheckReport {
        logs: used.iter().map(|log| layout::log_dir(data, *log)).collect(),
        holder,
        verdict: Verdict::Sound,
        segments: Vec::new(),
        records: 0,
        bytes: 0,
        jobs: 0,
        affected: Affected::default(),
        holes: Vec::new(),
        fates: Vec::new(),
        missing_letters: Vec::new(),
        dead: letters.report().clone(),
    };
    for log in used {
        check_log(&**disk, data, *log, &letters, &mut report)?;
    }
    if !report.dead.damage.is_empty() {
        report.verdict = report.verdict.max(Verdict::LettersDamaged);
    }
    Ok(report)
}

fn check_log(
    disk: &dyn Disk,
    data: &Path,
    log: LogId,
    letters: &DeadStore,
    report: &mut CheckReport,
) -> Result<(), CheckError> {
    let run = Run::open(disk, &layout::log_dir(data, log))?;
    let mut ledger = run.ledger();
    let read = replay::replay(
        &run,
        log,
        Reads::Whole,
        |told| {
            // All of it: what an open passes over is looked at here.
            ledger
                .replay(&told.record()?, told.at(), 0)
                .map_err(|unsound| format!("job {}: {}", unsound.id, unsound.why))?;
            Ok(ControlFlow::Continue(()))
        },
        |segment| {
            report.records += segment.records;
            report.bytes += segment.length;
            if segment.refused().is_some() {
                report.affected.add(behind(segment, log));
            }
            let shown = segment_report(segment, report.holder.is_some());
            report.verdict = report.verdict.max(shown.verdict);
            let stop = segment.refused();
            report.segments.push(shown);
            stop.map_or(Ok(()), |damage| Err(Stopped::Damage(damage)))
        },
    );
    match read {
        Ok(_) => {
            if let Err(missing) = ledger.complete() {
                note_missing(report, &run.missing(&missing, ledger.trimmed()));
                note_fates(disk, data, log, report)?;
            }
        }
        Err(Stopped::Disk(error)) => return Err(error.into()),
        Err(Stopped::Damage(damage)) => {
            note_damage(report, damage);
            note_fates(disk, data, log, report)?;
        }
    }
    report.jobs += ledger.len() as u64;
    let unburied = ledger.newest(None).filter(|(id, entry)| {
        matches!(entry.status, Status::Dead(_)) && letters.token(*id) != Some(entry.token)
    });
    report.missing_letters.extend(unburied.map(|(id, _)| id));
    Ok(())
}

/// What the damage means for each job.
fn note_fates(
    disk: &dyn Disk,
    data: &Path,
    log: LogId,
    report: &mut CheckReport,
) -> Result<(), CheckError> {
    match examine(disk, data, log) {
        Ok(examined) => {
            report.fates.extend(examined.fates());
            report.holes.extend(examined.found.holes);
            Ok(())
        }
        // What the finding says already.
        Err(Unsalvaged::Newer { .. }) => Ok(()),
        Err(Unsalvaged::Disk(error)) => Err(error.into()),
    }
}

impl Affected {
    fn add(&mut self, other: Self) {
        let room = AFFECTED.saturating_sub(self.jobs.len());
        self.more += other.more + other.jobs.len().saturating_sub(room) as u64;
        self.jobs.extend(other.jobs.into_iter().take(room));
    }
}

/// Damage inside a sound frame ends the reading before its segment is reported.
fn note_damage(report: &mut CheckReport, damage: Damage) {
    report.verdict = Verdict::Damaged;
    if report
        .segments
        .last()
        .is_some_and(|last| last.file == damage.path)
    {
        return;
    }
    report.segments.push(SegmentReport {
        segment: damage
            .path
            .file_name()
            .and_then(|name| layout::segment_number(name.to_str()?))
            .unwrap_or(0),
        file: damage.path,
        bytes: 0,
        used_bytes: damage.offset,
        records: 0,
        verdict: Verdict::Damaged,
        offset: Some(damage.offset),
        why: Some(damage.why),
    });
}

/// What lies before the first segment that is there is told with that one.
fn note_missing(report: &mut CheckReport, missing: &MissingSegments) {
    report.verdict = Verdict::Damaged;
    if let Some(first) = report.segments.first_mut() {
        first.verdict = Verdict::Damaged;
        first.offset = Some(0);
        first.why = Some(missing.to_string());
    }
}

fn segment_report(segment: &Segment, runner_lives: bool) -> SegmentReport {
    let (verdict, why) = match segment.end.ending {
        Ending::Clean => (Verdict::Sound, None),
        Ending::Cut { why } if runner_lives => (Verdict::BeingWritten, Some(why.to_owned())),
        Ending::Cut { why } => (Verdict::TornTail, Some(why.to_owned())),
        Ending::Refused(refusal) => (Verdict::Damaged, Some(refusal.to_string())),
    };
    SegmentReport {
        file: segment.path.clone(),
        segment: segment.number,
        bytes: segment.length,
        used_bytes: segment.end.offset as u64,
        records: segment.records,
        verdict,
        offset: why.as_ref().map(|_| segment.end.offset as u64),
        why,
    }
}

/// The jobs of the sound records behind a damaged one, in the same segment.
fn behind(segment: &Segment, log: LogId) -> Affected {
    let seed = frames::seed(log, segment.number);
    let mut affected = Affected::default();
    let mut at = 1;
    while let Some(bytes) = segment.rest.get(at..).filter(|bytes| !bytes.is_empty()) {
        let frames::First::Frame(frame) = frames::first(bytes, seed) else {
            at += 1;
            continue;
        };
        at += frame.len;
        let Ok(record) = frames::decode_record(frame.body) else {
            continue;
        };
        for id in record.event.ids() {
            if affected.jobs.contains(&id) {
                continue;
            }
            if affected.jobs.len() < AFFECTED {
                affected.jobs.push(id);
            } else {
                affected.more += 1;
            }
        }
    }
    affected
}
