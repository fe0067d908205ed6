//! Who comes next among queues, groups and jobs, and what bounds them.

mod depth;
mod holds;
mod limits;
mod rates;

use std::sync::Arc;

use sandhog_model::{
    Ahead, Command, Event, Hold, JobId, Ledger, Now, Outcome, QueueLimits, QueueMode, QueueRule,
    QueueRules, RecordAt, Rival, Steering,
};

use crate::sample::{job, now, output, report};

/// A ledger and how many jobs it was given.
struct Shop {
    ledger: Ledger,
    jobs: u128,
    now: Now,
}

fn rules(queues: &[(&str, QueueRule)], first: &[&str]) -> QueueRules {
    let named = |(name, rule): &(&str, QueueRule)| ((*name).to_string(), *rule);
    QueueRules {
        queues: queues.iter().map(named).collect(),
        first: first.iter().map(|name| (*name).to_string()).collect(),
    }
}

fn weight(weight: u32) -> QueueRule {
    QueueRule {
        weight,
        ..QueueRule::default()
    }
}

fn limited(limits: QueueLimits) -> QueueRule {
    QueueRule {
        limits,
        ..QueueRule::default()
    }
}

impl Shop {
    fn new(rules: QueueRules) -> Self {
        let mut ledger = Ledger::default();
        ledger.govern(Arc::new(rules), now(0));
        Self {
            ledger,
            jobs: 0,
            now: now(0),
        }
    }

    fn take_in(&mut self, events: Vec<Event>) -> Vec<JobId> {
        for event in &events {
            let at = RecordAt(1 + self.jobs as u64);
            let taken = self.ledger.evolve(event, at, self.now.mono);
            taken.expect("sound");
        }
        events.iter().filter_map(Event::id).collect()
    }

    fn wish(&mut self, wish: Command) -> Vec<JobId> {
        self.ledger.advance(self.now);
        let events = self.ledger.decide(wish, self.now, 0).expect("allowed");
        self.take_in(events)
    }

    fn enqueue(&mut self, queue: &str, kind: &str, group: Option<&str>, priority: i16) -> JobId {
        self.jobs += 1;
        let mut job = job(self.jobs, kind, self.now.wall.0);
        (job.queue, job.priority) = (queue.to_string(), priority);
        job.terms.group = group.map(str::to_string);
        self.wish(Command::Enqueue(Box::new(job)))[0]
    }

    fn many(&mut self, queue: &str, group: Option<&str>, count: usize) {
        for _ in 0..count {
            self.enqueue(queue, "k", group, 0);
        }
    }

    fn claim(&mut self) -> Option<JobId> {
        let kinds = ["k".to_string(), "l".into()];
        self.wish(Command::Claim(kinds.into())).pop()
    }

    fn end(&mut self, id: JobId) {
        let token = self.ledger.get(id).expect("it runs").token;
        let report = report(id.0, token.0, Outcome::Completed(output()));
        self.wish(Command::Settle(Box::new(report)));
    }

    /// The queues of the next `count` jobs, each ended at once.
    fn order(&mut self, count: usize) -> String {
        let ids: Vec<_> = (0..count)
            .map_while(|_| {
                let id = self.claim()?;
                self.end(id);
                Some(id)
            })
            .collect();
        let queue = |id: JobId| self.ledger.get(id).expect("it ended").queue;
        ids.into_iter().map(|id| queue(id).to_string()).collect()
    }

    /// The groups of the next jobs, each ended at once.
    fn groups(&mut self, count: usize) -> String {
        let ids: Vec<_> = (0..count)
            .map_while(|_| {
                let id = self.claim()?;
                self.end(id);
                Some(id)
            })
            .collect();
        let group = |id: JobId| self.ledger.get(id).expect("it ended").group;
        ids.into_iter()
            .map(|id| group(id).map_or("-".to_string(), |group| group.to_string()))
            .collect()
    }

    fn steer(&mut self, queue: &str, mode: Option<QueueMode>, limits: Option<QueueLimits>) {
        self.wish(Command::Steer {
            queue: queue.into(),
            mode,
            limits,
            by: "ada".into(),
        });
    }

    fn pass(&mut self, ms: u64) {
        self.now.mono += ms;
        self.now.wall = self.now.wall.plus(ms);
    }
}

#[test]
fn queues_share_by_weight_and_each_has_its_turn_soon() {
    let mut shop = Shop::new(rules(&[("a", weight(3))], &[]));
    shop.many("a", None, 300);
    shop.many("b", None, 100);
    shop.many("c", None, 100);
    let order = shop.order(100);
    let count = |queue: &str| order.matches(queue).count();
    assert_eq!(
        (count("a"), count("b"), count("c")),
        (60, 20, 20),
        "{order}"
    );
    // Smooth: of any five in a row each has its part, give or take one.
    for start in 0..95 {
        let part = &order[start..start + 5];
        assert!((2..=4).contains(&part.matches('a').count()), "{part}");
        assert!(part.matches('b').count() <= 2, "{part}");
    }
}

#[test]
fn a_queue_that_was_empty_saves_up_no_turns_and_does_not_wait_for_others_to_end() {
    let mut shop = Shop::new(QueueRules::default());
    shop.many("a", None, 200);
    assert_eq!(shop.order(100).matches('a').count(), 100);
    shop.many("b", None, 20);
    let order = shop.order(20);
    assert_eq!(order.matches('b').count(), 10, "{order}");
    // New queues that come all the time do not keep an old one from its turn.
    for name in 0..50 {
        shop.many(&format!("n{name}"), None, 1);
    }
    shop.many("z", None, 1);
    let mut before_z = 0;
    loop {
        shop.many(&format!("m{before_z}"), None, 1);
        let order = shop.order(1);
        if order == "z" {
            break;
        }
        before_z += 1;
        assert!(before_z < 120, "z never had its turn");
    }
}

#[test]
fn a_queue_whose_jobs_keep_coming_has_its_turn_like_one_that_is_full() {
    let mut shop = Shop::new(QueueRules::default());
    shop.many("a", None, 100);
    let order = |priority| {
        shop.enqueue("b", "k", None, priority);
        shop.order(1)
    };
    let order: String = (0..40).map(order).collect();
    assert_eq!(order.matches('b').count(), 20, "{order}");
}

#[test]
fn queues_in_strict_order_come_one_after_the_other() {
    let mut shop = Shop::new(rules(&[("c", weight(9))], &["x", "y"]));
    for queue in ["c", "y", "x", "d"] {
        shop.many(queue, None, 3);
    }
    let order = shop.order(20);
    assert!(order.starts_with("xxxyyy"), "{order}");
    assert_eq!(order.len(), 12);
    shop.many("d", None, 2);
    shop.enqueue("x", "k", None, 0);
    assert!(shop.order(3).starts_with('x'));
}

#[test]
fn a_job_knows_what_comes_before_it_in_its_queue_and_in_others() {
    let mut shop = Shop::new(rules(&[], &["x"]));
    let first = shop.enqueue("a", "k", None, 0);
    let second = shop.enqueue("a", "k", None, 0);
    let hold = |shop: &Shop, id| match shop.ledger.hold(id, shop.now) {
        Some(Hold::Behind(ahead)) => ahead,
        other => panic!("{other:?}"),
    };
    assert_eq!(hold(&shop, first), Ahead::default());
    let urgent = shop.enqueue("x", "k", None, 0);
    shop.enqueue("b", "other", None, 0);
    let ahead = hold(&shop, second);
    assert_eq!(ahead.jobs, 1);
    let rival = |queue: &str, kind: &str, is_first| Rival {
        queue: queue.into(),
        kinds: vec![kind.into()],
        is_first,
    };
    let [one, other] = [rival("x", "k", true), rival("b", "other", false)];
    assert!(
        ahead.rivals.contains(&one) && ahead.rivals.contains(&other),
        "{ahead:?}"
    );
    assert_eq!(ahead.rivals.len(), 2);
    // What is paused gives out nothing, and nothing comes before the first.
    shop.steer("x", Some(QueueMode::Paused), None);
    assert_eq!(hold(&shop, second).rivals, [other]);
    shop.steer("x", Some(QueueMode::Open), None);
    assert_eq!(hold(&shop, urgent), Ahead::default());
}

#[test]
fn priority_counts_inside_a_queue_and_then_the_earlier() {
    let mut shop = Shop::new(QueueRules::default());
    let late = shop.enqueue("a", "l", None, 0);
    let low = shop.enqueue("a", "k", None, -5);
    let high = shop.enqueue("a", "k", None, 5);
    let later = shop.enqueue("a", "k", None, 0);
    let given: Vec<_> = (0..4).filter_map(|_| shop.claim()).collect();
    assert_eq!(given, [high, late, later, low]);
}

#[test]
fn groups_of_a_queue_take_turns_however_much_one_has() {
    let mut shop = Shop::new(QueueRules::default());
    shop.many("a", Some("x"), 50);
    shop.many("a", Some("y"), 2);
    shop.many("a", None, 2);
    assert_eq!(shop.groups(8), "xy-xy-xx");
    // Who comes later stands behind those who wait.
    shop.many("a", Some("z"), 2);
    assert_eq!(shop.groups(4), "xzxz");
    shop.enqueue("a", "k", Some("x"), 1);
    shop.many("a", Some("z"), 1);
    assert_eq!(
        shop.groups(2),
        "xz",
        "a higher priority comes first all the same"
    );
}

#[test]
fn a_paused_queue_gives_out_nothing_and_a_draining_one_takes_nothing_in() {
    let mut shop = Shop::new(QueueRules::default());
    shop.many("a", None, 2);
    shop.many("b", None, 2);
    shop.steer("a", Some(QueueMode::Paused), None);
    assert_eq!(shop.order(5), "bb");
    shop.many("a", None, 1);
    shop.ledger.take_opened();
    shop.steer("a", Some(QueueMode::Open), None);
    assert!(
        shop.ledger.take_opened(),
        "who waits for work is to look again"
    );
    assert_eq!(shop.order(2), "aa");
    shop.steer("a", Some(QueueMode::Draining), None);
    let mut job = job(900, "k", 0);
    job.queue = "a".into();
    let refused = shop
        .ledger
        .decide(Command::Enqueue(Box::new(job)), shop.now, 0);
    let why = refused.expect_err("it takes nothing in").to_string();
    assert!(why.contains("queue a") && why.contains("resume a"), "{why}");
    assert_eq!(shop.order(2), "a");
    let paused = Steering {
        mode: QueueMode::Draining,
        ..Steering::default()
    };
    let told: Vec<_> = shop
        .ledger
        .steered()
        .map(|(name, to)| (name.to_string(), to))
        .collect();
    assert_eq!(told, [("a".to_string(), paused)]);
    shop.steer("a", Some(QueueMode::Open), None);
    assert_eq!(shop.ledger.steered().count(), 0);
}

#[test]
fn as_many_run_as_may_and_the_next_begins_when_one_ends() {
    let limits = QueueLimits {
        concurrency: Some(2),
        group_concurrency: Some(1),
        ..QueueLimits::default()
    };
    let mut shop = Shop::new(rules(&[("a", limited(limits))], &[]));
    shop.many("a", Some("x"), 3);
    shop.many("a", Some("y"), 3);
    shop.many("a", Some("z"), 1);
    let (one, other) = (shop.claim().expect("room"), shop.claim().expect("room"));
    let group = |shop: &Shop, id| shop.ledger.get(id).and_then(|entry| entry.group);
    assert_ne!(group(&shop, one), group(&shop, other));
    assert_eq!(shop.claim(), None);
    shop.ledger.take_opened();
    shop.end(one);
    assert!(shop.ledger.take_opened(), "a place was freed");
    let third = shop.claim().expect("room");
    assert_eq!(
        group(&shop, third).as_deref(),
        Some("z"),
        "whose turn it is"
    );
    assert_eq!(shop.claim(), None);
    // More may run from now on, and the groups are still bounded.
    shop.steer(
        "a",
        None,
        Some(QueueLimits {
            concurrency: Some(9),
            ..QueueLimits::default()
        }),
    );
    assert_eq!(shop.ledger.limits("a").group_concurrency, Some(1));
    let fourth = shop.claim().expect("room");
    assert_eq!(group(&shop, fourth).as_deref(), Some("x"));
    assert_eq!(shop.claim(), None);
    shop.steer("a", None, Some(QueueLimits::default()));
    assert_eq!(shop.ledger.limits("a").concurrency, Some(2));
}
