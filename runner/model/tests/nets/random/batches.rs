//! What must hold of batches after every step.

use sandhog_model::{Callback, Event, Status};

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
