//! How many jobs of each queue are in each state, kept up with every change.

use alloc::{collections::BTreeMap, sync::Arc};

use crate::{job::State, ledger::QueueCounts};

/// One number for each state, in the order of [`State::ALL`].
type Row = [u64; State::ALL.len()];

/// The numbers of every queue that has jobs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Counts {
    queues: BTreeMap<Arc<str>, Row>,
}

impl Counts {
    pub(crate) fn add(&mut self, queue: &Arc<str>, state: State) {
        if let Some(row) = self.queues.get_mut(queue) {
            row[state as usize] += 1;
        } else {
            let mut row = Row::default();
            row[state as usize] = 1;
            self.queues.insert(queue.clone(), row);
        }
    }

    pub(crate) fn take(&mut self, queue: &str, state: State) {
        if let Some(row) = self.queues.get_mut(queue) {
            row[state as usize] = row[state as usize].saturating_sub(1);
            if row.iter().all(|count| *count == 0) {
                self.queues.remove(queue);
            }
        }
    }

    /// Queues by name; states without jobs are left out.
    pub(crate) fn table(&self) -> QueueCounts {
        let shown = |row: &Row| {
            let named = State::ALL.into_iter().zip(*row);
            named.filter(|(_, count)| *count > 0).collect()
        };
        self.queues
            .iter()
            .map(|(queue, row)| (queue.clone(), shown(row)))
            .collect()
    }
}
