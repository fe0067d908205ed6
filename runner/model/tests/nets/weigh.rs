//! What changes would come to, beside what they come to when they are made.

use sandhog_model::{
    Amend, Command, Digest, Event, JobId, Ledger, RecordAt, Rejected, Scope, State, UnixMs,
    Weighing,
};

use crate::{
    cases::{AT, HELD, ID, states, wishes},
    keys::{cancelled, enqueued, unique},
    sample::now,
    table::ledger,
};

type Weighed = Result<(Option<State>, bool), String>;

fn weigh(weighing: &mut Weighing, ledger: &Ledger, wish: &Amend) -> Weighed {
    let weighed = weighing.weigh(ledger, wish.clone(), now(AT));
    weighed.map_err(|rejected| rejected.to_string())
}

/// Make the change.
fn make(ledger: &mut Ledger, wish: &Amend) -> Weighed {
    let events = ledger.decide(Command::Amend(wish.clone()), now(AT), 0);
    let events = events.map_err(|rejected| rejected.to_string())?;
    for event in &events {
        ledger.evolve(event, RecordAt(500), 0).expect("sound");
    }
    Ok((ledger.state(ID, UnixMs(AT)), !events.is_empty()))
}

#[test]
fn a_change_that_is_weighed_comes_to_what_it_comes_to_when_it_is_made() {
    let mut count = 0;
    for (state, before) in states() {
        for (name, wish) in wishes(HELD) {
            let Command::Amend(wish) = wish else { continue };
            count += 1;
            let (mut weighing, mut made) = (Weighing::default(), ledger(&before));
            let weighed = weigh(&mut weighing, &ledger(&before), &wish);
            assert_eq!(weighed, make(&mut made, &wish), "{state} × {name}");
            // Once more, as if it had been made: nothing new comes of it.
            let again = weigh(&mut weighing, &ledger(&before), &wish);
            let made_again = make(&mut made, &wish).map(|(after, _)| (after, false));
            assert_eq!(again, made_again, "{state} × {name} × {name}");
        }
    }
    assert!(count > 200, "{count}");
}

/// Each of them could come back alone.
#[test]
fn of_two_jobs_with_one_key_only_the_first_comes_back() {
    let other = JobId(30);
    let ended = |id| {
        [
            enqueued(unique(id, Digest(9), Scope::UNFINISHED, None)),
            cancelled(id),
        ]
    };
    let facts: Vec<Event> = [ended(ID), ended(other)].concat();
    let ledger = ledger(&facts);
    let mut weighing = Weighing::default();
    let mut weigh = |id| weighing.weigh(&ledger, Amend::Retry(id), now(AT));
    assert!(matches!(weigh(ID), Ok((Some(State::Available), true))));
    assert!(matches!(
        weigh(other),
        Err(Rejected::Duplicate { holder: ID, .. })
    ));
}
