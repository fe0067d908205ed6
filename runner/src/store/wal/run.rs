//! Which files make a log: the segments without a gap that end with the last one.
//!
//! Segments are removed from the front only, in their order, after a `Trimmed` record says that they
//! are not needed. A crash may keep any of those removals and lose others, so what lies before a
//! gap is either left over from such a removal, or the gap is a loss. What the log says decides.

use std::{path::Path, path::PathBuf, sync::Arc};

use sandhog_model::{JobId, Ledger, MissingRecords, RecordAt};

use super::{layout, replay};
use crate::disk::{Disk, DiskError, DiskFile, OpenMode};

/// Tries to open the segments of a log of which a runner removes some meanwhile.
const TRIES: usize = 16;

/// Segments that the log needs and that are not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} lacks {}, and no record says that the log does without{}; nothing was changed: put back what is missing, from the place that the others were copied from", dir.display(), numbers(*first, *last), holding(*job))]
pub struct MissingSegments {
    /// The log's directory.
    pub dir: PathBuf,
    /// The first that is missing.
    pub first: u32,
    /// The last that is missing.
    pub last: u32,
    /// A job they hold, when one is known.
    pub job: Option<JobId>,
}

fn numbers(first: u32, last: u32) -> String {
    if first == last {
        format!("segment {first}")
    } else {
        format!("segments {first} to {last}")
    }
}

fn holding(job: Option<JobId>) -> String {
    job.map_or_else(String::new, |job| format!(" (they hold job {job})"))
}

/// The segments of a log.
pub(super) struct Run {
    dir: PathBuf,
    /// Those that make the log, in their order, open to read.
    pub(super) segments: Vec<(u32, Arc<dyn DiskFile>)>,
    /// Those before the gap before them.
    leftovers: Vec<u32>,
}

impl Run {
    /// Find and open the segments in a log's directory. A runner may remove the first ones
    /// meanwhile: what was opened stays readable, what was not is looked for again.
    pub(super) fn open(disk: &dyn Disk, dir: &Path) -> Result<Self, DiskError> {
        let mut tries = 1;
        loop {
            match Self::open_once(disk, dir) {
                Err(error) if error.is_missing() && tries < TRIES => tries += 1,
                other => return other,
            }
        }
    }

    fn open_once(disk: &dyn Disk, dir: &Path) -> Result<Self, DiskError> {
        let mut leftovers = replay::segments(disk, dir)?;
        let numbers = leftovers.split_off(run_start(&leftovers));
        let mut segments = Vec::with_capacity(numbers.len());
        for number in numbers {
            let path = layout::segment_path(dir, number);
            segments.push((number, disk.open(&path, OpenMode::Read)?));
        }
        Ok(Self {
            dir: dir.to_path_buf(),
            segments,
            leftovers,
        })
    }

    fn first(&self) -> u32 {
        self.segments.first().map_or(1, |(number, _)| *number)
    }

    /// The ledger to replay these segments into.
    pub(super) fn ledger(&self) -> Ledger {
        match self.first() {
            1 => Ledger::default(),
            first => Ledger::starting_at(layout::place(first, 0)),
        }
    }

    /// The first sequence, when it is known: in a log whose front is gone its header tells it.
    pub(super) fn first_sequence(&self) -> Option<u64> {
        (self.first() == 1).then_some(1)
    }

    /// What is missing, when the ledger made of all records says that something is.
    pub(super) fn missing(&self, records: &MissingRecords, trimmed: RecordAt) -> MissingSegments {
        let last = self.first().saturating_sub(1).max(1);
        let (needed, _) = layout::segment_and_offset(trimmed);
        let first = (needed.max(1)..=last)
            .find(|number| !self.leftovers.contains(number))
            .unwrap_or(1);
        MissingSegments {
            dir: self.dir.clone(),
            first,
            last,
            job: records.job,
        }
    }

    /// Those that lie wholly before `trimmed`, in their order; never the last one.
    pub(super) fn trimmed(&self, trimmed: RecordAt) -> Vec<u32> {
        let (needed, _) = layout::segment_and_offset(trimmed);
        let run = self.segments.iter().rev().skip(1).rev();
        let numbers = self.leftovers.iter().chain(run.map(|(number, _)| number));
        numbers.copied().filter(|number| *number < needed).collect()
    }
}

/// Where the numbers without a gap that end with the last one begin.
fn run_start(numbers: &[u32]) -> usize {
    let gap = numbers
        .windows(2)
        .rposition(|pair| pair[0].checked_add(1) != Some(pair[1]));
    gap.map_or(0, |before| before + 1)
}

/// Remove segments that are not needed, in the order given, for good.
pub(super) fn remove(disk: &dyn Disk, dir: &Path, numbers: &[u32]) -> Result<(), DiskError> {
    for number in numbers {
        match disk.remove(&layout::segment_path(dir, *number)) {
            // Whoever removed it wanted the same.
            Err(error) if error.is_missing() => {}
            other => other?,
        }
    }
    if numbers.is_empty() {
        return Ok(());
    }
    disk.sync_dir(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_what_ends_with_the_last_segment_without_a_gap() {
        for (numbers, start) in [
            (&[][..], 0),
            (&[1], 0),
            (&[1, 2, 3], 0),
            (&[4, 5], 0),
            (&[1, 3, 4], 1),
            (&[1, 2, 4, 6], 3),
        ] {
            assert_eq!(run_start(numbers), start, "{numbers:?}");
        }
    }
}
