//! Random steps under limits: what runs and begins, told a second time from a list.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sandhog_model::{Command, JobId, QueueLimits, QueueMode, State};

use super::{Shop, limited, rules};

#[derive(Debug, Clone)]
enum Step {
    Enqueue { queue: u8, group: Option<u8> },
    Claim,
    End(usize),
    Lose(usize),
    Pause { queue: u8, mode: QueueMode },
    Limit { queue: u8, concurrency: Option<u32> },
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (0..3_u8, prop::option::of(0..3_u8))
            .prop_map(|(queue, group)| Step::Enqueue { queue, group }),
        6 => Just(Step::Claim),
        3 => (0..9_usize).prop_map(Step::End),
        2 => (0..9_usize).prop_map(Step::Lose),
        1 => (0..3_u8, prop::sample::select(&QueueMode::ALL[..]))
            .prop_map(|(queue, mode)| Step::Pause { queue, mode }),
        1 => (0..3_u8, prop::option::of(1..4_u32))
            .prop_map(|(queue, concurrency)| Step::Limit { queue, concurrency }),
        2 => (0..300_u64).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 1..150)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever ends, is lost, paused or set: no more run than may, no more begin than may, and when
    /// nothing is given nothing may begin.
    #[test]
    fn limits_hold_at_every_step_and_nothing_waits_without_a_reason(steps in steps()) {
        let limits = QueueLimits {
            concurrency: Some(3),
            rate: Some("10/1s burst 4".parse().expect("a rate")),
            group_concurrency: Some(1),
            group_rate: Some("5/1s burst 2".parse().expect("a rate")),
        };
        let rule = limited(limits);
        let mut shop = Shop::new(rules(&[("q0", rule), ("q1", rule), ("q2", rule)], &[]));
        // When attempts of each queue, and of each of its groups, began.
        let mut began: BTreeMap<(String, Option<String>), Vec<u64>> = BTreeMap::new();
        for step in steps {
            let running: Vec<JobId> = shop.ledger.leases().iter().map(|(id, _)| *id).collect();
            match step {
                Step::Enqueue { queue, group } => {
                    let queue = format!("q{queue}");
                    if shop.ledger.steering(&queue).mode != QueueMode::Draining {
                        let group = group.map(|group| format!("g{group}"));
                        shop.enqueue(&queue, "k", group.as_deref(), 0);
                    }
                }
                Step::Claim => {
                    let given = shop.claim();
                    if let Some(entry) = given.and_then(|id| shop.ledger.get(id)) {
                        let queue = entry.queue.to_string();
                        prop_assert!(shop.ledger.steering(&queue).mode != QueueMode::Paused);
                        began.entry((queue.clone(), None)).or_default().push(shop.now.mono);
                        if let Some(group) = entry.group {
                            let of = (queue, Some(group.to_string()));
                            began.entry(of).or_default().push(shop.now.mono);
                        }
                    } else {
                        nothing_may_begin(&shop, &began);
                    }
                }
                Step::End(at) if !running.is_empty() => shop.end(running[at % running.len()]),
                Step::Lose(at) if !running.is_empty() => {
                    let (id, token) = shop.ledger.leases()[at % running.len()];
                    shop.wish(Command::Lose { id, token });
                }
                Step::End(_) | Step::Lose(_) => {}
                Step::Pause { queue, mode } => shop.steer(&format!("q{queue}"), Some(mode), None),
                Step::Limit { queue, concurrency } => {
                    let limits = QueueLimits { concurrency, ..QueueLimits::default() };
                    shop.steer(&format!("q{queue}"), None, Some(limits));
                }
                Step::Pass(ms) => shop.pass(ms),
            }
            for ((_, group), times) in &began {
                let (burst, interval) = match group {
                    None => (4, 100),
                    Some(_) => (2, 200),
                };
                for (first, from) in times.iter().enumerate() {
                    let last = *times.last().expect("one began");
                    let count = (times.len() - first) as u64;
                    prop_assert!(count <= burst + (last - from) / interval, "{group:?} {times:?}");
                }
            }
        }
    }
}

/// No job that is due could begin.
fn nothing_may_begin(shop: &Shop, began: &BTreeMap<(String, Option<String>), Vec<u64>>) {
    let ledger = &shop.ledger;
    let runs = |queue: &str, group: Option<&str>| {
        let running = ledger.newest(None).filter(|(_, entry)| {
            let of_group = group.is_none() || entry.group.as_deref() == group;
            entry.running_attempt().is_some() && *entry.queue == *queue && of_group
        });
        running.count() as u32
    };
    // Whether the bucket of a queue or group has a token, by going through all that began.
    let has_token = |queue: &str, group: Option<&str>| {
        let (burst, interval) = if group.is_none() { (4, 100) } else { (2, 200) };
        let of = (queue.to_string(), group.map(str::to_string));
        let mut full_at = 0;
        for at in began.get(&of).into_iter().flatten() {
            full_at = full_at.max(*at) + interval;
        }
        full_at <= shop.now.mono + (burst - 1) * interval
    };
    for (id, entry) in ledger.newest(None) {
        if ledger.state(id, shop.now.wall) != Some(State::Available) {
            continue;
        }
        let (queue, group) = (&*entry.queue, entry.group.as_deref());
        let is_open = ledger.steering(queue).mode != QueueMode::Paused;
        let limits = ledger.limits(queue);
        let is_free = limits
            .concurrency
            .is_none_or(|most| runs(queue, None) < most);
        let may = group.is_none() || runs(queue, group) == 0 && has_token(queue, group);
        assert!(
            !(is_open && is_free && may && has_token(queue, None)),
            "job {id} of {queue} and {group:?} waits for nothing"
        );
    }
}

#[test]
fn a_group_whose_only_job_runs_is_full() {
    let limits = QueueLimits {
        group_concurrency: Some(1),
        ..QueueLimits::default()
    };
    let mut shop = Shop::new(rules(&[("a", limited(limits))], &[]));
    shop.enqueue("a", "k", Some("x"), 0);
    let first = shop.claim().expect("room");
    shop.enqueue("a", "k", Some("x"), 0);
    assert_eq!(shop.claim(), None);
    shop.ledger.take_opened();
    assert!(!shop.ledger.take_opened(), "nothing was freed since");
    shop.end(first);
    assert!(shop.ledger.take_opened() && shop.claim().is_some());
}
