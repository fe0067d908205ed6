//! The author of a history: what it asked for, what it was answered, and what must therefore be
//! there after a crash. It knows the promises and none of the store's insides.

use std::collections::{BTreeMap, BTreeSet};

use sandhog_model::{Amend, Job, JobId, Outcome, State, UnixMs};

use super::super::stage::{
    Stage, all_rows, amend, child, claim, completed, dead_ids, failed, job, output, permanent,
    settle_with, wait,
};
use crate::{
    clock::Clock,
    store::{Inspect, JobFilter, JobRow, LeasedJob, Store, StoreError},
};

const KINDS: [&str; 4] = ["photo", "page", "table", "child"];

/// Numbers from a seed (splitmix64).
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len() as u64) as usize)
    }
}

/// What must be true of a job after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Offered, no answer: there or not, in any state.
    Offered,
    /// Accepted, and a wish about it was not answered: there, or gone if that was the wish.
    Unsure { may_be_gone: bool },
    /// Accepted and not ended: it waits, unless its last lease was lost too often.
    Open,
    /// Ended, and the author was told.
    Ended(State),
    /// Deleted, or not there after an earlier crash: it is never seen again.
    Gone,
}

/// See the module.
#[derive(Default)]
pub(super) struct Author {
    jobs: BTreeMap<JobId, (Job, Fate)>,
    /// Children of attempts whose success was reported and not answered: all there or none.
    families: Vec<(JobId, Vec<JobId>)>,
    held: Vec<LeasedJob>,
    /// Checkpoints the next lease may show; one not listed is not checked.
    checkpoints: BTreeMap<JobId, Vec<Option<Vec<u8>>>>,
    highest: Option<JobId>,
}

impl Author {
    fn fate(&mut self, id: JobId, fate: Fate) {
        if let Some((_, known)) = self.jobs.get_mut(&id) {
            *known = fate;
        }
        // An id that was never accepted may be given again.
        if matches!(fate, Fate::Open | Fate::Ended(_)) {
            self.highest = self.highest.max(Some(id));
        }
    }

    fn with(&self, wanted: impl Fn(Fate) -> bool) -> Vec<JobId> {
        let found = self.jobs.iter().filter(|(_, (_, fate))| wanted(*fate));
        found.map(|(id, _)| *id).collect()
    }

    /// Make wishes until the store fails or there were so many.
    pub(super) fn live(&mut self, stage: &Stage, chance: &mut Chance, wishes: usize) {
        let Ok(mut store) = stage.try_open() else {
            return;
        };
        self.held.clear();
        for _ in 0..wishes {
            let done = match chance.below(100) {
                0..=29 => self.enqueue(&*store, stage, chance),
                30..=49 => self.claim(&*store, chance),
                50..=74 => self.settle(&*store, chance),
                75..=81 => self.checkpoint(&*store, chance),
                82..=90 => self.amend(&*store, chance),
                91..=97 => {
                    stage.clock.pass(chance.below(1500));
                    wait(store.sweep()).map(|_| ())
                }
                _ => {
                    let closed = wait(store.close());
                    drop(store);
                    self.held.clear();
                    match stage.try_open() {
                        Ok(again) => store = again,
                        Err(_) => return,
                    }
                    closed
                }
            };
            match done {
                Ok(()) | Err(StoreError::Rejected(_)) => {}
                Err(_) => return,
            }
        }
    }

    fn enqueue(
        &mut self,
        store: &dyn Store,
        stage: &Stage,
        chance: &mut Chance,
    ) -> Result<(), StoreError> {
        let now = stage.clock.now().wall.0;
        let one = |chance: &mut Chance| {
            let length = match chance.below(20) {
                0 => 6_000,
                1..=3 => 1_500,
                _ => chance.below(200),
            };
            let later = [0, 0, 0, chance.below(5_000)][chance.below(4) as usize];
            let id = store.mint();
            Job {
                payload: id
                    .0
                    .to_le_bytes()
                    .into_iter()
                    .cycle()
                    .take(length as usize)
                    .collect(),
                due: UnixMs(now + later),
                ..job(id, KINDS[chance.below(3) as usize])
            }
        };
        let jobs: Vec<Job> = (0..=chance.below(4)).map(|_| one(chance)).collect();
        for job in &jobs {
            self.jobs.insert(job.id, (job.clone(), Fate::Offered));
        }
        for answer in wait(store.enqueue(jobs))? {
            self.fate(answer?, Fate::Open);
        }
        Ok(())
    }

    fn claim(&mut self, store: &dyn Store, chance: &mut Chance) -> Result<(), StoreError> {
        for leased in claim(store, &KINDS, 1 + chance.below(3) as usize)? {
            let (accepted, fate) = &self.jobs[&leased.job.id];
            assert_eq!(*accepted, leased.job);
            assert!(
                !matches!(fate, Fate::Ended(_) | Fate::Gone),
                "{} was leased though it is {fate:?}",
                leased.job.id
            );
            if let Some(kept) = self.checkpoints.get(&leased.job.id) {
                assert!(
                    kept.contains(&leased.checkpoint),
                    "the checkpoint of {}: {:?}, not {kept:?}",
                    leased.job.id,
                    leased.checkpoint
                );
            }
            self.held.push(leased);
        }
        Ok(())
    }

    fn settle(&mut self, store: &dyn Store, chance: &mut Chance) -> Result<(), StoreError> {
        if self.held.is_empty() {
            return Ok(());
        }
        let at = chance.below(self.held.len() as u64) as usize;
        let leased = self.held.swap_remove(at);
        let id = leased.job.id;
        let outcome = match chance.below(10) {
            0..=4 => completed(),
            5 | 6 => failed(),
            7 | 8 => permanent(),
            _ => Outcome::Discarded {
                reason: "no use".into(),
            },
        };
        let success = matches!(outcome, Outcome::Completed(_));
        let children: Vec<Job> = (0..chance.below(3))
            .map(|_| child(store, &leased))
            .collect();
        let ids: Vec<JobId> = children.iter().map(|job| job.id).collect();
        for job in &children {
            // An attempt that failed leaves none.
            let fate = if success { Fate::Offered } else { Fate::Gone };
            self.jobs.insert(job.id, (job.clone(), fate));
        }
        if success {
            self.families.push((id, ids.clone()));
        }
        let before = self.jobs[&id].1;
        self.fate(id, Fate::Unsure { may_be_gone: false });
        let answer = settle_with(store, &leased, outcome, children);
        if matches!(answer, Ok(_) | Err(StoreError::Rejected(_))) && success {
            self.families.pop();
        }
        match answer {
            Ok(state) => {
                self.fate(id, ended_or_open(state));
                if success {
                    ids.iter().for_each(|id| self.fate(*id, Fate::Open));
                }
                Ok(())
            }
            Err(StoreError::Rejected(why)) => {
                self.fate(id, before);
                ids.iter().for_each(|id| self.fate(*id, Fate::Gone));
                Err(StoreError::Rejected(why))
            }
            Err(error) => Err(error),
        }
    }

    fn checkpoint(&mut self, store: &dyn Store, chance: &mut Chance) -> Result<(), StoreError> {
        let Some(leased) = chance.pick(&self.held) else {
            return Ok(());
        };
        let (id, token) = (leased.job.id, leased.token);
        let bytes = vec![chance.next() as u8; chance.below(900) as usize];
        // What the lease says was true when it was given; it may be one that was lost since.
        let before = self.checkpoints.get(&id).cloned();
        let mut known = before.clone().unwrap_or_default();
        known.push(Some(bytes.clone()));
        let answer = wait(store.checkpoint(id, token, bytes.clone()));
        let after = match &answer {
            Ok(()) => Some(vec![Some(bytes)]),
            Err(StoreError::Rejected(_)) => before,
            // It may have been kept or not; without one before nothing is known.
            Err(_) => before.map(|_| known),
        };
        match after {
            Some(known) => drop(self.checkpoints.insert(id, known)),
            None => drop(self.checkpoints.remove(&id)),
        }
        match answer {
            Ok(()) | Err(StoreError::Rejected(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn amend(&mut self, store: &dyn Store, chance: &mut Chance) -> Result<(), StoreError> {
        let wanted = |fate| matches!(fate, Fate::Ended(_) | Fate::Open);
        let known = self.with(wanted);
        let Some(&id) = chance.pick(&known) else {
            return Ok(());
        };
        let before = self.jobs[&id].1;
        let wish = match (before, chance.below(2)) {
            (Fate::Ended(State::Dead), 0) => Amend::Delete(id),
            (Fate::Ended(State::Dead), _) => Amend::Requeue(id),
            _ => Amend::Retry(id),
        };
        let may_be_gone = matches!(wish, Amend::Delete(_));
        self.fate(id, Fate::Unsure { may_be_gone });
        let answer = amend(store, wish);
        match &answer {
            Ok(Some(state)) => self.fate(id, ended_or_open(*state)),
            Ok(None) => self.fate(id, Fate::Gone),
            Err(StoreError::Rejected(_)) => self.fate(id, before),
            Err(_) => {}
        }
        if !matches!(answer, Err(StoreError::Rejected(_))) {
            // Fresh attempts may begin without what earlier ones kept.
            self.checkpoints.remove(&id);
        }
        answer.map(|_| ())
    }

    /// Open what a crash left and compare it with what was answered. What is seen now is certain
    /// from now on.
    pub(super) fn audit(&mut self, stage: &Stage, crash: &str) {
        let store = match stage.try_open() {
            Ok(store) => store,
            Err(error) => panic!("{crash}: cannot open: {error}"),
        };
        let rows = all_rows(&*store, &JobFilter::default(), 100);
        let states: BTreeMap<JobId, &JobRow> = rows.iter().map(|row| (row.id, row)).collect();
        assert_eq!(rows.len(), states.len(), "{crash}: a job is listed twice");
        for id in states.keys() {
            assert!(self.jobs.contains_key(id), "{crash}: nobody offered {id}");
        }
        for (id, (accepted, fate)) in &mut self.jobs {
            let state = states.get(id).map(|row| row.state);
            assert!(
                fits(*fate, state),
                "{crash}: {id} was {fate:?}, is {state:?}"
            );
            let view = wait(store.job(*id)).unwrap_or_else(|error| panic!("{crash}: {error}"));
            assert_eq!(
                view.as_ref().map(|view| &view.job),
                state.map(|_| &*accepted),
                "{crash}: {id} is another job"
            );
            if state == Some(State::Completed) {
                let result = view.and_then(|view| view.output);
                assert_eq!(result, Some(output()), "{crash}: the result of {id}");
            }
            *fate = state.map_or(Fate::Gone, ended_or_open);
        }
        for (parent, children) in self.families.drain(..) {
            let there = children.iter().filter(|id| states.contains_key(id)).count();
            let ended = states.get(&parent).map(|row| row.state) == Some(State::Completed);
            let expected = if ended { children.len() } else { 0 };
            assert_eq!(there, expected, "{crash}: the children of {parent}");
        }
        let dead = rows.iter().filter(|row| row.state == State::Dead);
        let dead: BTreeSet<JobId> = dead.map(|row| row.id).collect();
        let letters: BTreeSet<JobId> = dead_ids(&*store).into_iter().collect();
        assert_eq!(letters, dead, "{crash}: dead jobs and letters");
        assert!(
            Some(store.mint()) > self.highest,
            "{crash}: an id is given again"
        );
    }

    /// Everything left runs to its end, and stays ended.
    pub(super) fn finish(&mut self, stage: &Stage, told: &str) {
        let store = stage.open();
        stage.clock.pass(60_000);
        self.held.clear();
        let mut chance = Chance(0);
        loop {
            let claimed = self.claim(&*store, &mut chance);
            claimed.unwrap_or_else(|error| panic!("{told}: {error}"));
            if self.held.is_empty() {
                break;
            }
            for leased in core::mem::take(&mut self.held) {
                let done = settle_with(&*store, &leased, completed(), Vec::new());
                assert!(matches!(done, Ok(State::Completed)), "{told}: {done:?}");
                self.fate(leased.job.id, Fate::Ended(State::Completed));
            }
        }
        drop(store);
        let open = self.with(|fate| !matches!(fate, Fate::Ended(_) | Fate::Gone));
        assert_eq!(open, [], "{told}: these did not end");
        self.audit(stage, told);
    }
}

fn ended_or_open(state: State) -> Fate {
    if state.is_final() {
        Fate::Ended(state)
    } else {
        Fate::Open
    }
}

/// Whether a job of this fate may be in this state right after a start.
fn fits(fate: Fate, state: Option<State>) -> bool {
    match (fate, state) {
        // No attempt outlives its runner.
        (_, Some(State::Running)) => false,
        (Fate::Offered | Fate::Unsure { may_be_gone: true }, _) => true,
        (Fate::Unsure { may_be_gone: false }, state) => state.is_some(),
        // A job whose lease was lost too often is buried.
        (Fate::Open, Some(state)) => !state.is_final() || state == State::Dead,
        (Fate::Ended(known), state) => state == Some(known),
        (Fate::Gone, state) => state.is_none(),
        (Fate::Open, None) => false,
    }
}
