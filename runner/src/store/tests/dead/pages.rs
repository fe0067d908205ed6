//! Pages and filters.

use sandhog_model::{Failure, FailureKind, JobId, Letter, TrapKind, UnixMs};

use super::{
    super::stage::{first_page, job_of},
    bury, ids, letter, open, shown,
};
use crate::{
    disk::sim::SimDisk,
    store::{
        DeadFilter, LetterName, PageRequest,
        dead::{BadList, DeadStore},
    },
};

#[test]
fn pages_neither_skip_nor_repeat_while_letters_come_and_go() {
    let store = open(&SimDisk::default());
    let ids = ids(30);
    let letters: Vec<Letter> = ids[..20]
        .iter()
        .zip(0..)
        .map(|(id, at)| letter(*id, 100 + at / 3, 10))
        .collect();
    bury(&store, &letters);
    let expected = shown(&store);
    let mut walked = Vec::new();
    let mut page = first_page(3);
    let mut came = ids[20..].iter().zip(1000..);
    loop {
        let part = store.list(&DeadFilter::default(), &page).expect("a page");
        walked.extend(part.rows.iter().filter_map(|row| job_of(row.name)));
        // Every other time the row the cursor names goes; and a newer one comes.
        let last = *walked.last().expect("no page is empty");
        if walked.len() % 2 == 0 {
            store.remove(&[last]).expect("removed");
        }
        if let Some((id, at)) = came.next() {
            bury(&store, &[letter(*id, at, 10)]);
        }
        match part.next {
            Some(next) => page.cursor = Some(next),
            None => break,
        }
    }
    assert_eq!(walked, expected);
}

/// Walk all pages, doing something to the store after each.
fn walk(store: &DeadStore, limit: usize, mut between: impl FnMut(usize, &[JobId])) -> Vec<JobId> {
    let (mut walked, mut page) = (Vec::new(), first_page(limit));
    for number in 0.. {
        let part = store.list(&DeadFilter::default(), &page).expect("a page");
        walked.extend(part.rows.iter().filter_map(|row| job_of(row.name)));
        between(number, &walked);
        match part.next {
            Some(next) => page.cursor = Some(next),
            None => break,
        }
    }
    walked
}

#[test]
fn a_letter_that_dies_again_between_pages_is_shown_once_more_at_most_as_new() {
    let store = open(&SimDisk::default());
    let ids = ids(40);
    let letters: Vec<Letter> = ids.iter().map(|id| letter(*id, 100, 10)).collect();
    bury(&store, &letters);
    let all = shown(&store);
    let mut moved = Vec::new();
    let walked = walk(&store, 4, |number, walked| {
        // One from before the cursor and one from behind it are brought back and die again.
        let back = walked[number];
        let ahead = all[all.len() - 1 - number];
        for id in [back, ahead] {
            store.remove(&[id]).expect("removed");
            bury(&store, &[letter(id, 1000 + number as u64, 10)]);
            moved.push(id);
        }
    });
    let mut seen = walked.clone();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), walked.len(), "a row twice");
    // What was there all along is there; what moved to the front meanwhile may be passed over.
    for id in all.iter().filter(|id| !moved.contains(id)) {
        assert!(walked.contains(id), "{id} was passed over");
    }
}

#[test]
fn only_cursors_of_a_list_are_taken() {
    let store = open(&SimDisk::default());
    let ids = ids(5);
    let letters: Vec<Letter> = ids
        .iter()
        .zip(1..)
        .map(|(id, at)| letter(*id, at, 10))
        .collect();
    bury(&store, &letters);
    let list = |cursor: &str| {
        let page = PageRequest {
            limit: 2,
            cursor: Some(cursor.to_owned()),
        };
        store.list(&DeadFilter::default(), &page)
    };
    let big = (1_u64 << 63).to_string();
    let bad = [
        "",
        "-1",
        "0",
        &big,
        "a",
        "-",
        "1-",
        "1-2",
        "+1-x",
        "@",
        "@-1",
        "@x",
        "@99999999999999999999999",
    ];
    for cursor in bad {
        let error = list(cursor).expect_err(cursor);
        assert_eq!(error, BadList::Cursor(cursor.to_owned()));
        assert!(error.to_string().contains("is no cursor"), "{error}");
        assert!(
            store.count(&DeadFilter::default(), Some(cursor)).is_err(),
            "{cursor}"
        );
    }
    let page = store
        .list(&DeadFilter::default(), &first_page(2))
        .expect("a page");
    let cursor = page.next.expect("there is more");
    store.remove(&[ids[3], ids[4]]).expect("removed");
    let rest = list(&cursor).expect("the cursor's row is gone");
    let shown: Vec<_> = rest
        .rows
        .iter()
        .filter_map(|row| job_of(row.name))
        .collect();
    assert_eq!(shown, [ids[2], ids[1]]);
}

/// One letter, of the last failure.
fn failed(id: JobId, died_at: u64, kind: FailureKind, cause: &str) -> Letter {
    let mut letter = letter(id, died_at, 10);
    letter.attempts[0].failure = Some(Failure::new(kind, "E_CODE", cause));
    letter
}

/// A filter of words such as `kind=page`.
fn choice(words: &str) -> DeadFilter {
    let mut filter = DeadFilter::default();
    for word in words.split_whitespace() {
        let (key, value) = word.split_once('=').expect("a key and a value");
        let text = Some(value.to_owned());
        let at = || value.parse().map(UnixMs).ok();
        match key {
            "queue" => filter.queue = text,
            "kind" => filter.kind = text,
            "failure" => filter.failure = text,
            "digest" => filter.digest = text,
            "text" => filter.text = text,
            "since" => filter.since = at(),
            "until" => filter.until = at(),
            "unreadable" => filter.unreadable = true,
            other => panic!("there is no {other}"),
        }
    }
    filter
}

#[test]
fn each_filter_shows_what_fits_and_counts_it() {
    let store = open(&SimDisk::default());
    let ids = ids(6);
    let trap = FailureKind::Trap(TrapKind::Unreachable);
    let overflow = FailureKind::Trap(TrapKind::StackOverflow);
    let mut letters = [
        failed(ids[0], 10, trap, "it panicked"),
        failed(ids[1], 20, overflow, "too deep"),
        failed(ids[2], 30, FailureKind::Timeout, "Straße GESPERRT"),
        failed(ids[3], 40, FailureKind::Error, "no photo"),
        failed(ids[4], 50, FailureKind::Error, "no photo"),
        failed(ids[5], 60, FailureKind::Error, "no photo"),
    ];
    letters[3].job.queue = "slow".to_owned();
    letters[4].job.kind = "page".to_owned();
    letters[5].job.payload = b"{\"user\": \"Needle\"}".to_vec();
    letters[5].attempts[0].digest = "c0ffee00".repeat(8);
    bury(&store, &letters);
    let table: [(&str, &[usize]); 19] = [
        ("", &[5, 4, 3, 2, 1, 0]),
        ("queue=slow", &[3]),
        ("queue=none", &[]),
        ("kind=page", &[4]),
        ("failure=trap", &[1, 0]),
        ("failure=trap:", &[1, 0]),
        ("failure=trap:unreachable", &[0]),
        ("failure=timeout", &[2]),
        ("digest=C0FFEE", &[5]),
        ("digest=ab", &[4, 3, 2, 1, 0]),
        ("digest=ff", &[]),
        ("since=40", &[5, 4, 3]),
        ("until=40", &[2, 1, 0]),
        ("text=straße", &[2]),
        ("text=e_code", &[5, 4, 3, 2, 1, 0]),
        ("text=needle", &[5]),
        ("text=nowhere", &[]),
        ("text=photo kind=page", &[4]),
        ("unreadable=", &[]),
    ];
    for (words, expected) in table {
        let filter = choice(words);
        let page = store.list(&filter, &first_page(10)).expect("a page");
        let shown: Vec<_> = page.rows.iter().map(|row| row.name).collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|at| LetterName::Job(ids[*at]))
            .collect();
        assert_eq!(shown, expected, "{filter:?}");
        let counted = store.count(&filter, None).expect("a count");
        assert_eq!(
            (counted.count, counted.next),
            (shown.len() as u64, None),
            "{filter:?}"
        );
    }
    for words in [
        "failure=trapped",
        "failure=tr",
        "failure=x",
        "failure=:",
        "failure=",
    ] {
        let refused = store.list(&choice(words), &first_page(1)).expect_err(words);
        let refused = refused.to_string();
        assert!(refused.contains("trap:unreachable"), "{refused}");
    }
    assert!(store.list(&choice("digest=xyz"), &first_page(1)).is_err());
}

#[test]
fn a_row_of_a_large_letter_needs_no_read_of_it() {
    let disk = SimDisk::default();
    let store = open(&disk);
    let ids = ids(2);
    let mut large = failed(
        ids[0],
        1,
        FailureKind::Error,
        &format!("{}END", "é".repeat(600)),
    );
    large.job.payload = vec![b'x'; 10 << 20];
    bury(
        &store,
        &[large, failed(ids[1], 2, FailureKind::Error, "small")],
    );
    drop(store);
    for store in [
        open(&disk),
        open(&disk.after_crash(crate::disk::sim::Unsynced::Dropped)),
    ] {
        let page = store
            .list(&DeadFilter::default(), &first_page(9))
            .expect("a page");
        let row = &page.rows[1];
        assert!(row.failure.cause.starts_with("éé") && row.failure.cause.ends_with('…'));
        assert!(row.failure.cause.len() < 520);
        let filter = DeadFilter {
            text: Some("ÉÉ".to_owned()),
            ..DeadFilter::default()
        };
        assert_eq!(
            store
                .list(&filter, &first_page(9))
                .expect("a page")
                .rows
                .len(),
            1
        );
        let whole = store.letter(ids[0]).expect("read").expect("the letter");
        assert_eq!(whole.job.payload.len(), 10 << 20);
        drop(store);
    }
}
