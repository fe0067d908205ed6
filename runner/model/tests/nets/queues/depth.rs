//! Queues that take in no more: full ones, and what takes another job's place.

use sandhog_model::{
    Command, Digest, JobId, OnConflict, QueueMode, QueueRule, Rejected, Scope, Unique, UnixMs,
};

use super::{Shop, rules};
use crate::sample::job;

#[test]
fn a_full_queue_refuses_naming_itself_how_much_waits_and_the_key() {
    let rule = QueueRule {
        max_depth: Some(2),
        ..QueueRule::default()
    };
    let mut shop = Shop::new(rules(&[("a", rule)], &[]));
    shop.many("a", None, 2);
    let another = |shop: &Shop| {
        let mut job = job(900, "k", 0);
        (job.queue, job.due) = ("a".into(), UnixMs(77));
        shop.ledger
            .decide(Command::Enqueue(Box::new(job)), shop.now, 0)
    };
    let why = another(&shop).expect_err("it is full").to_string();
    for part in ["queue a", "2 jobs", "max_depth", "[queue.a]"] {
        assert!(why.contains(part), "{why}");
    }
    shop.claim();
    assert!(another(&shop).is_ok(), "what runs does not wait");
}

/// A job that takes another one's place leaves its queue as it was; one that comes from elsewhere does not.
#[test]
fn a_full_queue_swaps_a_job_for_another_and_takes_none_of_another_queues() {
    let full = QueueRule {
        max_depth: Some(1),
        ..QueueRule::default()
    };
    let mut shop = Shop::new(rules(&[("a", full)], &[]));
    let unique = |id: u128, queue: &str, key: u128| {
        let mut job = job(id, "k", 0);
        job.queue = queue.to_string();
        job.terms.unique = Some(Unique {
            key: Digest(key),
            says: String::new(),
            scope: Scope::WAITING,
            until: None,
            on_conflict: OnConflict::Replace,
        });
        Command::Enqueue(Box::new(job))
    };
    shop.wish(unique(1, "a", 7));
    shop.wish(unique(2, "b", 8));
    let refused = |shop: &Shop, wish| shop.ledger.decide(wish, shop.now, 0).expect_err("refused");
    let full = refused(&shop, unique(3, "a", 8));
    assert!(
        matches!(
            full,
            Rejected::QueueFull {
                depth: 1,
                max: 1,
                ..
            }
        ),
        "{full:?}"
    );
    assert_eq!(
        shop.wish(unique(3, "a", 7)),
        [JobId(1)],
        "in place of the first"
    );
    assert_eq!(shop.wish(unique(4, "c", 8)), [JobId(2)]);
    shop.steer("a", Some(QueueMode::Draining), None);
    for key in [7, 8] {
        let drained = refused(&shop, unique(5, "a", key));
        assert!(
            matches!(drained, Rejected::QueueDraining { .. }),
            "{drained:?}"
        );
    }
}
