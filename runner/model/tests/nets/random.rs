//! Second net: random histories, with what must hold after every step and after a replay.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use sandhog_model::{
    Command, Event, JobId, Ledger, Record, RecordAt, State, Status, Token, UnixMs,
    codec::{decode_slim, encode_record},
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
            | Status::Dead(_) => None,
        });
    assert_eq!(ledger.next_due(), dues.min());
    assert_eq!(ledger.newest(None).count(), ledger.len());
}

/// What a claim must give, found by sorting all jobs.
fn claimable(ledger: &Ledger, kinds: &[String], max: usize) -> Vec<JobId> {
    let mut jobs: Vec<_> = ledger
        .newest(None)
        .filter(|(id, entry)| {
            let served = kinds.iter().any(|kind| **kind == *entry.kind);
            served && ledger.state(*id, UnixMs(0)) == Some(State::Available)
        })
        .map(|(id, entry)| (-i32::from(entry.priority), entry.status.at(), id))
        .collect();
    jobs.sort();
    jobs.into_iter().map(|(_, _, id)| id).take(max).collect()
}

/// Every record from a place on as bytes and back, then taken in again.
fn replay(world: &World, from: RecordAt, trims: bool) -> Ledger {
    let mut ledger = match from {
        RecordAt(1) => Ledger::default(),
        from => Ledger::starting_at(from),
    };
    for (record, at, mono) in &world.log {
        if *at < from || !trims && matches!(record.event, Event::Trimmed { .. }) {
            continue;
        }
        let mut bytes = Vec::new();
        encode_record(record, &mut bytes).expect("a small record");
        let record = decode_slim(&bytes).expect("it reads back");
        let taken = record.tell(|slim| ledger.take_in(slim, *at, *mono));
        taken.expect("a sound log");
    }
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
    ledger.advance(world.latest);
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
                world.ledger.advance(world.now.wall);
                let expected = match &wish {
                    Command::Claim(request) => Some(claimable(&world.ledger, &request.kinds, request.max)),
                    Command::Enqueue(_) | Command::Checkpoint { .. } | Command::Settle(_)
                    | Command::Lose { .. } | Command::Amend(_) | Command::Cron(_) | Command::Prune(_) => None,
                };
                let before = world.ledger.clone();
                match world.apply(&wish, entropy.wrapping_mul(step as u64 + 1)) {
                    Ok(events) => {
                        if let Some(expected) = expected {
                            let given: Vec<JobId> = events.iter().filter_map(Event::id).collect();
                            prop_assert_eq!(given, expected);
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
        prop_assert_eq!(world.ledger.last_id(), ids.max());
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
    use sandhog_model::ClaimRequest;
    let mut ledger = Ledger::default();
    for id in 0..20_000 {
        let kind = if id == 19_999 { "rare" } else { "common" };
        let event = Event::Enqueued(Box::new(job(id + 1, kind, 5)));
        ledger.evolve(&event, RecordAt(1), 0).expect("a new id");
    }
    let kinds = vec!["rare".to_string(), "nothing".into()];
    let claim = Command::Claim(ClaimRequest {
        kinds,
        max: usize::MAX,
    });
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
    use crate::sample::job;
    let mut ledger = Ledger::default();
    let mut later = job(2, "k", 1_000_000);
    later.due = UnixMs(1_500_000);
    for job in [job(1, "k", 1_000_000), later] {
        let event = Event::Enqueued(Box::new(job));
        ledger.evolve(&event, RecordAt(1), 0).expect("a new id");
    }
    let back = UnixMs(400_000);
    ledger.advance(back);
    assert_eq!(ledger.state(JobId(1), back), Some(State::Available));
    assert_eq!(ledger.state(JobId(2), back), Some(State::Scheduled));
    ledger.advance(UnixMs(1_500_000));
    ledger.advance(back);
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
