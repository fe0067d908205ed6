//! The batches of the double: without jobs.

use sandhog_model::{BatchWish, Command, RecordAt};

use super::{Double, crons::NOW};
use crate::store::{BatchDone, BatchRow, StoreError};

impl Double {
    pub(super) fn batch_rows(&self) -> Vec<BatchRow> {
        let inner = self.inner.lock().unwrap();
        let rows = inner.crons.batches(None).map(|(id, state)| BatchRow {
            id,
            state: state.clone(),
            count: inner.crons.batch_count(id),
        });
        rows.collect()
    }

    pub(super) fn change_batch(&self, wish: BatchWish) -> Result<Option<BatchDone>, StoreError> {
        let mut inner = self.inner.lock().unwrap();
        let id = wish.id;
        let events = inner.crons.decide(Command::Batch(wish), NOW, 0)?;
        for event in &events {
            let taken = inner.crons.evolve(event, RecordAt(1), 0);
            taken.expect("what was decided is sound");
        }
        drop(inner);
        let is_new = !events.is_empty();
        let row = self.batch_rows().into_iter().find(|row| row.id == id);
        Ok(row.map(|row| BatchDone { row, is_new }))
    }
}
