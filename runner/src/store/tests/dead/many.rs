//! T50: very many letters. A few thousand in every run, 200,000 with `SANDHOG_LONG=1`; a table with
//! `SANDHOG_TABLE=1`.

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use sandhog_model::{JobId, Letter, UnixMs};

use super::{
    super::stage::{START, first_page, job_of},
    ids, letter,
};
use crate::{
    disk::RealDisk,
    store::{DeadFilter, PageRequest, dead::DeadStore, lock::Holder},
};

fn open(dir: &Path) -> DeadStore {
    let holder = Holder::this_process(UnixMs(START), "a test");
    DeadStore::open(Arc::new(RealDisk), dir, &holder).expect("opened")
}

/// Resident memory of this process, in bytes.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").expect("there is a /proc");
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("a number") * 4096
}

/// Time of the processor that this thread had: other work on the machine is not in it.
fn busy() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The longest of the pages of a filter, by the time of the processor, and the rows of all of them.
fn walk(
    store: &DeadStore,
    filter: &DeadFilter,
    between: &mut dyn FnMut(),
) -> (Duration, Vec<JobId>) {
    let (mut longest, mut walked) = (Duration::ZERO, Vec::new());
    let mut page = first_page(1000);
    loop {
        let before = busy();
        let part = store.list(filter, &page).expect("a page");
        longest = longest.max(busy().saturating_sub(before));
        walked.extend(part.rows.iter().filter_map(|row| job_of(row.name)));
        between();
        match part.next {
            Some(next) => page.cursor = Some(next),
            None => return (longest, walked),
        }
    }
}

#[test]
fn pages_of_very_many_letters_are_quick_and_whole() {
    let long = std::env::var_os("SANDHOG_LONG").is_some();
    let table = std::env::var_os("SANDHOG_TABLE").is_some();
    let count = if long { 200_000 } else { 5_000 };
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path());
    let (all, more) = (ids(count), ids(count + 500).split_off(count));
    fill(&store, &all);
    drop(store);
    let (before, start) = (resident(), Instant::now());
    let store = open(folder.path());
    let opened = start.elapsed();
    let memory = resident().saturating_sub(before) / count as u64;
    assert_eq!(store.len(), count);

    let filters = filters(count);
    let mut lines = vec![format!(
        "{count} letters, {} MiB: opened in {opened:?}, {memory} bytes of memory each",
        store.bytes() >> 20
    )];
    for (name, filter, expected) in filters {
        lines.push(measured(&store, name, &filter, expected));
    }
    coming_and_going(&store, &all, &more);
    if table {
        println!("{}", lines.join("\n"));
    }
}

/// Letters of 40 kinds in 7 queues, one of them unlike the others.
fn fill(store: &DeadStore, all: &[JobId]) {
    for (number, id) in all.iter().enumerate() {
        let mut one = letter(*id, START + number as u64 / 3, 200);
        one.job.kind = format!("kind-{}", number % 40);
        one.job.queue = format!("queue-{}", number % 7);
        if number == all.len() / 2 {
            one.job.queue = "lonely".to_owned();
            one.job.payload = b"the Needle".to_vec();
        }
        store.stage(&one).expect("written");
    }
    store.sync(true).expect("synced");
}

/// Filters by what they are for, and how many letters fit.
fn filters(count: usize) -> [(&'static str, DeadFilter, usize); 6] {
    let none = DeadFilter::default;
    let text = |text: &str| Some(text.to_owned());
    [
        ("all", none(), count),
        (
            "a queue of one",
            DeadFilter {
                queue: text("lonely"),
                ..none()
            },
            1,
        ),
        (
            "no such kind",
            DeadFilter {
                kind: text("none"),
                ..none()
            },
            0,
        ),
        (
            "one in 40",
            DeadFilter {
                kind: text("kind-3"),
                ..none()
            },
            count / 40,
        ),
        (
            "a text in one",
            DeadFilter {
                text: text("needle"),
                ..none()
            },
            1,
        ),
        (
            "a text in none",
            DeadFilter {
                text: text("nowhere"),
                ..none()
            },
            0,
        ),
    ]
}

/// Walk and count, and say how long it took.
fn measured(store: &DeadStore, name: &str, filter: &DeadFilter, expected: usize) -> String {
    // A build without optimisation takes longer, whatever the machine.
    let bound = Duration::from_millis(if cfg!(debug_assertions) { 2_000 } else { 200 });
    let (longest, walked) = walk(store, filter, &mut || {});
    assert_eq!(walked.len(), expected, "{name}");
    assert!(longest < bound, "{name}: {longest:?}");
    let before = Instant::now();
    let mut counted = store.count(filter, None).expect("a count");
    while let Some(next) = counted.next.take() {
        let part = store.count(filter, Some(&next)).expect("a count");
        counted.count += part.count;
        counted.next = part.next;
    }
    assert_eq!(counted.count, expected as u64, "{name}");
    format!(
        "{name}: longest page of 1000 {longest:?}, counted in {:?}",
        before.elapsed()
    )
}

/// One walk while letters come and go: none twice, none passed over that was there all along.
fn coming_and_going(store: &DeadStore, all: &[JobId], more: &[JobId]) {
    let (mut step, mut gone) = (0, Vec::new());
    let (_, mut walked) = walk(store, &DeadFilter::default(), &mut || {
        if let Some(id) = more.get(step) {
            let new: Letter = letter(*id, START * 2, 10);
            store.stage(&new).expect("written");
            store.sync(false).expect("shown");
        }
        let id = all[step * 7919 % all.len()];
        store.remove(&[id]).expect("removed");
        gone.push(id);
        step += 1;
    });
    assert!(step > 3);
    let shown = walked.len();
    walked.sort_unstable();
    walked.dedup();
    assert_eq!(walked.len(), shown, "a row twice");
    for id in all.iter().filter(|id| !gone.contains(id)) {
        assert!(walked.binary_search(id).is_ok(), "{id} was passed over");
    }
    let last = PageRequest {
        limit: 1,
        cursor: Some(format!("0-{}", JobId(0))),
    };
    let page = store.list(&DeadFilter::default(), &last).expect("a page");
    assert!(page.rows.is_empty());
}
