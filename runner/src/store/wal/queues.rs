//! What is asked of queues and of unique jobs, and the list of those that stand in the way of others.

use std::collections::BTreeMap;

use sandhog_model::{Command, Digest, Now, Rejected, Standing, State};

use super::{
    Wal,
    actor::Actor,
    flush::Waiting,
    handle::on_blocking_thread,
    history,
    wish::{Known, QueueAsk, Uniques},
};
use crate::store::{Page, PageRequest, QueueRow, Steer, StoreError, UniqueRow};

/// Kinds told of a queue.
const KINDS: usize = 16;

impl Actor {
    pub(super) fn ask_of_queues(&mut self, ask: QueueAsk, now: Now) {
        match ask {
            QueueAsk::All(reply) => self.answer_look(reply, self.queues(now), true),
            QueueAsk::Hold(id, reply) => {
                let hold = self.writer.ledger.hold(id, now);
                self.answer_look(reply, hold, true);
            }
            QueueAsk::Steer(steer, reply) => {
                let answer = self.steer(steer, now);
                self.waiting.push(Waiting::of(reply, answer));
            }
            QueueAsk::Govern(rules, reply) => {
                self.writer.ledger.govern(rules, now);
                self.writer.batch.readied |= self.writer.ledger.take_opened();
                self.waiting.push(Waiting::of(reply, Ok(())));
            }
            QueueAsk::Unique { from, limit, reply } => {
                let page = self.unique(from, limit, now);
                self.answer_look(reply, page, false);
            }
        }
    }

    /// Say what a queue is to do. Whether anything is written or not, what is answered is durable.
    fn steer(&mut self, steer: Steer, now: Now) -> Result<(), StoreError> {
        self.one(
            Command::Steer {
                queue: steer.queue,
                mode: steer.mode,
                limits: steer.limits,
                by: steer.by,
            },
            now,
        )?;
        self.writer.batch.wants_sync = true;
        Ok(())
    }

    /// Unique jobs that stand in the way of others, by key, from a key on.
    fn unique(&self, from: Digest, limit: usize, now: Now) -> Uniques {
        let mut standing = self.writer.ledger.standing(from, now.wall);
        let mut found: Vec<(Standing, Known)> = Vec::new();
        let next = standing.find_map(|one| {
            // Those of one key stay together.
            let is_full = found.len() >= limit;
            if is_full && found.last().is_some_and(|(last, _)| last.key != one.key) {
                return Some(one.key);
            }
            found.extend(self.known(one.id, now).map(|known| (one, known)));
            None
        });
        Uniques { found, next }
    }

    pub(super) fn queues(&self, now: Now) -> Vec<QueueRow> {
        let ledger = &self.writer.ledger;
        let mut counts: BTreeMap<String, Vec<(State, u64)>> = BTreeMap::new();
        // Those without jobs are shown when something is said of them.
        let said = ledger.steered().map(|(queue, _)| queue.to_string());
        let ruled = ledger.rules().queues.keys().cloned();
        counts.extend(said.chain(ruled).map(|queue| (queue, Vec::new())));
        let counted = ledger.counts(now.wall).into_iter();
        counts.extend(counted.map(|(queue, counts)| (queue.to_string(), counts)));
        let row = |(queue, counts): (String, Vec<(State, u64)>)| {
            let rule = ledger.rules().of(&queue);
            QueueRow {
                mode: ledger.steering(&queue).mode,
                limits: ledger.limits(&queue),
                set: ledger.steering(&queue).limits,
                weight: rule.weight,
                max_depth: rule.max_depth,
                hold: ledger.hold_of(&queue, now),
                oldest_due: ledger.oldest_due(&queue),
                kinds: ledger
                    .kinds_of(&queue)
                    .take(KINDS)
                    .map(|kind| kind.to_string())
                    .collect(),
                queue,
                counts,
            }
        };
        counts.into_iter().map(row).collect()
    }
}

impl Wal {
    /// A page by key. What a key says is read from the record that accepted its job; one that cannot be
    /// read, or was written anew meanwhile, leaves that out.
    pub(super) async fn unique_page(
        &self,
        page: PageRequest,
    ) -> Result<Page<UniqueRow>, StoreError> {
        let limit = page.limit.clamp(1, 1000);
        let from = page.cursor.as_deref().map(cursor).transpose()?;
        let from = from.unwrap_or(Digest(0));
        let asked = self.ask(|reply| QueueAsk::Unique { from, limit, reply });
        let Uniques { found, next } = asked.await?;
        let files = self.files.clone();
        let rows = on_blocking_thread(move || {
            let row = |(standing, known): (Standing, Known)| {
                let job = history::accepted(known.id, &known.entry, |at| files.read(at));
                UniqueRow {
                    key: standing.key,
                    id: known.id,
                    kind: known.entry.kind.to_string(),
                    state: known.state,
                    until: standing.until,
                    unique: job.ok().and_then(|job| job.terms.unique),
                }
            };
            Ok(found.into_iter().map(row).collect())
        });
        Ok(Page {
            rows: rows.await?,
            next: next.map(|key| key.to_string()),
        })
    }
}

fn cursor(text: &str) -> Result<Digest, StoreError> {
    u128::from_str_radix(text, 16).map(Digest).map_err(|_| {
        let shown: String = text.chars().take(64).collect();
        Rejected::Invalid(format!(
            "{shown:?} is no cursor: use the `next` of an earlier page"
        ))
        .into()
    })
}
