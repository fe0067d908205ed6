//! Names and sentences that people read and write.

use std::collections::BTreeSet;

use sandhog_model::{Asked, FailureKind, JobId, OnConflict, Scope, State, TrapKind};

use crate::sample::cancellation;

#[test]
fn names_are_as_documented_and_read_back() {
    let states = "scheduled available running retryable completed cancelled discarded dead expired";
    assert_eq!(State::ALL.map(State::name).join(" "), states);
    for state in State::ALL {
        assert_eq!(state.name().parse(), Ok(state));
    }
    let why = "gone".parse::<State>().expect_err("no state");
    assert!(
        why.contains("\"gone\"") && why.contains("retryable"),
        "{why}"
    );
    let answers = "reject keep replace debounce";
    assert_eq!(OnConflict::ALL.map(OnConflict::name).join(" "), answers);
    for answer in OnConflict::ALL {
        assert_eq!(answer.name().parse(), Ok(answer));
    }
    assert!("gone".parse::<OnConflict>().is_err());
    assert_eq!(
        [Asked::Cancel, Asked::Kill].map(Asked::name),
        ["cancel", "kill"]
    );
}

#[test]
fn states_end_as_documented() {
    let goes_on = State::ALL.into_iter().filter(|state| !state.is_final());
    let goes_on: Vec<&str> = goes_on.map(State::name).collect();
    assert_eq!(goes_on, ["scheduled", "available", "running", "retryable"]);
}

#[test]
fn every_failure_has_a_name_of_its_own_and_those_that_repeat_themselves_are_known() {
    let names: BTreeSet<&str> = FailureKind::ALL.map(FailureKind::name).into();
    assert_eq!(names.len(), FailureKind::ALL.len());
    for kind in FailureKind::ALL {
        assert_eq!(FailureKind::named(kind.name()), Some(kind));
        assert_eq!(
            kind.name().starts_with("trap:"),
            matches!(kind, FailureKind::Trap(_))
        );
    }
    assert_eq!(FailureKind::named("gone"), None);
    let goes = FailureKind::ALL
        .into_iter()
        .filter(|kind| !kind.is_deterministic());
    let goes: Vec<&str> = goes.map(FailureKind::name).collect();
    assert_eq!(
        goes,
        ["error", "timeout", "host-error", "lost", "cancelled"]
    );
    assert_eq!(
        FailureKind::Trap(TrapKind::StackOverflow).name(),
        "trap:stack-overflow"
    );
}

#[test]
fn scopes_are_written_as_their_states() {
    for (text, scope, shown) in [
        ("unfinished", Scope::UNFINISHED, "waiting,retryable,running"),
        ("available", Scope::WAITING, "waiting"),
        (
            "running, dead",
            Scope::RUNNING.and("dead".parse().expect("a state")),
            "running,dead",
        ),
        (
            "waiting,retryable,running,completed,cancelled,discarded,dead,expired",
            Scope::KNOWN,
            "waiting,retryable,running,completed,cancelled,discarded,dead,expired",
        ),
    ] {
        assert_eq!(text.parse(), Ok(scope), "{text}");
        assert_eq!(scope.to_string(), shown);
        assert_eq!(Scope::from_bits(scope.bits()), scope);
    }
    let (waiting, both) = (Scope::WAITING, Scope::WAITING.and(Scope::RETRYABLE));
    assert_eq!(
        (waiting.bits(), both.bits(), both.and(waiting).bits()),
        (1, 3, 3)
    );
    assert_eq!(
        Scope::from_bits(0xFF01),
        Scope::WAITING,
        "bits that mean nothing"
    );
}

#[test]
fn who_called_a_job_off_and_why_is_one_line() {
    let mut cancel = cancellation(Asked::Cancel);
    assert_eq!(cancel.told(), "cancelled by ada: no use");
    (cancel.how, cancel.reason) = (Asked::Kill, None);
    assert_eq!(cancel.told(), "killed by ada");
}

#[test]
fn a_text_that_is_no_id_is_named() {
    for text in ["", "zz", "81JDVYT8G0QYV5XMP1Z3M4N5P6"] {
        let why = text.parse::<JobId>().expect_err(text).to_string();
        assert!(
            why.contains(&format!("{text:?}")) && why.contains("26"),
            "{why}"
        );
    }
}
