//! What must hold of batches after every step.

use sandhog_model::{Callback, Event, JobId, Status};

use crate::history::World;

/// The jobs of a batch are counted once each, what follows it is there once at most, and it waits for
/// nothing that happened.
pub(super) fn hold(world: &World) {
    let ledger = &world.ledger;
    let mut wants = false;
    for (id, state) in ledger.batches(None) {
        let opened = world.log.iter().rposition(|(record, _, _)| {
            matches!(&record.event, Event::Batch { id: of, state, .. } if *of == id && state.is_open()
                && state.gone.total() == 0)
        });
        let mut joined = 0;
        for (record, _, _) in world.log.iter().skip(opened.expect("it was opened")) {
            let event = &record.event;
            let anew = matches!(event, Event::Carried(_));
            let accepted = event.ids().filter_map(|id| event.accepted(id));
            joined += accepted
                .filter(|job| !anew && job.terms.batch == Some(id))
                .count() as u64;
        }
        if state.cancelled.is_some() {
            nothing_begins(world, id);
        }
        let count = ledger.batch_count(id);
        let there: Vec<Status> = ledger
            .newest(None)
            .filter(|(_, entry)| entry.batch == Some(id))
            .map(|(_, entry)| entry.status)
            .collect();
        let listed = ledger.members(id, None).count();
        assert_eq!(listed, there.len());
        assert_eq!(there.len() as u64 + state.gone.total(), count.total());
        assert!(count.total() >= joined.min(count.total()));
        let waits = there
            .iter()
            .filter(|status| matches!(status, Status::Waiting { .. }))
            .count() as u64;
        let runs = there
            .iter()
            .filter(|status| matches!(status, Status::Running { .. }))
            .count() as u64;
        assert_eq!((count.waiting, count.running), (waits, runs));
        let failed = there
            .iter()
            .filter(|status| !matches!(status, Status::Completed(_)))
            .count() as u64;
        let failed = failed - waits - runs + state.gone.failed();
        assert_eq!(count.ended.failed(), failed);
        let unfired = |callback: &Option<Box<Callback>>| {
            callback
                .as_ref()
                .is_some_and(|callback| callback.fired_at.is_none())
        };
        let ended = !state.is_open() && waits + runs == 0;
        let succeeds = failed == 0 && state.cancelled.is_none();
        let follows = unfired(&state.complete) || unfired(&state.success) && succeeds;
        wants |= ended && (follows || state.ended_at.is_none());
        wants |= state.cancelled.is_some() && waits > 0;
        for callback in state.callbacks() {
            let accepted = world.log.iter().filter(|(record, _, _)| {
                let event = &record.event;
                matches!(event, Event::Batch { .. }) && event.accepted(callback.id).is_some()
            });
            assert_eq!(accepted.count(), usize::from(callback.fired_at.is_some()));
        }
    }
    assert_eq!(ledger.wants_tending(), wants);
}

/// Of a batch that was called off no job begins any more, and none comes back into it.
fn nothing_begins(world: &World, batch: JobId) {
    let is_open = |(record, _, _): &(sandhog_model::Record, _, _)| matches!(&record.event, Event::Batch { id, state, .. } if *id == batch && state.cancelled.is_none());
    let open = world.log.iter().rposition(is_open);
    let off = world.log.iter().skip(open.map_or(0, |open| open + 1));
    let off = off.skip_while(
        |(record, _, _)| !matches!(&record.event, Event::Batch { id, .. } if *id == batch),
    );
    for (record, _, _) in off {
        if let Event::Leased { id, .. } | Event::Requeued { id, .. } = &record.event {
            let of = world.ledger.get(*id).and_then(|entry| entry.batch);
            assert_ne!(of, Some(batch), "{:?}", record.event);
        }
    }
}
