//! What a log says: read to its end, which is made certain afterwards.

use std::{collections::HashSet, ops::ControlFlow, path::Path};

use sandhog_model::{Fact, JobId, Ledger, RecentNames, Unsound, recover::Ending};

use super::{
    WalOptions,
    layout::{self, LogId},
    live::Live,
    open::OpenError,
    replay::{self, Reads, Segment, Stopped, Told},
    run::{self, Run},
    segments::Tail,
};
use crate::{
    disk::{Disk, DiskError, OpenMode},
    store::frames,
};

/// What reading a log gave.
pub(super) struct Recovered {
    pub(super) ledger: Ledger,
    pub(super) live: Live,
    /// Jobs that a record took out, of those asked for.
    pub(super) gone: HashSet<JobId>,
    /// Logs that it took over.
    pub(super) merged: HashSet<String>,
    pub(super) tail: Tail,
    pub(super) last: Option<Segment>,
    pub(super) run: Run,
    /// Bytes of each segment.
    lengths: Vec<(u32, u64)>,
}

/// What the records of a log say.
struct Gathered {
    ledger: Ledger,
    names: RecentNames,
    live: Live,
    gone: HashSet<JobId>,
    merged: HashSet<String>,
}

impl Gathered {
    fn take_in(
        &mut self,
        told: &Told<'_>,
        keep_gone: &dyn Fn(JobId) -> bool,
        mono: u64,
    ) -> Result<(), String> {
        let (at, bytes) = (told.at(), told.frame_bytes);
        let names = &mut self.names;
        if let Some(taken) = self.ledger.take_in_brief(told.body, names, at, mono) {
            taken.map_err(unsound)?;
            self.live.arrive(at, 1, bytes);
            return Ok(());
        }
        let taken = frames::with_slim(told.body, |record| {
            match &record.fact {
                Fact::Deleted { id, .. } if keep_gone(*id) => {
                    self.gone.insert(*id);
                }
                Fact::Pruned { ids, .. } => {
                    let kept = ids.iter().filter(|id| keep_gone(**id));
                    self.gone.extend(kept);
                }
                Fact::Merged { log, .. } => {
                    self.merged.insert((*log).to_owned());
                }
                _ => {}
            }
            let Self { ledger, live, .. } = self;
            live.take_in(ledger, record, at, bytes, mono)
        })?;
        taken.map_err(unsound)
    }
}

fn unsound(Unsound { id, why }: Unsound) -> String {
    format!("job {id}: {why}")
}

/// Read a log to its end, and change nothing.
pub(super) fn recover(
    disk: &dyn Disk,
    options: &WalOptions,
    log: LogId,
    keep_gone: &dyn Fn(JobId) -> bool,
) -> Result<Recovered, OpenError> {
    let mono = options.clock.now().mono;
    let run = Run::open(disk, &layout::log_dir(&options.data, log))?;
    let mut gathered = Gathered {
        ledger: run.ledger(),
        names: RecentNames::default(),
        live: Live::default(),
        gone: HashSet::new(),
        merged: HashSet::new(),
    };
    let mut tail = Tail {
        last: None,
        next_sequence: 1,
        bytes_on_disk: 0,
    };
    let mut lengths = Vec::new();
    let reads = if options.background {
        Reads::HeadsAhead
    } else {
        Reads::Heads
    };
    let last = replay::replay(
        &run,
        log,
        reads,
        |told| {
            gathered.take_in(&told, keep_gone, mono)?;
            Ok(ControlFlow::Continue(()))
        },
        |segment| {
            if let Some(damage) = segment.refused() {
                return Err(Stopped::Damage(damage));
            }
            lengths.push((segment.number, segment.length));
            tail.next_sequence = segment.end.next_sequence;
            if segment.end.offset > 0 {
                tail.last = Some(segment.end_of_use());
            }
            Ok(())
        },
    )?;
    let Gathered {
        mut ledger,
        names,
        live,
        gone,
        merged,
    } = gathered;
    ledger.forget_names(names, mono);
    ledger
        .complete()
        .map_err(|records| run.missing(&records, ledger.trimmed()))?;
    Ok(Recovered {
        ledger,
        live,
        gone,
        merged,
        tail,
        last,
        run,
        lengths,
    })
}

impl Recovered {
    /// Make the end of the log certain, then remove what it does without. Gives the bytes that were
    /// cut.
    pub(super) fn settle(&mut self, disk: &dyn Disk, dir: &Path) -> Result<u64, DiskError> {
        let torn_tail_bytes = match &self.last {
            Some(segment) => settle_end(disk, dir, segment)?,
            None => 0,
        };
        // All that says so is on the device now.
        let trimmed = self.run.trimmed(self.ledger.trimmed());
        run::remove(disk, dir, &trimmed)?;
        let end = self.tail.last.map_or(0, |last| last.number);
        let is_there = |number: &u32| !trimmed.contains(number) && *number <= end;
        self.lengths.retain(|(number, _)| is_there(number));
        self.tail.bytes_on_disk = self.lengths.iter().map(|(_, bytes)| bytes).sum();
        self.run.segments.retain(|(number, _)| is_there(number));
        Ok(torn_tail_bytes)
    }
}

/// Make the last segment's end certain: a torn tail is copied aside and overwritten with zeros, and
/// what was read from the system's memory is synced, since from now on it is built upon. Gives the
/// bytes that were cut.
fn settle_end(disk: &dyn Disk, dir: &Path, segment: &Segment) -> Result<u64, DiskError> {
    let file = disk.open(&segment.path, OpenMode::Write)?;
    let Ending::Cut { why } = segment.end.ending else {
        file.sync()?;
        return Ok(0);
    };
    let offset = segment.end.offset as u64;
    let tail = segment.tail();
    if !tail.is_empty() {
        let path = layout::torn_path(dir, segment.number, offset);
        let copy = disk.open(&path, OpenMode::Replace)?;
        copy.write_at(0, tail)?;
        copy.sync()?;
        disk.sync_dir(dir)?;
        tracing::warn!(
            path = %segment.path.display(), offset, bytes = tail.len(), why, copy = %path.display(),
            "the log ends in a record that was not written to its end; it was never acknowledged and is cut"
        );
    }
    if offset == 0 {
        disk.remove(&segment.path)?;
        disk.sync_dir(dir)?;
    } else {
        file.write_at(offset, &vec![0; tail.len()])?;
        file.sync()?;
    }
    Ok(tail.len() as u64)
}
