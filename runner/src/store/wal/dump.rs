//! Showing a log record by record, without touching it.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use sandhog_model::{JobId, Record};
use serde::{Deserialize, Serialize};

use super::{
    check::CheckError,
    layout::{self, LogId},
    logs,
    replay::{self, Damage, Reads, Stopped, Told},
    run::Run,
};
use crate::disk::{Disk, RealDisk};

/// Where a dump starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct DumpFrom {
    /// The segment's number.
    pub segment: u32,
    /// The offset of the first record shown, or of any byte before it.
    pub offset: u64,
}

/// A record with its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DumpedRecord {
    /// The file.
    pub file: PathBuf,
    /// The segment's number.
    pub segment: u32,
    /// Where its frame begins.
    pub offset: u64,
    /// Its place in the order of all records.
    pub sequence: u64,
    /// Bytes of its frame.
    pub bytes: u64,
    /// The job it is about, if it is about one.
    pub id: Option<JobId>,
    /// Every job it is about: those it accepts besides and those it forgets too.
    pub ids: Vec<JobId>,
    /// What it says.
    pub record: Record,
}

/// Tell every record of a log on this machine's disk from a place on, until `tell` has enough.
/// Without a name it is the only log's.
pub fn dump(
    data: &Path,
    log: Option<&str>,
    from: Option<DumpFrom>,
    tell: impl FnMut(DumpedRecord) -> ControlFlow<()>,
) -> Result<(), CheckError> {
    dump_of(&RealDisk, data, log, from, tell)
}

/// The same of the only log on any disk.
pub fn dump_on(
    disk: &dyn Disk,
    data: &Path,
    from: Option<DumpFrom>,
    tell: impl FnMut(DumpedRecord) -> ControlFlow<()>,
) -> Result<(), CheckError> {
    dump_of(disk, data, None, from, tell)
}

/// The same of any log on any disk. Sound records before damage are told before the error.
pub fn dump_of(
    disk: &dyn Disk,
    data: &Path,
    log: Option<&str>,
    from: Option<DumpFrom>,
    mut tell: impl FnMut(DumpedRecord) -> ControlFlow<()>,
) -> Result<(), CheckError> {
    let log = choose(disk, data, log)?;
    let from = from.unwrap_or_default();
    let run = Run::open(disk, &layout::log_dir(data, log))?;
    let read = replay::replay(
        &run,
        log,
        Reads::Whole,
        |told| {
            if (told.segment, told.offset) < (from.segment, from.offset) {
                return Ok(ControlFlow::Continue(()));
            }
            Ok(tell(dumped(&told)?))
        },
        |segment| {
            segment
                .refused()
                .map_or(Ok(()), |damage| Err(Stopped::Damage(damage)))
        },
    );
    match read {
        Ok(_) => Ok(()),
        Err(Stopped::Disk(error)) => Err(error.into()),
        Err(Stopped::Damage(Damage { path, offset, why })) => {
            Err(CheckError::Damaged { path, offset, why })
        }
    }
}

fn dumped(told: &Told<'_>) -> Result<DumpedRecord, String> {
    let record = told.record()?;
    Ok(DumpedRecord {
        file: told.path.to_path_buf(),
        segment: told.segment,
        offset: told.offset,
        sequence: told.sequence,
        bytes: told.frame_bytes,
        id: record.event.id(),
        ids: record.event.ids().collect(),
        record,
    })
}

fn choose(disk: &dyn Disk, data: &Path, wanted: Option<&str>) -> Result<LogId, CheckError> {
    let found = logs::look(disk, data)?;
    let names = || found.used.iter().map(LogId::to_string).collect();
    let data = data.to_path_buf();
    match (wanted, &found.used[..]) {
        (Some(name), used) => {
            let log = used.iter().find(|log| log.to_string() == name);
            log.copied().ok_or_else(|| CheckError::NoSuchLog {
                data,
                log: name.to_owned(),
                logs: names(),
            })
        }
        (None, [log]) => Ok(*log),
        (None, []) => {
            // One that has no record yet.
            let log = found.empty.first().copied();
            log.ok_or(CheckError::NoLog { data })
        }
        (None, [..]) => Err(CheckError::SeveralLogs {
            data,
            logs: names(),
        }),
    }
}
