//! How many jobs of each queue are in each state, kept up with every change.

use alloc::collections::BTreeMap;

use super::{NameId, Names};
use crate::{job::State, ledger::QueueCounts};

/// One number for each state, in the order of [`State::ALL`].
type Row = [u64; State::ALL.len()];

/// The numbers of every queue that has jobs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    queues: BTreeMap<NameId, Row>,
}

impl Counts {
    pub(crate) fn add(&mut self, queue: NameId, state: State) {
        self.queues.entry(queue).or_default()[state as usize] += 1;
    }

    pub(crate) fn take(&mut self, queue: NameId, state: State) {
        if let Some(row) = self.queues.get_mut(&queue) {
            row[state as usize] = row[state as usize].saturating_sub(1);
            if row.iter().all(|count| *count == 0) {
                self.queues.remove(&queue);
            }
        }
    }

    /// Queues by name; states without jobs are left out.
    pub(crate) fn table(&self, names: &Names) -> QueueCounts {
        let shown = |row: &Row| {
            let named = State::ALL.into_iter().zip(*row);
            named.filter(|(_, count)| *count > 0).collect()
        };
        let rows = self.queues.iter();
        let mut table: QueueCounts = rows
            .map(|(queue, row)| (names.text(*queue).clone(), shown(row)))
            .collect();
        table.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        table
    }
}
