//! Wishes about batches.

use sandhog_model::{BatchChange, BatchWish, Callback, Command, JobId, Link};

use super::World;

impl World {
    /// One of the latest batches, or one that was never there.
    pub(super) fn pick_batch(&self, batch: usize) -> JobId {
        let place = batch % (self.batches.len().min(2) + 1);
        let latest = self.batches.iter().rev();
        latest.copied().nth(place).unwrap_or(JobId(2))
    }

    pub(super) fn batch(&mut self, batch: usize, change: u8) -> Command {
        let id = self.pick_batch(batch);
        let change = match change {
            0 => BatchChange::Cancel {
                by: "ada".into(),
                reason: None,
            },
            1..=3 => BatchChange::Seal,
            // One in four has an id that is there.
            4 => return self.open(Some(id), change),
            change => return self.open(None, change),
        };
        Command::Batch(BatchWish { id, change })
    }

    fn open(&mut self, taken: Option<JobId>, which: u8) -> Command {
        let id = self.fresh("k0").id;
        let mut callback = |wanted: bool| {
            let id = self.fresh("k0").id;
            let link = Link {
                kind: "k2".into(),
                ..Link::default()
            };
            let fired_at = None;
            wanted.then(|| Box::new(Callback { id, link, fired_at }))
        };
        let change = BatchChange::Open {
            name: None,
            success: callback(which != 5),
            complete: callback(which != 6),
        };
        let id = taken.unwrap_or(id);
        if !self.batches.contains(&id) {
            self.batches.push(id);
        }
        Command::Batch(BatchWish { id, change })
    }
}
