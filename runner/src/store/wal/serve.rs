//! What each wish means: commands for the rules, look-ups in the index.

use std::sync::Arc;

use sandhog_model::{
    Amend, Cancellation, ClaimRequest, Command, JobId, Now, Rejected, Settlement, State, Token,
    UnixMs, cron::CronWish,
};

use super::{
    actor::{Actor, Each},
    flush::Waiting,
    views,
    wish::{CallOff, CronAsk, Incoming, Known, LeaseRef, Leases, ScanAsk, Scanned},
};
use crate::store::{CalledOff, Changed, CronDone, CronRow, JobFilter, StoreError, StoreStats};

/// Index entries one scan looks at in a batch; a longer list comes back for the next part, so that
/// writes go on in between.
pub(super) const SCAN_ENTRIES: usize = 4096;

impl Actor {
    /// Accept jobs, a refusal by the rules in its place. A reason that is no matter of rules ends the
    /// whole wish when nothing of it was done yet, and otherwise stands in the places of those that
    /// were not done.
    pub(super) fn accept(&mut self, incoming: Incoming, now: Now) -> Result<Incoming, StoreError> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let Incoming { jobs, mut answers } = incoming;
        let mut done = 0;
        for job in &jobs {
            let accepted = self.writer.accept(job, now);
            answers.push(match accepted.map_err(|why| self.unstaged(why)) {
                Ok(taken) => {
                    done += 1;
                    Ok(taken)
                }
                Err(StoreError::Rejected(rejected)) => Err(rejected),
                Err(error) if done == 0 || matches!(error, StoreError::Poisoned { .. }) => {
                    return Err(error);
                }
                Err(error) => Err(Rejected::Invalid(error.to_string())),
            });
        }
        Ok(Incoming { jobs, answers })
    }

    /// Take reports in. A full disk ends the whole wish even when some of it was done: told again,
    /// those are refused as late, and no outcome is lost.
    pub(super) fn settle(
        &mut self,
        reports: Vec<Settlement>,
        now: Now,
    ) -> Result<Vec<Result<State, Rejected>>, StoreError> {
        let mut answers = Vec::with_capacity(reports.len());
        for report in reports {
            let id = report.id;
            match self.one(Command::Settle(Box::new(report)), now) {
                Ok(()) => answers.push((id, Ok(()))),
                Err(StoreError::Rejected(rejected)) => answers.push((id, Err(rejected))),
                Err(error) => return Err(error),
            }
        }
        Ok(self.states(answers, now))
    }

    fn states(&self, each: Each, now: Now) -> Vec<Result<State, Rejected>> {
        each.into_iter()
            .map(|(id, answer)| {
                answer.and_then(|()| {
                    self.writer
                        .ledger
                        .state(id, now.wall)
                        .ok_or(Rejected::NoSuchJob(id))
                })
            })
            .collect()
    }

    pub(super) fn claim(&mut self, request: ClaimRequest, now: Now) -> Result<Leases, StoreError> {
        self.writer.ledger.advance(now);
        self.expire(now);
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let kinds: Arc<[String]> = request.kinds.into();
        let mut leases = Vec::new();
        while leases.len() < request.max {
            let leased = self.writer.lease(kinds.clone(), now);
            match leased.map_err(|why| self.unstaged(why)) {
                Ok(None) => break,
                Ok(Some((id, due))) => leases.extend(self.lease_ref(id, due)),
                // Those that were given already are.
                Err(_) if !leases.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        let is_full = leases.len() >= request.max;
        let next_due = (!is_full).then(|| self.writer.ledger.next_claimable(now));
        Ok(Leases {
            leases,
            is_full,
            next_due: next_due.flatten(),
        })
    }

    fn lease_ref(&self, id: JobId, due: UnixMs) -> Option<LeaseRef> {
        let entry = self.writer.ledger.get(id)?;
        Some(LeaseRef {
            id,
            token: entry.token,
            attempt: entry.running_attempt()?,
            due,
            enqueued: entry.enqueued,
            checkpoint: entry.checkpoint,
        })
    }

    pub(super) fn renew(&mut self, leases: Vec<(JobId, Token)>, now: Now) -> Vec<(JobId, Token)> {
        leases
            .into_iter()
            .filter(|(id, token)| !self.writer.ledger.renew(*id, *token, now.mono))
            .collect()
    }

    /// Take leases back. One that cannot be taken back now does not keep the others.
    pub(super) fn lose(
        &mut self,
        leases: &[(JobId, Token)],
        now: Now,
    ) -> Result<usize, StoreError> {
        let mut lost = 0;
        for (id, token) in leases {
            let command = Command::Lose {
                id: *id,
                token: *token,
            };
            match self.one(command, now) {
                Ok(()) => lost += 1,
                Err(error @ StoreError::Poisoned { .. }) => return Err(error),
                Err(error) => tracing::warn!(%id, %error, "a lost lease cannot be taken back yet"),
            }
        }
        Ok(lost)
    }

    pub(super) fn take_call_off(&mut self, off: CallOff, now: Now) {
        let answer = self.call_off(&off.ids, &off.cancel, now);
        self.waiting.push(Waiting::of(off.reply, answer));
    }

    /// Call jobs off. Whether anything is written or not, what is answered is durable.
    fn call_off(
        &mut self,
        ids: &[JobId],
        cancel: &Cancellation,
        now: Now,
    ) -> Result<Vec<Result<CalledOff, Rejected>>, StoreError> {
        let mut answers = Vec::with_capacity(ids.len());
        for id in ids {
            let wish = Amend::Cancel {
                id: *id,
                how: cancel.how,
                by: cancel.by.clone(),
                reason: cancel.reason.clone(),
            };
            answers.push(match self.carry_out(Command::Amend(wish), now) {
                Ok(_) => self.called_off(*id, now),
                Err(StoreError::Rejected(rejected)) => Err(rejected),
                Err(error) => return Err(error),
            });
        }
        self.writer.batch.wants_sync = true;
        Ok(answers)
    }

    fn called_off(&self, id: JobId, now: Now) -> Result<CalledOff, Rejected> {
        let known = self.known(id, now).ok_or(Rejected::NoSuchJob(id))?;
        let lease = known.entry.asked.map(|_| known.entry.token);
        Ok(CalledOff {
            state: known.state,
            lease,
        })
    }

    /// Change jobs. Whether anything is written or not, what is answered is durable. No room ends it when
    /// nothing was done yet.
    pub(super) fn amend(
        &mut self,
        wishes: Vec<Amend>,
        now: Now,
    ) -> Result<Vec<Result<Changed, Rejected>>, StoreError> {
        let mut answers = Vec::with_capacity(wishes.len());
        for wish in wishes {
            let id = wish.id();
            answers.push(match self.carry_out(Command::Amend(wish), now) {
                Ok(done) => Ok(Changed {
                    state: self.writer.ledger.state(id, now.wall),
                    is_new: !done.is_empty(),
                }),
                Err(StoreError::Rejected(rejected)) => Err(rejected),
                Err(error) if answers.is_empty() => return Err(error),
                Err(error @ StoreError::Poisoned { .. }) => return Err(error),
                Err(error) => Err(Rejected::Invalid(error.to_string())),
            });
        }
        self.writer.batch.wants_sync = true;
        Ok(answers)
    }

    pub(super) fn take_crons(&mut self, ask: CronAsk, now: Now) {
        match ask {
            CronAsk::Change(wish, reply) => {
                let answer = self.cron(wish, now);
                self.waiting.push(Waiting::of(reply, answer));
            }
            CronAsk::All(reply) => {
                let (rows, settled) = self.crons();
                self.answer_look(reply, rows, settled);
            }
        }
    }

    /// Change a schedule. Whether anything is written or not, what is answered is durable.
    fn cron(&mut self, wish: CronWish, now: Now) -> Result<CronDone, StoreError> {
        let name = wish.name.clone();
        let off = self.carry_out(Command::Cron(wish), now)?;
        self.writer.batch.wants_sync = true;
        let ledger = &self.writer.ledger;
        let running = |id: &JobId| {
            let entry = ledger.get(*id).filter(|entry| entry.asked.is_some())?;
            Some((*id, entry.token))
        };
        Ok(CronDone {
            state: ledger.cron(&name).cloned(),
            called_off: off.iter().find_map(running),
        })
    }

    /// Every schedule, and whether what is told of them is safe.
    fn crons(&self) -> (Vec<CronRow>, bool) {
        let settled = self.writer.settled_to().place;
        let ledger = &self.writer.ledger;
        let is_settled = ledger.crons_before(settled).count() == ledger.crons().count();
        let rows = ledger.crons().map(|(name, state)| CronRow {
            name: name.to_owned(),
            state: state.clone(),
            latest: state
                .latest
                .and_then(|id| ledger.get(id))
                .map(|entry| entry.status),
        });
        (rows.collect(), is_settled)
    }

    pub(super) fn look(&self, ids: &[JobId], now: Now) -> Vec<Known> {
        ids.iter().filter_map(|id| self.known(*id, now)).collect()
    }

    /// Whether what is known of these jobs is safe, and can be read.
    pub(super) fn are_settled(&self, known: &[Known]) -> bool {
        let settled = self.writer.settled_to().place;
        known.iter().all(|known| known.entry.latest < settled)
    }

    pub(super) fn known(&self, id: JobId, now: Now) -> Option<Known> {
        let entry = self.writer.ledger.get(id)?;
        Some(Known {
            id,
            state: entry.state(now.wall),
            entry,
        })
    }

    pub(super) fn take_scan(&mut self, ask: ScanAsk, now: Now) {
        match ask {
            ScanAsk::Newest {
                filter,
                before,
                limit,
                reply,
            } => {
                let scanned = self.scan(&filter, before, limit, now);
                let settled = self.are_settled(&scanned.found);
                self.answer_look(reply, scanned, settled);
            }
            ScanAsk::Due {
                filter,
                after,
                limit,
                reply,
            } => {
                let scanned = self.scan_due(&filter, after, limit, now);
                let settled = self.are_settled(&scanned.found);
                self.answer_look(reply, scanned, settled);
            }
        }
    }

    fn scan(&self, filter: &JobFilter, before: Option<JobId>, limit: usize, now: Now) -> Scanned {
        let mut found = Vec::new();
        let settled = self.writer.settled_to().last_id;
        let below = before.into_iter().chain(filter.below()).min();
        let first = filter.first();
        let ledger = &self.writer.ledger;
        let of_batch = filter.batch.map(|batch| ledger.members(batch, below));
        let of_all = filter.batch.is_none().then(|| ledger.seen(below));
        let jobs = of_batch.into_iter().flatten();
        for (looked, (id, seen)) in jobs.chain(of_all.into_iter().flatten()).enumerate() {
            if id < first {
                break;
            }
            let state = seen.status().state(now.wall);
            // Nobody was told yet of one that was accepted a moment ago.
            if Some(id) <= settled && views::matches(filter, seen.kind(), seen.queue(), state) {
                found.push(Known {
                    id,
                    entry: seen.entry(),
                    state,
                });
            }
            if found.len() == limit || looked + 1 == SCAN_ENTRIES {
                let resume = Some(id);
                return Scanned { found, resume };
            }
        }
        Scanned {
            found,
            resume: None,
        }
    }

    pub(super) fn stats(&self, now: Now) -> StoreStats {
        let mut jobs = Vec::new();
        let counts = self.writer.ledger.counts(now.wall);
        for state in State::ALL {
            let count: u64 = counts
                .iter()
                .flat_map(|(_, counts)| counts)
                .filter(|(counted, _)| *counted == state)
                .map(|(_, count)| count)
                .sum();
            if count > 0 {
                jobs.push((state, count));
            }
        }
        let counters = self.writer.counters;
        StoreStats {
            jobs,
            dead_letters: self.writer.dead.len() as u64,
            segments: self.writer.appender.segments(),
            log_bytes: self.writer.appender.bytes_on_disk(),
            appended: counters.appended,
            syncs: counters.syncs,
            last_sync_us: counters.last_sync_us,
            durability: self.writer.durability.to_string(),
            poisoned: self.writer.bell.poison.borrow().clone(),
            torn_tail_bytes: self.torn_tail_bytes,
            merged_logs: self.taken.logs,
            merged_jobs: self.taken.jobs,
            purged_letters: counters.purged.total(),
            purged: counters.purged,
            dead_bytes: self.writer.dead.bytes(),
            live_bytes: self.writer.live.bytes(),
            pruned_jobs: counters.pruned,
            freed_segments: counters.freed_segments,
            reclaimed_bytes: counters.reclaimed_bytes,
            stuck_segment: self.upkeep.stuck_segment(),
        }
    }
}
