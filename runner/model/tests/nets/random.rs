//! Second net: random histories, with what must hold after every step and after a replay.

mod batches;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use sandhog_model::{
    Command, Digest, Event, JobId, Ledger, Now, QueueMode, RecentNames, Record, RecordAt, State,
    Status, Token, UnixMs,
    codec::{encode_record, with_slim},
};

use crate::history::{World, histories};

/// Counts by queue and state, by looking at every job.
fn recount(ledger: &Ledger, wall: UnixMs) -> BTreeMap<String, BTreeMap<State, u64>> {
    let mut counts: BTreeMap<String, BTreeMap<State, u64>> = BTreeMap::new();
    for (id, entry) in ledger.newest(None) {
        let state = ledger.state(id, wall).expect("a listed job has a state");
        let queue = counts.entry(entry.queue.to_string()).or_default();
        *queue.entry(state).or_default() += 1;
    }
    counts
}

fn holds(world: &World) {
    let ledger = &world.ledger;
    for wall in [world.now.wall, world.now.wall.plus(1_500)] {
        let counted = ledger.counts(wall).into_iter();
        let counted: BTreeMap<String, BTreeMap<State, u64>> = counted
            .map(|(queue, states)| (queue.to_string(), states.into_iter().collect()))
            .collect();
        assert_eq!(counted, recount(ledger, wall), "counts at {wall}");
    }
    let running: BTreeSet<(JobId, Token)> = ledger
        .newest(None)
        .filter(|(_, entry)| matches!(entry.status, Status::Running { .. }))
        .map(|(id, entry)| (id, entry.token))
        .collect();
    let leases: BTreeSet<(JobId, Token)> = ledger.leases().into_iter().collect();
    assert_eq!(
        running, leases,
        "running jobs have the leases, and no others do"
    );
    let dues = ledger
        .newest(None)
        .filter_map(|(id, entry)| match entry.status {
            Status::Waiting { due, .. } => {
                let waits = ledger.state(id, UnixMs(0)) != Some(State::Available);
                waits.then_some(due)
            }
            Status::Running { .. }
            | Status::Completed(_)
            | Status::Cancelled(_)
            | Status::Discarded(_)
            | Status::Dead(_)
            | Status::Expired(_) => None,
        });
    assert_eq!(ledger.next_due(), dues.min());
    assert_eq!(ledger.newest(None).count(), ledger.len());
    for wall in [world.now.wall, world.now.wall.plus(1_500)] {
        locks_hold(world, wall);
    }
    limits_hold(world);
    batches::hold(world);
    let expiries = ledger.newest(None).filter_map(|(_, entry)| {
        let waits = matches!(entry.status, Status::Waiting { .. });
        entry.expires.filter(|_| waits)
    });
    assert_eq!(ledger.next_expiry(), expiries.min());
}

/// A job stands in the way of others exactly as long as its state says: there is no lock without one.
fn locks_hold(world: &World, wall: UnixMs) {
    let ledger = &world.ledger;
    let mut standing: BTreeMap<Digest, BTreeSet<JobId>> = BTreeMap::new();
    for (id, entry) in ledger.newest(None) {
        let terms = &world.job(id).expect("it was accepted").terms;
        let unique = terms.unique.as_ref().filter(|unique| {
            let until = unique.until.is_none_or(|until| until > wall);
            until && !entry.unlocked && unique.scope.holds(entry.status)
        });
        let keys = unique.map(|unique| unique.key);
        let keys = keys.into_iter();
        for key in keys.chain(terms.idempotency.as_ref().map(|named| named.key)) {
            standing.entry(key).or_default().insert(id);
        }
    }
    for key in (0..2).chain(1000..1003).map(Digest) {
        let holder = ledger.holder(key, wall);
        match standing.get(&key) {
            Some(jobs) => assert!(
                holder.is_some_and(|id| jobs.contains(&id)),
                "{key} at {wall}"
            ),
            None => assert_eq!(holder, None, "{key} at {wall}"),
        }
    }
    let listed: BTreeSet<(Digest, JobId)> = ledger
        .standing(Digest(0), wall)
        .map(|standing| (standing.key, standing.id))
        .collect();
    let unique = standing.into_iter().filter(|(key, _)| *key < Digest(1000));
    let unique = unique.flat_map(|(key, jobs)| jobs.into_iter().map(move |id| (key, id)));
    assert_eq!(listed, unique.collect());
}

/// How many attempts run, by queue, and by queue and group.
type Running = (
    BTreeMap<String, u32>,
    BTreeMap<(String, Option<String>), u32>,
);

fn running(ledger: &Ledger) -> Running {
    let mut running = Running::default();
    for (_, entry) in ledger.newest(None) {
        if entry.running_attempt().is_some() {
            let queue = entry.queue.to_string();
            *running.0.entry(queue.clone()).or_default() += 1;
            let group = entry.group.map(|group| group.to_string());
            *running.1.entry((queue, group)).or_default() += 1;
        }
    }
    running
}

/// What runs is never more than the rules allow.
fn limits_hold(world: &World) {
    let (queues, groups) = running(&world.ledger);
    assert!(queues.get("q1").is_none_or(|running| *running <= 2));
    for ((queue, group), running) in groups {
        assert!(
            queue != "q0" || group.is_none() || running <= 1,
            "{group:?}"
        );
    }
}

/// What a claim may give, found by looking at all jobs: of each queue that gives out jobs, of each group
/// of it that does, the first of its best priority.
fn claimable(world: &World, kinds: &[String]) -> BTreeSet<JobId> {
    let ledger = &world.ledger;
    let (queues, groups) = running(ledger);
    let mut best: BTreeMap<String, i16> = BTreeMap::new();
    let mut jobs = Vec::new();
    for (id, entry) in ledger.newest(None) {
        let queue = entry.queue.to_string();
        let group = entry.group.as_ref().map(|group| group.to_string());
        let is_served = kinds.iter().any(|kind| **kind == *entry.kind);
        let is_late = entry.expires.is_some_and(|at| at <= world.now.wall);
        let is_held = ledger.steering(&queue).mode == QueueMode::Paused;
        let batch = entry.batch.and_then(|batch| ledger.batch(batch));
        let is_off = batch.is_some_and(|batch| batch.cancelled.is_some());
        let is_full = queue == "q1" && queues.get("q1").is_some_and(|running| *running >= 2);
        let is_crowded = queue == "q0"
            && group.is_some()
            && groups.contains_key(&(queue.clone(), group.clone()));
        if !is_served
            || is_late
            || is_off
            || is_held
            || is_full
            || is_crowded
            || ledger.state(id, UnixMs(0)) != Some(State::Available)
        {
            continue;
        }
        let priority = best.entry(queue.clone()).or_insert(entry.priority);
        *priority = entry.priority.max(*priority);
        jobs.push((queue, entry.priority, group, entry.status.at(), id));
    }
    jobs.retain(|(queue, priority, ..)| best.get(queue) == Some(priority));
    jobs.sort();
    jobs.dedup_by(|later, first| (&later.0, &later.2) == (&first.0, &first.2));
    jobs.into_iter().map(|(.., id)| id).collect()
}

/// Every record from a place on as bytes and back, then taken in again.
fn replay(world: &World, from: RecordAt, trims: bool) -> Ledger {
    let mut ledger = match from {
        RecordAt(1) => Ledger::default(),
        from => Ledger::starting_at(from),
    };
    let mut names = RecentNames::default();
    for (record, at, mono) in &world.log {
        if *at < from || !trims && matches!(record.event, Event::Trimmed { .. }) {
            continue;
        }
        let mut bytes = Vec::new();
        encode_record(record, &mut bytes).expect("a small record");
        let taken = match ledger.take_in_brief(&bytes, &mut names, *at, *mono) {
            Some(taken) => taken,
            None => {
                with_slim(&bytes, |slim| ledger.take_in(slim, *at, *mono)).expect("it reads back")
            }
        };
        taken.expect("a sound log");
    }
    ledger.forget_names(names, world.now.mono);
    ledger
}

/// A log without its beginning tells all that is still needed, says so, and is refused when it does
/// not.
fn replay_without_beginning(world: &World, again: &Ledger, chance: u64) {
    let trimmed = world.trimmed.0;
    for from in [trimmed, 2 + chance % trimmed.max(1)]
        .into_iter()
        .filter(|from| (2..=trimmed).contains(from))
    {
        let mut rest = replay(world, RecordAt(from), true);
        assert_eq!(
            rest.complete(),
            Ok(()),
            "from {from} of {}",
            world.log.len()
        );
        settle_down(&mut rest, world);
        assert_eq!(&rest, again, "from {from} of {}", world.log.len());
        let missing = replay(world, RecordAt(from), false).complete();
        assert_eq!(
            missing.map_err(|missing| missing.before),
            Err(RecordAt(from))
        );
    }
    let late = RecordAt(trimmed.max(1) + 1 + chance % 4);
    if late.0 <= world.log.len() as u64 {
        let mut ledger = Ledger::starting_at(late);
        let mut taken = world.log.iter().filter(|(_, at, _)| *at >= late);
        let sound = taken.all(|(record, at, mono)| ledger.replay(record, *at, *mono).is_ok());
        assert!(
            !sound || ledger.complete().is_err(),
            "what is needed is missing"
        );
    }
}

/// What a start does not keep: how long ago signs of life came, and what was seen to be due.
fn settle_down(ledger: &mut Ledger, world: &World) {
    ledger.advance(Now {
        wall: world.latest,
        mono: world.now.mono,
    });
    for (id, token) in ledger.leases() {
        ledger.renew(id, token, world.now.mono);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_history_keeps_what_must_hold(ops in histories(), entropy: u64) {
        let mut world = World::new();
        let mut highest = Token(0);
        for (step, op) in ops.iter().enumerate() {
            if let Some(wish) = world.wish(op) {
                world.ledger.advance(world.now);
                let expected = match &wish {
                    Command::Claim(kinds) => Some(claimable(&world, kinds)),
                    Command::Enqueue(_) | Command::Checkpoint { .. } | Command::Settle(_)
                    | Command::Lose { .. } | Command::Amend(_) | Command::Cron(_) | Command::Prune(_)
                    | Command::Expire { .. } | Command::Steer { .. } | Command::Batch(_)
                    | Command::Tend { .. } => None,
                };
                let before = world.ledger.clone();
                match world.apply(&wish, entropy.wrapping_mul(step as u64 + 1)) {
                    Ok(events) => {
                        if let Some(expected) = expected {
                            let given: Vec<JobId> = events.iter().filter_map(Event::id).collect();
                            prop_assert_eq!(given.is_empty(), expected.is_empty());
                            prop_assert!(given.len() <= 1);
                            prop_assert!(given.iter().all(|id| expected.contains(id)), "{given:?} of {expected:?}");
                        }
                        for event in &events {
                            if let Event::Leased { token, .. } = event {
                                prop_assert!(*token > highest, "tokens grow");
                                highest = *token;
                            }
                        }
                    }
                    Err(_) => prop_assert_eq!(&world.ledger, &before, "a refusal changes nothing"),
                }
            }
            holds(&world);
        }
        let ids = world.log.iter().flat_map(|(record, _, _)| record.event.ids());
        let batches = world.log.iter().filter_map(|(record, _, _)| match &record.event {
            Event::Batch { id, state, .. } => {
                state.callbacks().map(|callback| callback.id).chain([*id]).max()
            }
            _ => None,
        });
        prop_assert_eq!(world.ledger.last_id(), ids.chain(batches).max());
        for (Record { event, .. }, at, _) in &world.log {
            for id in event.ids().filter(|id| event.accepted(*id).is_some()) {
                if let Some(entry) = world.ledger.get(id) {
                    prop_assert!(entry.enqueued >= *at, "the latest acceptance counts");
                }
            }
        }
        let mut again = replay(&world, RecordAt(1), true);
        let mut live = world.ledger.clone();
        settle_down(&mut live, &world);
        settle_down(&mut again, &world);
        prop_assert_eq!(&live, &again);
        replay_without_beginning(&world, &again, entropy);
    }
}

/// A claim looks at the heads of the served lanes alone: beside a hundred thousand jobs of another
/// kind it takes no longer. Measured by work, not by time: the answer comes from a lane of one.
#[test]
fn a_job_of_a_served_kind_is_found_among_many_of_others() {
    use crate::sample::{job, now};
    let mut ledger = Ledger::default();
    for id in 0..20_000 {
        let kind = if id == 19_999 { "rare" } else { "common" };
        let event = Event::Enqueued(Box::new(job(id + 1, kind, 5)));
        ledger.evolve(&event, RecordAt(1), 0).expect("a new id");
    }
    let claim = Command::Claim(["rare".to_string(), "nothing".into()].into());
    let given = ledger.decide(claim, now(5), 0).expect("a claim");
    assert_eq!(
        given.iter().filter_map(Event::id).collect::<Vec<_>>(),
        [JobId(20_000)]
    );
}

/// What was due once stays due when the clock is set back, also over a restart for a job that was
/// due when it was accepted; what was not, waits for its instant.
#[test]
fn a_clock_set_back_takes_nothing_away_and_starts_nothing_early() {
    use crate::sample::{job, now};
    let mut ledger = Ledger::default();
    let mut later = job(2, "k", 1_000_000);
    later.due = UnixMs(1_500_000);
    for job in [job(1, "k", 1_000_000), later] {
        let event = Event::Enqueued(Box::new(job));
        ledger.evolve(&event, RecordAt(1), 0).expect("a new id");
    }
    let back = UnixMs(400_000);
    ledger.advance(now(back.0));
    assert_eq!(ledger.state(JobId(1), back), Some(State::Available));
    assert_eq!(ledger.state(JobId(2), back), Some(State::Scheduled));
    ledger.advance(now(1_500_000));
    ledger.advance(now(back.0));
    assert_eq!(ledger.state(JobId(2), back), Some(State::Available));
}

#[test]
fn a_lease_is_overdue_only_when_nobody_renewed_it_for_the_lease_time() {
    use crate::sample::job;
    let mut ledger = Ledger::default();
    for (id, mono) in [(1, 10), (2, 30)] {
        let enqueued = Event::Enqueued(Box::new(job(id, "k", 0)));
        let leased = Event::Leased {
            id: JobId(id),
            token: Token(id as u64),
            at: UnixMs(0),
        };
        for event in [enqueued, leased] {
            ledger.evolve(&event, RecordAt(1), mono).expect("sound");
        }
    }
    assert_eq!(ledger.overdue(109, 100), []);
    assert_eq!(ledger.overdue(110, 100), [(JobId(1), Token(1))]);
    assert!(ledger.renew(JobId(1), Token(1), 60));
    assert!(
        ledger.renew(JobId(1), Token(1), 20),
        "an older sign of life takes nothing back"
    );
    assert_eq!(ledger.overdue(130, 100), [(JobId(2), Token(2))]);
    assert!(!ledger.renew(JobId(3), Token(1), 60));
}
