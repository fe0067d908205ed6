//! How many jobs of each queue are in each state, kept up with every change.

use alloc::vec::Vec;

use super::{NameId, Names};
use crate::{job::State, ledger::QueueCounts};

/// One number for each state, in the order of [`State::ALL`].
type Row = [u64; State::ALL.len()];

/// The numbers of every queue, by the number of its name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    queues: Vec<Row>,
    total: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, queue: NameId, state: State) {
        if self.queues.len() <= queue.index() {
            self.queues.resize(queue.index() + 1, Row::default());
        }
        self.queues[queue.index()][state as usize] += 1;
        self.total += 1;
    }

    pub(crate) fn take(&mut self, queue: NameId, state: State) {
        if let Some(row) = self.queues.get_mut(queue.index()) {
            row[state as usize] = row[state as usize].saturating_sub(1);
            self.total = self.total.saturating_sub(1);
            if self.total == 0 {
                self.queues = Vec::new();
            }
        }
    }

    /// How many jobs of a queue wait, due or not.
    pub(crate) fn waiting(&self, queue: NameId) -> u64 {
        let waiting = [State::Scheduled, State::Available, State::Retryable];
        let row = self.queues.get(queue.index());
        row.map_or(0, |row| {
            waiting.map(|state| row[state as usize]).iter().sum()
        })
    }

    /// Queues by name; states without jobs and queues without jobs are left out.
    pub(crate) fn table(&self, names: &Names) -> QueueCounts {
        let shown = |row: &Row| -> Vec<_> {
            let named = State::ALL.into_iter().zip(*row);
            named.filter(|(_, count)| *count > 0).collect()
        };
        let rows = self.queues.iter().enumerate();
        let named = rows.map(|(number, row)| (names.at(number).clone(), shown(row)));
        let mut table: QueueCounts = named.filter(|(_, counts)| !counts.is_empty()).collect();
        table.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        table
    }
}
