//! Waits between attempts: total, bounded, growing, and the same when read back from their text.

use proptest::prelude::*;
use sandhog_model::{
    Backoff, Command, Event, FailureKind, JobId, Ledger, RecordAt, RetryPolicy, Settlement, Status,
    Token, TrapKind, UnixMs, Verdict,
    limits::{BACKOFF_MS, LOSSES},
};

use crate::{
    cases::{AT, HELD, ID},
    sample::{failed, job, now, policy, report},
    table::ledger,
};

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(u64::MAX),
        any::<u64>(),
        0..BACKOFF_MS
    ]
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(f64::NAN),
        Just(1e308),
        Just(-1.0),
        Just(f64::INFINITY),
        0.0..3.0
    ]
}

fn count() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(u32::MAX), any::<u32>(), 0..200_u32]
}

/// Any backoff at all, also such as no text gives.
fn any_backoff() -> impl Strategy<Value = Backoff> {
    let list = prop::collection::vec(number(), 0..4);
    prop_oneof![
        Just(Backoff::Polynomial),
        (number(), float(), number(), float()).prop_map(|(base_ms, factor, max_ms, jitter)| {
            Backoff::Exponential {
                base_ms,
                factor,
                max_ms,
                jitter,
            }
        }),
        (number(), number(), float()).prop_map(|(step_ms, max_ms, jitter)| Backoff::Linear {
            step_ms,
            max_ms,
            jitter
        }),
        (number(), float()).prop_map(|(delay_ms, jitter)| Backoff::Fixed { delay_ms, jitter }),
        (list, float()).prop_map(|(delays_ms, jitter)| Backoff::List { delays_ms, jitter }),
    ]
}

fn max_of(backoff: &Backoff) -> u64 {
    match backoff {
        Backoff::Exponential { max_ms, .. } | Backoff::Linear { max_ms, .. } => {
            (*max_ms).min(BACKOFF_MS)
        }
        Backoff::Polynomial | Backoff::Fixed { .. } | Backoff::List { .. } => BACKOFF_MS,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_delay_is_within_its_bounds(backoff in any_backoff(), n in count(), entropy in number()) {
        prop_assert!(backoff.delay_ms(n, entropy) <= max_of(&backoff));
    }

    #[test]
    fn any_backoff_reads_back_with_the_same_delays(backoff in any_backoff(), n in count(), entropy: u64) {
        let text = backoff.to_string();
        let again: Backoff = text.parse().map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
        prop_assert_eq!(again.delay_ms(n, entropy), backoff.delay_ms(n, entropy), "{}", text);
        prop_assert_eq!(again.to_string(), text);
    }

    #[test]
    fn delays_grow_to_the_cap_without_jitter(base in number(), factor in float(), max in number(), n in count()) {
        let growing = [
            Backoff::Exponential { base_ms: base, factor, max_ms: max, jitter: 0.0 },
            Backoff::Linear { step_ms: base, max_ms: max, jitter: 0.0 },
            Backoff::Polynomial,
        ];
        for backoff in growing {
            let (this, next) = (backoff.delay_ms(n, 0), backoff.delay_ms(n.saturating_add(1), 0));
            prop_assert!(this <= next, "{backoff}: {this} then {next}");
        }
    }
}

fn delays(text: &str, entropy: u64) -> Vec<u64> {
    let backoff: Backoff = text.parse().expect("a backoff");
    (1..6).map(|n| backoff.delay_ms(n, entropy)).collect()
}

#[test]
fn each_preset_waits_as_documented() {
    assert_eq!(delays("fixed 1s jitter 0", 9), [1_000; 5]);
    assert_eq!(
        delays("linear 10s max 25s jitter 0", 9),
        [10_000, 20_000, 25_000, 25_000, 25_000]
    );
    let hours = |hours: u64| hours * 3_600_000;
    assert_eq!(
        delays("linear 10h jitter 0", 9),
        [10, 20, 24, 24, 24].map(hours),
        "a day when no maximum is named"
    );
    let exponential = [250, 500, 1_000, 2_000, 3_000];
    assert_eq!(delays("exponential 250ms max 3s jitter 0", 9), exponential);
    let thrice = [1_000, 3_000, 9_000, 27_000, 81_000];
    assert_eq!(delays("exponential 1s factor 3 jitter 0", 9), thrice);
    assert_eq!(
        delays("list 1s 5s 1m jitter 0", 9),
        [1_000, 5_000, 60_000, 60_000, 60_000]
    );
    // n^4 + 15 + r * (n + 1), r from 0 to 29.
    assert_eq!(
        delays("polynomial", 30),
        [16_000, 31_000, 96_000, 271_000, 640_000]
    );
    assert_eq!(delays("polynomial", 29)[1], 31_000 + 29 * 3 * 1_000);
}

#[test]
fn jitter_reaches_both_ways_and_no_further() {
    let backoff: Backoff = "fixed 1s jitter 0.2".parse().expect("a backoff");
    let delays: Vec<u64> = (0..10_000)
        .map(|entropy| backoff.delay_ms(1, entropy))
        .collect();
    assert_eq!(delays.iter().min(), Some(&800));
    assert_eq!(delays.iter().max(), Some(&1_200));
    let named: Backoff = "fixed 1s".parse().expect("a backoff");
    assert_eq!(named.to_string(), "fixed 1s jitter 0.1");
}

#[test]
fn a_bad_text_is_refused_naming_the_word() {
    for (text, named) in [
        ("", "\"\""),
        ("quadratic 1s", "\"quadratic\""),
        ("fixed", "\"fixed\""),
        ("fixed 1", "\"1\""),
        ("fixed 11years", "\"11years\""),
        ("fixed 1us", "\"1us\""),
        ("fixed -1s", "\"-1s\""),
        ("fixed 1s 2s", "\"2s\""),
        ("fixed 1s jitter", "\"jitter\""),
        ("fixed 1s jitter 1.1", "\"1.1\""),
        ("fixed 1s jitter NaN", "\"NaN\""),
        ("exponential 1s factor 0.5", "\"0.5\""),
        ("exponential 1s factor inf", "\"inf\""),
        ("linear 1s jitter 0 max 1h", "\"max\""),
        ("list jitter 0", "\"list\""),
        ("polynomial jitter 0", "\"jitter\""),
    ] {
        let refused = text.parse::<Backoff>().expect_err(text);
        assert!(refused.to_string().contains(named), "{text}: {refused}");
    }
    assert!("list 1s ".repeat(1_000).parse::<Backoff>().is_err());
    let padded = |length| format!("{:length$}", "polynomial").parse::<Backoff>();
    assert!(padded(4_096).is_ok() && padded(4_097).is_err());
}

#[test]
fn a_policy_fills_its_gaps_from_the_next_source_and_then_from_the_house() {
    let job = RetryPolicy {
        max_attempts: Some(2),
        ..RetryPolicy::default()
    };
    let kind = RetryPolicy {
        max_attempts: Some(9),
        trap_attempts: Some(7),
        backoff: Some("fixed 1s".parse().expect("a backoff")),
    };
    let resolved = job.or(kind.clone());
    assert_eq!((resolved.max_attempts(), resolved.trap_attempts()), (2, 2));
    assert_eq!(resolved.backoff(), kind.backoff());
    let house = RetryPolicy::default();
    assert_eq!((house.max_attempts(), house.trap_attempts()), (25, 3));
    assert_eq!(house.backoff(), &Backoff::Polynomial);
}

/// A job whose attempts fail so, one after the other; which of them was its last.
fn last_of(retry: &RetryPolicy, failures: impl IntoIterator<Item = FailureKind>) -> usize {
    let mut ledger = Ledger::default();
    let mut place = 0;
    let mut carry_out = |ledger: &mut Ledger, wish: Command, ms: u64| -> Vec<Event> {
        ledger.advance(now(ms));
        let events = ledger.decide(wish, now(ms), 0).expect("sound");
        for event in &events {
            place += 1;
            ledger.evolve(event, RecordAt(place), ms).expect("sound");
        }
        events
    };
    carry_out(&mut ledger, Command::Enqueue(Box::new(job(1, "k", 0))), 0);
    for (number, kind) in failures.into_iter().enumerate() {
        let ms = (number as u64 + 1) * 1_000_000;
        let claim = ["k".to_string()].into();
        carry_out(&mut ledger, Command::Claim(claim), ms);
        let token = ledger.get(JobId(1)).expect("it is there").token;
        let settle = Settlement {
            retry: retry.clone(),
            ..report(1, token.0, failed(kind))
        };
        let events = carry_out(&mut ledger, Command::Settle(Box::new(settle)), ms);
        let [Event::Settled { verdict, .. }] = &events[..] else {
            panic!("{events:?}");
        };
        if *verdict == Verdict::Dead {
            let entry = ledger.get(JobId(1)).expect("it is there");
            assert!(matches!(entry.status, Status::Dead(_)));
            return number + 1;
        }
    }
    panic!("it goes on");
}

#[test]
fn failures_that_repeat_themselves_are_capped_apart_from_the_others() {
    use FailureKind::{Error, Memory, Timeout};
    let trap = FailureKind::Trap(TrapKind::Unreachable);
    let policy = policy(12, 3);
    // Other failures before and between do not count towards the cap of these, nor these reset.
    let mixed = [
        Timeout, Timeout, Error, Error, trap, Error, Memory, Timeout, trap,
    ];
    assert_eq!(last_of(&policy, mixed), 9);
    assert_eq!(last_of(&policy, [trap, trap, trap]), 3);
    // All of them count towards the attempts in all.
    assert_eq!(
        last_of(&policy, [trap, trap].into_iter().chain([Error; 10])),
        12
    );
    assert_eq!(last_of(&policy, [Error; 11].into_iter().chain([trap])), 12);
}

#[test]
fn a_job_is_tried_again_up_to_the_end_of_its_time_to_fail_and_not_past_it() {
    for (retry_for_ms, is_retried) in [(999, false), (1_000, true)] {
        let mut job = job(ID.0, "k", 0);
        job.terms.retry_for_ms = Some(retry_for_ms);
        let at = UnixMs(1_000);
        let (id, token) = (ID, HELD);
        let ledger = ledger(&[
            Event::Enqueued(Box::new(job)),
            Event::Leased { id, token, at },
        ]);
        // The policy of the report waits 1 s.
        let settle = report(ID.0, HELD.0, failed(FailureKind::Error));
        let events = ledger.decide(Command::Settle(Box::new(settle)), now(AT), 0);
        let events = events.expect("the holder may report");
        let [Event::Settled { verdict, .. }] = &events[..] else {
            panic!("{events:?}");
        };
        let retry = Verdict::Retry {
            due: UnixMs(AT + 1_000),
        };
        assert_eq!(
            *verdict == retry,
            is_retried,
            "{retry_for_ms} ms: {verdict:?}"
        );
        assert_eq!(*verdict == Verdict::Dead, !is_retried, "{retry_for_ms} ms");
    }
}

#[test]
fn a_job_that_took_its_worker_away_once_too_often_is_buried_and_says_how_often() {
    let mut ledger = ledger(&[Event::Enqueued(Box::new(job(ID.0, "k", 0)))]);
    for time in 1..=LOSSES + 1 {
        let token = Token(time.into());
        let at = UnixMs(AT);
        let leased = Event::Leased { id: ID, token, at };
        ledger.evolve(&leased, RecordAt(500), 0).expect("sound");
        let events = ledger.decide(Command::Lose { id: ID, token }, now(AT), 0);
        let events = events.expect("the lease holds it");
        let [Event::Lost { buried, .. }] = &events[..] else {
            panic!("{events:?}");
        };
        let failure = buried.as_ref().and_then(|last| last.failure.as_ref());
        assert_eq!(failure.is_some(), time > LOSSES, "{time}");
        assert!(
            failure.is_none_or(|failure| failure.cause.contains("4 times")),
            "{failure:?}"
        );
        ledger.evolve(&events[0], RecordAt(501), 0).expect("sound");
    }
}
