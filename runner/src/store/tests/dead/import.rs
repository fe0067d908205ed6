//! Letters of another store: taken in, brought back, deleted, and every crash on the way.

use sandhog_model::{JobId, Letter, State, Token};

use super::{
    super::stage::{
        START, Stage, claim_one, completed, dead_ids, enqueue, permanent, settle, state, wait,
    },
    ids, letter,
};
use crate::{
    disk::sim::{SimDisk, Unsynced},
    store::{
        Amended, DeadWish, Imported, Inspect, LetterName, LetterRef, Store, StoreError, wal::Wal,
    },
};

fn import(store: &Wal, letters: &[Letter]) -> Vec<Result<Imported, String>> {
    let answers = wait(store.import_dead(letters.to_vec(), false)).expect("answered");
    let answers = answers.into_iter();
    answers
        .map(|answer| answer.map_err(|error| error.to_string()))
        .collect()
}

fn named(ids: &[JobId]) -> Vec<LetterRef> {
    let ids = ids.iter();
    ids.map(|id| LetterRef {
        name: LetterName::Job(*id),
        token: None,
    })
    .collect()
}

/// Letters of a store that gave large tokens, one without any attempt.
fn foreign() -> Vec<Letter> {
    let ids = ids(3).into_iter().zip(1..);
    let mut letters: Vec<Letter> = ids.map(|(id, at)| letter(id, START + at, 40)).collect();
    letters
        .iter_mut()
        .for_each(|letter| letter.token = Token(u64::MAX));
    letters[2].attempts.clear();
    letters[1].job.payload = vec![0xFF, 0x00, 0xFE];
    letters[1].losses = 2;
    letters
}

#[test]
fn an_imported_letter_is_a_dead_job_like_any_other() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let letters = foreign();
    let ids: Vec<JobId> = letters.iter().map(Letter::id).collect();
    assert_eq!(import(&store, &letters), [const { Ok(Imported::Taken) }; 3]);
    assert_eq!(
        import(&store, &letters),
        [const { Ok(Imported::Known) }; 3],
        "twice"
    );
    for restarted in [false, true] {
        let store = match restarted {
            false => store.clone(),
            true => stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open(),
        };
        assert_eq!(dead_ids(&*store), [ids[2], ids[1], ids[0]]);
        for (id, was) in ids.iter().zip(&letters) {
            assert_eq!(state(&*store, *id), Some(State::Dead));
            let found = wait(store.letter(*id)).expect("read").expect("there");
            assert_eq!((&found.job, &found.attempts), (&was.job, &was.attempts));
            assert_eq!((found.died_at, found.losses), (was.died_at, was.losses));
            let view = wait(store.job(*id)).expect("read").expect("there");
            assert_eq!(view.attempts, was.attempts);
        }
        assert!(store.mint() > ids[2]);
    }
    let answers = wait(store.amend_dead(named(&ids[..2]), DeadWish::Requeue)).expect("answered");
    assert_eq!(answers, [Amended::Done, Amended::Done]);
    settle(&*store, &claim_one(&*store, "photo"), completed()).expect("settled");
    settle(&*store, &claim_one(&*store, "photo"), permanent()).expect("settled");
    let answers = wait(store.amend_dead(named(&ids), DeadWish::Delete)).expect("answered");
    let done = answers
        .iter()
        .filter(|answer| **answer == Amended::Done)
        .count();
    assert_eq!(done, 2, "{answers:?}");
    assert!(dead_ids(&*store).is_empty());
    assert_eq!(
        import(&store, &letters[2..]),
        [Ok(Imported::Taken)],
        "again after a deletion"
    );
}

#[test]
fn what_cannot_be_a_job_here_is_refused_and_the_others_are_taken() {
    let (stage, _) = Stage::sim();
    let store = stage.open();
    let own = enqueue(&*store, "photo").expect("enqueued");
    let mut letters = foreign();
    let far = letter(JobId(u128::MAX - 1), START, 5);
    let mut kind = letters[0].clone();
    kind.job.id = JobId(7);
    kind.job.kind = "no kind!".to_owned();
    letters.splice(1..1, [far, kind, letter(own, START, 5)]);
    let answers = import(&store, &letters);
    assert_eq!(
        (&answers[0], &answers[3]),
        (&Ok(Imported::Taken), &Ok(Imported::Known))
    );
    assert!(
        answers[1]
            .as_ref()
            .expect_err("far")
            .contains("of the future")
    );
    assert!(answers[2].as_ref().expect_err("kind").contains("kind"));
    assert_eq!(dead_ids(&*store).len(), 3);
    assert_eq!(state(&*store, own), Some(State::Available));
    assert!(store.mint() < JobId(u128::MAX / 2));
}

#[test]
fn a_dry_run_of_an_import_changes_nothing() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let ops = disk.ops();
    let answers = wait(store.import_dead(foreign(), true)).expect("answered");
    assert_eq!(answers, [const { Ok(Imported::Taken) }; 3]);
    assert!(dead_ids(&*store).is_empty());
    assert_eq!(disk.ops(), ops);
}

#[test]
fn a_letter_of_ten_megabytes_is_taken_in_whole() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let mut large = letter(ids(1)[0], START, 15 << 20);
    large.attempts[0].logs = vec![
        sandhog_model::LogLine {
            at_ms: 1,
            source: sandhog_model::LogSource::Log,
            level: sandhog_model::LogLevel::Info,
            text: "x".repeat(1000),
            fields: Vec::new(),
        };
        1500
    ];
    assert_eq!(
        import(&store, std::slice::from_ref(&large)),
        [Ok(Imported::Taken)]
    );
    drop(store);
    let store = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    let found = wait(store.letter(large.id()))
        .expect("read")
        .expect("there");
    assert!(found.job == large.job, "the payload is whole");
    assert_eq!(
        found.attempts[0].dropped_lines, 1500,
        "the log lines gave way"
    );
}

#[test]
fn an_import_killed_anywhere_is_done_or_not_and_can_be_done_again() {
    for more in 1.. {
        let (stage, disk) = Stage::sim();
        let store = stage.open();
        let letters = foreign();
        disk.kill_at(disk.ops() + more);
        let answered = wait(store.import_dead(letters.clone(), false)).is_ok();
        let killed = disk.is_killed();
        drop(store);
        for unsynced in [Unsynced::Dropped, Unsynced::Kept, Unsynced::BySector(more)] {
            let left = disk.after_crash(unsynced);
            let store = stage.moved_to(&left).open();
            let shown = dead_ids(&*store);
            assert!(!answered || shown.len() == 3, "{more} {unsynced:?}");
            for id in &shown {
                assert_eq!(
                    state(&*store, *id),
                    Some(State::Dead),
                    "{more} {unsynced:?}"
                );
            }
            let again = import(&store, &letters);
            let known = again
                .iter()
                .filter(|one| **one == Ok(Imported::Known))
                .count();
            assert_eq!(known, shown.len(), "{more} {unsynced:?}");
            assert_eq!(dead_ids(&*store).len(), 3);
            let ids: Vec<JobId> = letters.iter().map(Letter::id).collect();
            let gone = wait(store.amend_dead(named(&ids), DeadWish::Delete)).expect("answered");
            assert_eq!(gone, [const { Amended::Done }; 3]);
        }
        if !killed {
            assert!(more > 3, "killed only {more} times");
            break;
        }
    }
}

#[test]
fn an_import_with_the_disk_full_is_refused_and_leaves_nothing() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    disk.limit(disk.used() + 64);
    let mut letters = foreign();
    letters[0].job.payload = vec![1; 100 << 10];
    let refused = wait(store.import_dead(letters.clone(), false));
    assert!(
        matches!(refused, Err(StoreError::Full { .. })),
        "{refused:?}"
    );
    assert!(dead_ids(&*store).is_empty());
    disk.heal();
    // Room for the reserve is not looked for at every wish.
    stage.clock.pass(60_000);
    assert_eq!(import(&store, &letters), [const { Ok(Imported::Taken) }; 3]);
}

#[test]
fn letters_of_a_directory_that_was_copied_here_become_jobs() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    enqueue(&*store, "photo").expect("enqueued");
    settle(&*store, &claim_one(&*store, "photo"), permanent()).expect("settled");
    let id = dead_ids(&*store)[0];
    wait(store.close()).expect("closed");
    let left: SimDisk = disk.after_crash(Unsynced::Kept);
    for file in left.files() {
        if file.starts_with("/data/logs") {
            crate::disk::Disk::remove(&left, &file).expect("removed");
        }
    }
    let store = stage.moved_to(&left).open();
    assert_eq!(
        (dead_ids(&*store), state(&*store, id)),
        (vec![id], Some(State::Dead))
    );
    drop(store);
    let store = stage.moved_to(&left).open();
    let answers = wait(store.amend_dead(named(&[id]), DeadWish::Requeue)).expect("answered");
    assert_eq!(answers, [Amended::Done]);
}

#[test]
fn one_that_died_again_since_it_was_listed_is_left_alone() {
    let (stage, _) = Stage::sim();
    let store = stage.open();
    enqueue(&*store, "photo").expect("enqueued");
    settle(&*store, &claim_one(&*store, "photo"), permanent()).expect("settled");
    let page = wait(store.dead(crate::store::DeadFilter::default(), super::first_page(5)));
    let row = page.expect("a page").rows.remove(0);
    let meant = vec![LetterRef {
        name: row.name,
        token: Some(row.token),
    }];
    let LetterName::Job(id) = row.name else {
        panic!("it can be read");
    };
    wait(store.amend_dead(named(&[id]), DeadWish::Requeue)).expect("answered");
    for wish in [DeadWish::Requeue, DeadWish::Delete] {
        let answers = wait(store.amend_dead(meant.clone(), wish)).expect("answered");
        assert_eq!(answers, [Amended::Changed], "it waits");
    }
    settle(&*store, &claim_one(&*store, "photo"), permanent()).expect("settled");
    for wish in [DeadWish::Requeue, DeadWish::Delete] {
        let answers = wait(store.amend_dead(meant.clone(), wish)).expect("answered");
        assert_eq!(answers, [Amended::Changed], "it died again");
    }
    assert_eq!(dead_ids(&*store), [id]);
}

#[test]
fn a_bulk_change_is_one_sync() {
    let (stage, _) = Stage::sim();
    let store = stage.open();
    let letters: Vec<Letter> = ids(300)
        .into_iter()
        .map(|id| letter(id, START, 10))
        .collect();
    import(&store, &letters);
    let ids: Vec<JobId> = letters.iter().map(Letter::id).collect();
    let before = wait(store.stats()).expect("stats").syncs;
    wait(store.amend_dead(named(&ids), DeadWish::Delete)).expect("answered");
    let syncs = wait(store.stats()).expect("stats").syncs - before;
    // A segment of these tests holds few records, and each is synced when it is full.
    assert!(syncs < 30, "{syncs} syncs for 300 letters");
    assert!(dead_ids(&*store).is_empty());
}

#[test]
fn an_unreadable_letter_is_deleted_by_its_place_and_never_brought_back() {
    let (stage, disk) = Stage::sim();
    let store = stage.open();
    let ids = ids(3);
    let letters: Vec<Letter> = ids.iter().map(|id| letter(*id, START, 50)).collect();
    // One by one: what is written together and broken looks torn.
    for one in &letters {
        import(&store, std::slice::from_ref(one));
    }
    wait(store.close()).expect("closed");
    let path = stage.options.data.join("dead/letters");
    // The id too, so that the log's own copy cannot take its place under it.
    disk.tamper(&path, |bytes| bytes[48 + 34] ^= 1);
    let disk = disk.after_kill();
    let store = stage.moved_to(&disk).open();
    let page = wait(store.dead(crate::store::DeadFilter::default(), super::first_page(9)));
    let rows = page.expect("a page").rows;
    assert_eq!(
        rows.len(),
        4,
        "three, the first of them from the log again, and the broken one"
    );
    let broken = rows[3].name;
    let one = vec![LetterRef {
        name: broken,
        token: None,
    }];
    let answers = wait(store.amend_dead(one.clone(), DeadWish::Requeue)).expect("answered");
    assert_eq!(answers, [Amended::Unreadable(broken)]);
    let answers = wait(store.amend_dead(one.clone(), DeadWish::Delete)).expect("answered");
    assert_eq!(answers, [Amended::Done]);
    let answers = wait(store.amend_dead(one, DeadWish::Delete)).expect("answered");
    assert_eq!(answers, [Amended::NotFound]);
    let left = stage.moved_to(&disk.after_crash(Unsynced::Dropped)).open();
    assert_eq!(dead_ids(&*left).len(), 3, "durable when it was answered");
}
