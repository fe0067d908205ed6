//! What keeps jobs back, as it is told to who asks.

use sandhog_model::{
    Ahead, Command, Hold, JobId, Ledger, QueueLimits, QueueMode, QueueRules, RecordAt, UnixMs,
};

use super::{Shop, limited, rules};
use crate::sample::{job, now};

/// The clock showed its instant, and nobody has looked yet.
#[test]
fn what_is_due_is_held_back_by_what_is_before_it_and_what_is_not_by_nothing() {
    let mut shop = Shop::new(QueueRules::default());
    let mut later = job(1, "k", 0);
    later.due = UnixMs(1_000);
    shop.wish(Command::Enqueue(Box::new(later)));
    assert_eq!(shop.ledger.hold(JobId(1), now(999)), None);
    let hold = Some(Hold::Behind(Ahead::default()));
    assert_eq!(shop.ledger.hold(JobId(1), now(1_000)), hold);
    // It stays due when the clock is set back.
    shop.ledger.advance(now(1_000));
    assert_eq!(shop.ledger.hold(JobId(1), now(999)), hold);
}

#[test]
fn jobs_of_a_higher_priority_and_earlier_ones_of_its_own_are_ahead() {
    let mut shop = Shop::new(QueueRules::default());
    let ids = [0, 5, 5, -5, 0].map(|priority| shop.enqueue("a", "k", None, priority));
    let ahead = ids.map(|id| match shop.ledger.hold(id, shop.now) {
        Some(Hold::Behind(ahead)) => ahead.jobs,
        other => panic!("{other:?}"),
    });
    // Of each lane by itself: what is due earlier with a priority of its own comes before no other.
    assert_eq!(ahead, [2, 0, 1, 4, 3]);
}

/// A limit of the queue's groups, what is told of the job behind the one that runs, and what of the queue.
#[test]
fn a_limit_that_holds_a_job_back_is_told_with_its_group_and_its_end() {
    let rate = "1/10s".parse().expect("a rate");
    let group = Some("x".to_string());
    let opens = UnixMs(1_010_000);
    let none = QueueLimits::default;
    let cases = [
        (
            QueueLimits {
                group_concurrency: Some(1),
                ..none()
            },
            Hold::Full {
                group: group.clone(),
                running: 1,
                most: 1,
            },
        ),
        (
            QueueLimits {
                group_rate: Some(rate),
                ..none()
            },
            Hold::Rate { group, rate, opens },
        ),
        (
            QueueLimits {
                concurrency: Some(1),
                ..none()
            },
            Hold::Full {
                group: None,
                running: 1,
                most: 1,
            },
        ),
        (
            QueueLimits {
                rate: Some(rate),
                ..none()
            },
            Hold::Rate {
                group: None,
                rate,
                opens,
            },
        ),
    ];
    for (limits, hold) in cases {
        let mut shop = Shop::new(rules(&[("a", limited(limits))], &[]));
        // The two clocks have nothing to do with each other.
        shop.now.wall = UnixMs(1_000_000);
        shop.enqueue("a", "k", Some("x"), 0);
        assert_eq!(shop.ledger.hold_of("a", shop.now), None);
        shop.claim().expect("it is the first");
        let second = shop.enqueue("a", "k", Some("x"), 0);
        assert_eq!(shop.claim(), None);
        assert_eq!(shop.ledger.hold(second, shop.now), Some(hold.clone()));
        assert_eq!(shop.ledger.hold_of("a", shop.now), Some(hold));
        shop.steer("a", Some(QueueMode::Paused), None);
        assert_eq!(shop.ledger.hold_of("a", shop.now), Some(Hold::Paused));
    }
}

#[test]
fn jobs_that_wait_are_listed_from_behind_any_place() {
    let mut shop = Shop::new(QueueRules::default());
    for (id, due) in [(1, 300), (2, 100), (3, 300)] {
        let mut later = job(id, "k", 0);
        later.due = UnixMs(due);
        shop.wish(Command::Enqueue(Box::new(later)));
    }
    for (due, id, behind) in [
        (0, 0, vec![2, 1, 3]),
        (100, 2, vec![1, 3]),
        (200, 9, vec![1, 3]),
        (300, 1, vec![3]),
        (300, 3, vec![]),
    ] {
        let listed = shop.ledger.due_after(UnixMs(due), JobId(id));
        let listed: Vec<u128> = listed.map(|(_, id, _)| id.0).collect();
        assert_eq!(listed, behind, "behind {id} at {due}");
    }
}

#[test]
fn the_oldest_of_a_queue_is_the_one_that_has_been_due_longest() {
    let mut shop = Shop::new(QueueRules::default());
    assert_eq!(shop.ledger.oldest_due("a"), None);
    for (wall, priority) in [(50, 0), (40, -5), (60, 5)] {
        shop.now.wall = UnixMs(wall);
        shop.enqueue("a", "k", None, priority);
    }
    assert_eq!(shop.ledger.oldest_due("a"), Some(UnixMs(40)));
    assert_eq!(shop.ledger.oldest_due("b"), None);
}

/// What people say, until they take it back, and the settings, which are nobody's saying.
#[test]
fn what_is_said_of_a_queue_is_told_again_where_it_is_not_known() {
    let limits = QueueLimits {
        concurrency: Some(2),
        ..QueueLimits::default()
    };
    let given = rules(&[("a", limited(limits))], &[]);
    let mut shop = Shop::new(given.clone());
    assert_eq!(shop.ledger.rules(), &given);
    shop.steer("b", Some(QueueMode::Paused), None);
    // It lies at place 1.
    let retold = |place| shop.ledger.retold(RecordAt(place), shop.now.wall).len();
    assert_eq!((retold(1), retold(2)), (0, 1));
    let unsaid = |of: &Ledger| of.unsaid(&shop.ledger, shop.now.wall).len();
    assert_eq!((unsaid(&Ledger::default()), unsaid(&shop.ledger)), (1, 0));
}
