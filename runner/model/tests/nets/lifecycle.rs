//! The table of states and facts in `docs/job-lifecycle.md`, made of what the rules do.

use std::{env, fs, path::PathBuf};

use sandhog_model::{Event, Ledger, RecordAt, State, UnixMs};

use crate::{
    cases::{AT, ID, facts, states},
    kept::facts_of_keeping,
    table::{held, ledger},
};

/// The columns: a state of the table of all cases, and its heading.
const STATES: [(&str, &str); 10] = [
    ("scheduled", "scheduled"),
    ("available", "available"),
    ("running", "running"),
    ("running, asked to end", "asked to end"),
    ("retryable", "retryable"),
    ("completed", "completed"),
    ("discarded", "discarded"),
    ("cancelled", "cancelled"),
    ("expired", "expired"),
    ("dead", "dead"),
];

/// The rows: a fact of the table of all cases, and what it says.
const FACTS: [(&str, &str); 23] = [
    ("leased, larger token", "a worker takes it"),
    ("checkpointed", "it keeps a checkpoint"),
    ("settled completed", "the attempt completes"),
    ("settled retry", "the attempt fails, another follows"),
    ("settled snoozed", "the handler snoozes"),
    ("settled put back", "the attempt is put back"),
    ("settled discarded", "the handler drops it"),
    ("settled dead", "the attempt fails, none follows"),
    ("settled cancelled", "the attempt ends, asked to"),
    ("lost", "its worker is lost"),
    ("lost and buried", "its worker is lost once too often"),
    ("asked to end", "it is asked to end"),
    ("cancelled", "it is cancelled"),
    ("replaced", "another takes its place"),
    ("hastened", "it is to run now"),
    ("postponed", "it becomes due at another instant"),
    ("expired", "it is too late to begin"),
    ("dropped", "it is dropped from outside"),
    ("requeued", "it is brought back"),
    (
        "requeued from dead",
        "it is brought back from the dead letters",
    ),
    ("deleted", "it is deleted"),
    ("pruned", "it is forgotten"),
    ("unlocked", "it is to stand in nobody's way"),
];

const BEGIN: &str = "<!-- made from the rules: begin -->\n";
const END: &str = "<!-- made from the rules: end -->\n";

/// What becomes of the job, in a cell.
fn cell(before: &[Event], fact: &Event) -> String {
    let mut ledger: Ledger = ledger(before);
    if ledger.evolve(fact, RecordAt(500), 0).is_err() {
        return "·".into();
    }
    match ledger.state(ID, UnixMs(AT)) {
        Some(state) if ledger.get(ID).is_some_and(|entry| entry.asked.is_some()) => {
            assert_eq!(state, State::Running);
            "asked to end".into()
        }
        Some(state) => state.to_string(),
        None => "gone".into(),
    }
}

fn table() -> String {
    let states = states();
    let mut text = String::from("| |");
    STATES
        .iter()
        .for_each(|(_, heading)| text += &format!(" {heading} |"));
    text += "\n|---|";
    text += &"---|".repeat(STATES.len());
    text.push('\n');
    for (name, says) in FACTS {
        text += &format!("| {says} |");
        for (state, _) in STATES {
            let found = states.iter().find(|(one, _)| *one == state);
            let before = &found.expect("a state of the table").1;
            let (token, number) = held(&ledger(before));
            let all = facts(token, number).into_iter();
            let mut all = all.chain(facts_of_keeping(ledger(before).get(ID).as_ref()));
            let fact = all.find(|(one, _)| *one == name);
            text += &format!(" {} |", cell(before, &fact.expect("a fact of the table").1));
        }
        text.push('\n');
    }
    text
}

#[test]
fn the_page_has_the_table_of_states_and_facts() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/job-lifecycle.md");
    let page = fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(BEGIN).expect("the table begins");
    let (kept, after) = rest.split_once(END).expect("the table ends");
    let table = table();
    if env::var_os("UPDATE_SNAPSHOTS").is_some() {
        let page = format!("{before}{BEGIN}{table}{END}{after}");
        return fs::write(&path, page).expect("the page can be written");
    }
    assert_eq!(kept, table, "UPDATE_SNAPSHOTS=1 writes it anew");
}

#[test]
fn an_attempt_is_shown_by_its_number_and_then_as_one_that_was_used() {
    for (name, shown) in [
        ("available", 0),
        ("running", 1),
        ("running, failed and checkpointed before", 2),
        ("retryable", 1),
        ("completed", 1),
    ] {
        let mut states = states().into_iter();
        let (_, before) = states.find(|(one, _)| *one == name).expect("a state");
        let entry = ledger(&before).get(ID).expect("it is there");
        assert_eq!(entry.shown_attempt(), shown, "{name}");
    }
}

/// Nothing of it is copied, and nothing is told otherwise.
#[test]
fn who_looks_at_a_job_sees_what_who_gets_it_does() {
    for (name, before) in states() {
        let ledger = ledger(&before);
        let (Some(seen), Some(entry)) = (ledger.look(ID), ledger.get(ID)) else {
            assert_eq!(name, "unknown");
            continue;
        };
        assert_eq!(seen.entry(), entry, "{name}");
        assert_eq!((seen.kind(), seen.queue()), (&*entry.kind, &*entry.queue));
        assert_eq!((seen.kind(), seen.queue()), ("k", "default"));
        assert_eq!((seen.status(), seen.token()), (entry.status, entry.token));
        assert_eq!(seen.failure(), entry.failure, "{name}");
        assert_eq!(
            (seen.enqueued(), seen.latest()),
            (entry.enqueued, entry.latest)
        );
        let last = RecordAt(99 + before.len() as u64);
        assert_eq!(
            (entry.enqueued, entry.latest),
            (RecordAt(100), last),
            "{name}"
        );
        assert_eq!(entry.max_attempts, 3, "{name}");
    }
}
