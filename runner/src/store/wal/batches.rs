//! Batches: what is asked of them, and what follows when all of their jobs ended.

use sandhog_model::{BatchWish, Command, JobId, Now};

use super::{Wal, actor::Actor, flush::Waiting, list::parse_cursor, wish::BatchAsk};
use crate::store::{BatchDone, BatchRow, Page, PageRequest, StoreError};

/// Facts written in one go for batches that came to their end or were called off; what is left comes with
/// the next wishes, which are not waited for then.
const AT_ONCE: usize = 1000;

impl Actor {
    /// Whether there is something to be done for a batch, and room for it.
    pub(super) fn wants_tending(&self) -> bool {
        self.writer.ledger.wants_tending() && self.refusal().is_none() && !self.expiry.rests()
    }

    /// Enqueue what follows batches that came to their end, and end the jobs that wait in batches that were
    /// called off.
    pub(super) fn tend(&mut self, now: Now) {
        let mut left = AT_ONCE;
        while left > 0 && self.wants_tending() {
            match self.carry_out_all(Command::Tend { max: left }, now) {
                Ok(0) => return,
                Ok(done) => left = left.saturating_sub(done),
                Err(error) => {
                    if !matches!(error, StoreError::Poisoned { .. }) {
                        tracing::debug!(%error, "what follows a batch is enqueued later");
                    }
                    return self.expiry.rest();
                }
            }
        }
    }

    pub(super) fn ask_of_batches(&mut self, ask: BatchAsk, now: Now) {
        match ask {
            BatchAsk::Change(wish, reply) => {
                let answer = self.change_batch(wish, now);
                self.waiting.push(Waiting::of(reply, answer));
            }
            BatchAsk::One(id, reply) => {
                let row = self.batch_row(id);
                let settled = row.is_none() || self.is_settled(id);
                self.answer_look(reply, row, settled);
            }
            BatchAsk::Some {
                before,
                limit,
                reply,
            } => {
                let ids = self.writer.ledger.batches(before).map(|(id, _)| id);
                let ids: Vec<JobId> = ids.take(limit).collect();
                let settled = ids.iter().all(|id| self.is_settled(*id));
                let rows = ids.into_iter().filter_map(|id| self.batch_row(id));
                let rows = rows.collect();
                self.answer_look(reply, rows, settled);
            }
        }
    }

    /// Change a batch. Whether anything is written or not, what is answered is durable.
    fn change_batch(&mut self, wish: BatchWish, now: Now) -> Result<Option<BatchDone>, StoreError> {
        let id = wish.id;
        let is_new = self.carry_out_all(Command::Batch(wish), now)? > 0;
        self.tend(now);
        self.writer.batch.wants_sync = true;
        let done = |row| BatchDone { row, is_new };
        Ok(self.batch_row(id).map(done))
    }

    fn is_settled(&self, id: JobId) -> bool {
        let settled = self.writer.settled_to().place;
        let at = self.writer.ledger.batch_at(id);
        at.is_none_or(|at| at < settled)
    }

    fn batch_row(&self, id: JobId) -> Option<BatchRow> {
        let state = self.writer.ledger.batch(id)?.clone();
        let count = self.writer.ledger.batch_count(id);
        Some(BatchRow { id, state, count })
    }
}

impl Wal {
    /// A page of batches, newest first.
    pub(super) async fn batch_page(&self, page: PageRequest) -> Result<Page<BatchRow>, StoreError> {
        let limit = page.limit.clamp(1, 1000);
        let before = page.cursor.as_deref().map(parse_cursor).transpose()?;
        let asked = self.ask(|reply| BatchAsk::Some {
            before,
            // One more than shown tells whether there is a next page.
            limit: limit + 1,
            reply,
        });
        let mut rows = asked.await?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(|row| row.id.to_string());
        Ok(Page { rows, next })
    }
}
