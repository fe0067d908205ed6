//! The log as it lies on disk: sound, cut short, and rotten.

use std::{
    fs::{self, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use sandhog_kit::{Answer, Home};

use crate::SANDHOG;

/// A directory with some history and no runner.
fn history() -> Home {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let runner = home.start();
    for n in 0..5 {
        let _ = home
            .run(&["enqueue", "echo", &n.to_string(), "--wait"])
            .exits(0);
    }
    assert!(runner.terminate().success());
    home
}

/// The segments of the log, in order.
fn segments(home: &Home) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for log in fs::read_dir(home.data().join("logs")).unwrap() {
        let files = fs::read_dir(log.unwrap().path()).unwrap();
        found.extend(
            files
                .map(|file| file.unwrap().path())
                .filter(|path| path.extension().is_some_and(|ending| ending == "seg")),
        );
    }
    found.sort();
    found
}

/// The places of the records in a segment, from `log dump`.
fn offsets(home: &Home) -> Vec<u64> {
    let rows = home.run(&["log", "dump", "-o", "json"]).exits(0).rows();
    rows.iter()
        .map(|row| row["offset"].as_u64().unwrap())
        .collect()
}

/// Turns over the bits of some bytes.
fn rot(file: &Path, offset: u64, bytes: usize) {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(file)
        .unwrap();
    let mut held = vec![0; bytes];
    file.seek(SeekFrom::Start(offset)).unwrap();
    file.read_exact(&mut held).unwrap();
    for byte in &mut held {
        *byte = !*byte;
    }
    file.seek(SeekFrom::Start(offset)).unwrap();
    file.write_all(&held).unwrap();
}

fn check(home: &Home) -> Answer {
    home.run(&["log", "check", "-o", "json"])
}

#[test]
fn a_sound_log_is_called_sound_with_a_runner_and_without() {
    let home = history();
    let report = check(&home).exits(0).json();
    assert_eq!(
        report["findings"].as_array().map(Vec::len),
        Some(0),
        "{report}"
    );
    assert!(
        report["records"].as_u64().unwrap() >= 15,
        "5 jobs have 3 records each: {report}"
    );
    let records = offsets(&home).len() as u64;
    assert_eq!(report["records"], records);
    let _runner = home.start();
    let _ = check(&home).exits(0);
}

#[test]
fn a_record_that_was_cut_short_is_cut_away_after_a_copy_and_the_rest_stays() {
    let home = history();
    let (file, places) = (segments(&home).pop().unwrap(), offsets(&home));
    let last = *places.last().unwrap();
    // The last record is half there: the power went while it was written.
    let bytes = fs::read(&file).unwrap();
    let mut torn = bytes[..last as usize + 20].to_vec();
    torn.resize(bytes.len(), 0);
    fs::write(&file, torn).unwrap();
    let report = check(&home).json();
    assert_eq!(report["findings"][0]["offset"], last, "{report}");
    assert_eq!(report["findings"][0]["damage"], false, "{report}");
    let _runner = home.start();
    let rows = home.run(&["job", "ls", "-o", "json"]).exits(0).rows();
    assert_eq!(rows.len(), 5, "{rows:?}");
    let aside = file.parent().unwrap().read_dir().unwrap();
    let kept = aside.filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with("torn")
    });
    assert_eq!(kept.count(), 1, "the cut bytes were not kept");
    let _ = home.run(&["enqueue", "echo", "after", "--wait"]).exits(0);
}

#[test]
fn rot_in_the_middle_is_reported_with_its_place_and_nothing_is_changed() {
    let home = history();
    let (file, places) = (segments(&home).remove(0), offsets(&home));
    rot(&file, places[4] + 24, 3);
    let before = fs::read(&file).unwrap();
    let answer = check(&home).exits(1);
    let report = answer.json();
    let finding = &report["findings"][0];
    assert_eq!(
        (&finding["offset"], &finding["damage"]),
        (&places[4].into(), &true.into()),
        "{report}"
    );
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    assert!(
        finding["file"].as_str().unwrap().ends_with(&name),
        "{report}"
    );
    let start = home.run(&["start"]);
    assert_ne!(start.code, 0, "a runner started on a rotten log");
    let said = &start.stderr;
    assert!(
        said.contains(&name) && said.contains(&places[4].to_string()),
        "{said}"
    );
    assert!(
        fs::read(&file).unwrap() == before,
        "the rotten segment was changed"
    );
}

#[test]
fn a_log_of_another_version_or_kind_is_refused_untouched() {
    let home = history();
    let file = segments(&home).remove(0);
    rot(&file, 0, 4);
    let before = fs::read(&file).unwrap();
    let _ = check(&home).exits(1);
    assert_ne!(home.run(&["start"]).code, 0);
    assert!(
        fs::read(&file).unwrap() == before,
        "the foreign segment was changed"
    );
}

#[test]
fn the_dump_tells_the_story_of_a_job() {
    let home = history();
    let rows = home
        .run(&["job", "ls", "--limit", "1", "-o", "json"])
        .exits(0)
        .rows();
    let id = rows[0]["id"].as_str().unwrap();
    let rows = home
        .run(&["log", "dump", "--job", id, "-o", "json"])
        .exits(0)
        .rows();
    let facts: Vec<&str> = rows
        .iter()
        .map(|row| {
            row["event"]
                .as_object()
                .unwrap()
                .keys()
                .next()
                .unwrap()
                .as_str()
        })
        .collect();
    assert_eq!(facts, ["Enqueued", "Leased", "Settled"]);
    assert!(rows.iter().all(|row| row["id"] == id), "{rows:?}");
    let sequences: Vec<u64> = rows
        .iter()
        .map(|row| row["sequence"].as_u64().unwrap())
        .collect();
    assert!(sequences.is_sorted(), "{sequences:?}");
}
