//! Mending a damaged log: every sound record counts, wherever it lies. A new log is written of what
//! they say; the damaged one is moved aside as it is, with a list of what did not come along.
//!
//! The new log is complete and synced before it gets a log's name, and the damaged one keeps its
//! name until then, so that a crash leaves nothing to put right: the next repair ends the same.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use sandhog_model::{Event, JobId, UnixMs};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    WalOptions, carry,
    examine::{Examined, Fate, examine},
    layout::{self, LogId},
    logs::{self, LookError, Misplaced},
    open::OpenError,
    recovered,
    rewrite::{self, NewLog},
    salvage::{Hole, Unsalvaged},
};
use crate::{
    disk::{Disk, DiskError, OpenMode},
    store::{
        StoreError,
        dead::{self, DeadOpenError, LettersMended},
        lock::{self, Holder, LockError},
    },
};

/// Why nothing was repaired. The data is as it was.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// There is no log.
    #[error("{} holds no log: name the data directory of a runner", .0.display())]
    NoLog(PathBuf),
    /// A runner lives.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// A log lies under a name that is not its own.
    #[error(transparent)]
    Misplaced(#[from] Misplaced),
    /// A segment is of a newer format.
    #[error("{} has format {found}, written by a newer version: repair it with that one", path.display())]
    Newer {
        /// The segment.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// The file system refused; when it is full, free some room and repair again.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The dead letters cannot be used at all.
    #[error(transparent)]
    Dead(#[from] DeadOpenError),
    /// The log cannot be read for another reason than damage.
    #[error(transparent)]
    Unreadable(#[from] StoreError),
}

/// What was repaired, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RepairReport {
    /// Damaged logs. Sound ones are left as they are.
    pub logs: Vec<LogRepair>,
    /// The dead letters, when they were damaged.
    pub letters: Option<LettersMended>,
}

/// One log's repair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRepair {
    /// The damaged log.
    pub log: PathBuf,
    /// Where it is kept.
    pub kept: PathBuf,
    /// The list of what did not come along.
    pub list: PathBuf,
    /// Whether an earlier repair had done all but move it aside.
    pub was_begun: bool,
    /// Sound records.
    pub records: u64,
    /// Jobs in the new log.
    pub jobs: u64,
    /// What is damaged or missing. Files are named as they were.
    pub holes: Vec<Hole>,
    /// Jobs that the damage is about.
    pub affected: Vec<(JobId, Fate)>,
    /// Sound records that say nothing that can be used.
    pub unused: u64,
}

impl From<LookError> for RepairError {
    fn from(error: LookError) -> Self {
        match error {
            LookError::Disk(error) => Self::Disk(error),
            LookError::Misplaced(misplaced) => Self::Misplaced(misplaced),
        }
    }
}

impl From<Unsalvaged> for RepairError {
    fn from(unsalvaged: Unsalvaged) -> Self {
        match unsalvaged {
            Unsalvaged::Disk(error) => Self::Disk(error),
            Unsalvaged::Newer { path, found } => Self::Newer { path, found },
        }
    }
}

/// Repair every damaged log of a data directory, and its dead letters; or only say what would be
/// done.
///
/// # Errors
/// Nothing was done, and nothing is lost.
pub fn repair(options: &WalOptions, dry_run: bool) -> Result<RepairReport, RepairError> {
    let (disk, data) = (&*options.disk, &options.data);
    let found = logs::look(disk, data)?;
    if found.used.is_empty() && found.empty.is_empty() {
        return Err(RepairError::NoLog(data.clone()));
    }
    let now = options.clock.now().wall;
    let holder = Holder::this_process(now, &options.command);
    let _lock = if dry_run {
        if let Some(holder) = lock::living_holder(disk, data)? {
            let path = data.join(lock::LOCK_FILE);
            let holder = Some(holder);
            return Err(LockError::Held { path, holder }.into());
        }
        None
    } else {
        Some(lock::take(disk, data, &holder)?)
    };
    let mut damaged = Vec::new();
    let mut merged = HashSet::new();
    for log in found.used {
        match recovered::recover(disk, options, log, &|_| false) {
            Ok(read) => merged.extend(read.merged),
            Err(OpenError::Damaged { .. } | OpenError::Missing(_)) => {
                damaged.push(examine(disk, data, log)?)
            }
            Err(error) => return Err(unreadable(error)),
        }
    }
    let mut report = RepairReport::default();
    for examined in &damaged {
        let begun = merged.contains(&examined.log.to_string());
        report
            .logs
            .push(mend(options, examined, begun, dry_run, now)?);
    }
    report.letters = dead::mend(&options.disk, &dead::dir(data), &holder, dry_run)?;
    Ok(report)
}

fn unreadable(error: OpenError) -> RepairError {
    match error {
        OpenError::Disk(error) => RepairError::Disk(error),
        OpenError::Locked(error) => RepairError::Locked(error),
        OpenError::Dead(error) => RepairError::Dead(error),
        OpenError::Misplaced(error) => RepairError::Misplaced(error),
        OpenError::Unfinished(error) => RepairError::Unreadable(error),
        OpenError::Options(why) => RepairError::Unreadable(StoreError::Poisoned { cause: why }),
        OpenError::Missing(missing) => RepairError::Unreadable(StoreError::Damaged {
            path: missing.dir.display().to_string(),
            offset: 0,
            why: missing.to_string(),
        }),
        OpenError::Damaged { path, offset, why } => RepairError::Unreadable(StoreError::Damaged {
            path: path.display().to_string(),
            offset,
            why,
        }),
    }
}

fn mend(
    options: &WalOptions,
    examined: &Examined,
    begun: bool,
    dry_run: bool,
    now: UnixMs,
) -> Result<LogRepair, RepairError> {
    let (disk, data) = (&*options.disk, &options.data);
    let (kept, list) = free_names(disk, data, examined.log, begun)?;
    // The list is written before the new log gets its name.
    let was_begun = begun && disk.exists(&list)?;
    let mut repair = LogRepair {
        log: layout::log_dir(data, examined.log),
        kept,
        list,
        was_begun,
        records: examined.found.records,
        jobs: 0,
        holes: examined.found.holes.clone(),
        affected: Vec::new(),
        unused: 0,
    };
    let build = layout::repair_dir(data);
    let id = LogId(options.entropy.next());
    let is_written = !dry_run && !was_begun;
    let mut new = None;
    if is_written {
        let disk = options.disk.clone();
        new = Some(NewLog::begin(disk, &build, id, options.segment_bytes)?);
    }
    let written = write(examined, new, &mut repair, now).and_then(|lines| match is_written {
        true => keep_list(disk, &repair.list, &lines),
        false => Ok(()),
    });
    if let Err(error) = written {
        // Their room is wanted; what stays is replaced by the next repair.
        let _ = rewrite::clear(disk, &build);
        let _ = disk.remove(&repair.list);
        return Err(error.into());
    }
    if is_written {
        disk.sync_dir(data)?;
        let all = layout::logs_dir(data);
        disk.rename(&build, &layout::log_dir(data, id))?;
        disk.sync_dir(&all)?;
        disk.sync_dir(data)?;
    }
    if !dry_run {
        disk.rename(&repair.log, &repair.kept)?;
        disk.sync_dir(data)?;
        disk.sync_dir(&layout::logs_dir(data))?;
    }
    Ok(repair)
}

/// Put every job together and write it; without a new log only count. Gives the lines of the list.
fn write(
    examined: &Examined,
    mut new: Option<NewLog>,
    repair: &mut LogRepair,
    now: UnixMs,
) -> Result<Vec<String>, DiskError> {
    let mut lines: Vec<String> = repair
        .holes
        .iter()
        .map(|hole| json!({ "removed": hole }).to_string())
        .collect();
    for id in examined.trails.keys().copied() {
        let folded = examined.fold(id);
        let mut fate = examined.fate(&folded);
        repair.unused += folded.unused.len() as u64;
        for at in &folded.unused {
            let (segment, offset) = layout::segment_and_offset(*at);
            let file = layout::segment_path(&repair.log, segment);
            let record = examined.read(*at);
            let unused = json!({ "file": file, "offset": offset, "record": record });
            lines.push(json!({ "unused": unused }).to_string());
        }
        if let Some(mut carried) = folded.carried {
            carried.at = now;
            carry::fit(&mut carried);
            let fits = match &mut new {
                Some(new) => new.append(Event::Carried(carried))?,
                None => true,
            };
            if fits {
                repair.jobs += 1;
            } else {
                fate = Some(Fate::Lost);
            }
        }
        if let Some(fate) = fate {
            lines.push(json!({ "job": id, "fate": fate }).to_string());
            repair.affected.push((id, fate));
        }
    }
    if let Some(mut new) = new {
        for (name, state) in &examined.crons {
            new.append(Event::Cron {
                name: name.clone(),
                at: now,
                state: state.clone(),
                job: None,
            })?;
        }
        for event in examined.steered.values().chain(examined.batches.values()) {
            new.append(event.clone())?;
        }
        new.append(Event::Trimmed {
            before: sandhog_model::RecordAt(0),
            at: now,
            last_id: examined.last_id,
            last_token: examined.last_token,
        })?;
        new.append(Event::Merged {
            log: examined.log.to_string(),
            at: now,
            last_token: examined.last_token,
        })?;
        new.finish()?;
    }
    Ok(lines)
}

fn keep_list(disk: &dyn Disk, path: &Path, lines: &[String]) -> Result<(), DiskError> {
    let file = disk.open(path, OpenMode::Replace)?;
    let mut text = lines.join("\n");
    text.push('\n');
    file.write_at(0, text.as_bytes())?;
    file.sync()
}

/// Where a damaged log and its list go: names that no earlier repair of the same log took. A repair
/// that was begun has the list already.
fn free_names(
    disk: &dyn Disk,
    data: &Path,
    log: LogId,
    begun: bool,
) -> Result<(PathBuf, PathBuf), DiskError> {
    let mut count = 1;
    loop {
        let suffix = match count {
            1 => String::new(),
            more => format!("-{more}"),
        };
        let kept = data.join(format!("damaged-{log}{suffix}"));
        let list = data.join(format!("damaged-{log}{suffix}.ndjson"));
        if !disk.exists(&kept)? && (begun || count == 1 || !disk.exists(&list)?) {
            return Ok((kept, list));
        }
        count += 1;
    }
}
