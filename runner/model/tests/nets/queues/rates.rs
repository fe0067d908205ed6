//! Attempts that begin, by the steady clock and over a restart.

use std::sync::Arc;

use sandhog_model::{
    Command, Event, JobId, Ledger, Now, QueueLimits, QueueRules, Retention, UnixMs,
};

use super::{Shop, limited, rules};
use crate::sample::job;

#[test]
fn a_rate_lets_a_burst_begin_and_then_one_after_the_other() {
    let limits = QueueLimits {
        rate: Some("10/1s burst 3".parse().expect("a rate")),
        ..QueueLimits::default()
    };
    let mut shop = Shop::new(rules(&[("a", limited(limits))], &[]));
    shop.many("a", None, 10);
    shop.many("b", None, 1);
    assert_eq!(shop.order(9).len(), 4);
    assert_eq!(shop.ledger.next_claimable(shop.now), Some(UnixMs(100)));
    shop.pass(99);
    assert_eq!(shop.claim(), None);
    shop.pass(1);
    assert!(shop.claim().is_some() && shop.claim().is_none());
    shop.pass(1_000);
    assert_eq!(shop.order(9), "aaa");
    // A wall clock that is set back changes nothing.
    shop.now.wall = UnixMs(5);
    shop.now.mono += 100;
    assert_eq!(shop.order(9), "a");
}

#[test]
fn what_began_before_a_restart_counts() {
    let limits = QueueLimits {
        rate: Some("1/10s".parse().expect("a rate")),
        group_rate: Some("1/20s".parse().expect("a rate")),
        ..QueueLimits::default()
    };
    let mut shop = Shop::new(QueueRules::default());
    shop.now.wall = UnixMs(1_000_000);
    shop.many("a", Some("x"), 2);
    let job = job(900, "k", 1_000_000);
    let enqueued = Event::Enqueued(Box::new(sandhog_model::Job {
        queue: "a".into(),
        ..job
    }));
    let leased = Event::Leased {
        id: JobId(900),
        token: sandhog_model::Token(1),
        at: UnixMs(1_000_000),
    };
    // A new process: the log is read, and its steady clock begins anew.
    let mut again = Shop::new(QueueRules::default());
    again.ledger = Ledger::default();
    again.now = Now {
        wall: UnixMs(1_004_000),
        mono: 50,
    };
    again.take_in(vec![enqueued, leased]);
    again
        .ledger
        .govern(Arc::new(rules(&[("a", limited(limits))], &[])), again.now);
    again.many("a", None, 2);
    again.many("a", Some("x"), 1);
    assert_eq!(again.claim(), None, "six seconds are left");
    assert_eq!(
        again.ledger.next_claimable(again.now),
        Some(UnixMs(1_010_000))
    );
    again.pass(6_000);
    assert_eq!(again.groups(3), "-");
    again.pass(10_000);
    assert_eq!(
        again.groups(3),
        "x",
        "its group began nothing for twenty seconds"
    );
    // A queue of which nothing began may begin at once.
    again.many("b", None, 1);
    assert_eq!(again.order(1), "b");
}

/// Nothing is left of the queue but what its rate remembers, and that only until it says nothing.
#[test]
fn a_rate_outlives_the_last_job_of_its_queue() {
    let rate = Some("1/10s".parse().expect("a rate"));
    for (rate, group_rate) in [(rate, None), (None, rate)] {
        let limits = QueueLimits {
            rate,
            group_rate,
            ..QueueLimits::default()
        };
        let mut shop = Shop::new(rules(&[("a", limited(limits))], &[]));
        shop.enqueue("a", "k", Some("x"), 0);
        let first = shop.claim().expect("it is the first");
        shop.end(first);
        assert!(!shop.ledger.is_empty() && shop.ledger.ended() == 1);
        shop.wish(Command::Prune(Retention {
            ended_before: UnixMs(0),
            keep: 0,
            spared_from: UnixMs(u64::MAX),
            max: 9,
        }));
        assert!(shop.ledger.is_empty() && shop.ledger.ended() == 0);
        shop.enqueue("a", "k", Some("x"), 0);
        assert_eq!(shop.claim(), None, "{limits:?}");
        shop.pass(10_000);
        assert!(shop.claim().is_some(), "{limits:?}");
    }
}
