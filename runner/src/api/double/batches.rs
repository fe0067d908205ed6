//! The batches of the double: without jobs.

use sandhog_model::{BatchWish, Command, RecordAt};

use super::{Double, crons::NOW};
use crate::store::{BatchRow, StoreError};

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

    pub(super) fn change_batch(&self, wish: BatchWish) -> Result<Option<BatchRow>, StoreError> {
        let mut inner = self.inner.lock().unwrap();
        let id = wish.id;
        for event in inner.crons.decide(Command::Batch(wish), NOW, 0)? {
            let taken = inner.crons.evolve(&event, RecordAt(1), 0);
            taken.expect("what was decided is sound");
        }
        drop(inner);
        Ok(self.batch_rows().into_iter().find(|row| row.id == id))
    }
}
