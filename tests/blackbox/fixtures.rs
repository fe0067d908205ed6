//! Data directories from elsewhere: of an earlier release, of a later one, cut short, rotten, and
//! with things in them that do not belong there.
//!
//! What is refused is left as it is, byte for byte; only the lock files' text changes.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
};

use sandhog_kit::{Home, workspace};
use serde_json::Value;

use crate::SANDHOG;

/// Bytes of a segment's header and of a frame's.
const HEADER: usize = 48;
const FRAME: usize = 20;

/// Copies a directory.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Every file below a directory, lock files left out.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&path));
            found.insert(path, Vec::new());
        } else if entry.file_name() != "LOCK" {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

/// A directory that an earlier release wrote, and what it said of it.
struct Fixture {
    home: Home,
    log: PathBuf,
    said: Value,
}

impl Fixture {
    fn new() -> Self {
        Self::of("format-1")
    }

    fn of(format: &str) -> Self {
        let from = workspace().join("tests/fixtures/log");
        let home = Home::new(SANDHOG);
        copy(&from.join(format), &home.data());
        let log = fs::read_dir(home.data().join("logs")).unwrap().next();
        let said = fs::read(from.join(format!("{format}.json"))).unwrap();
        Self {
            log: log.unwrap().unwrap().path(),
            said: serde_json::from_slice(&said).unwrap(),
            home,
        }
    }

    fn segment(&self, number: u32) -> PathBuf {
        self.log.join(format!("{number:010}.seg"))
    }

    fn letters(&self) -> PathBuf {
        self.home.data().join("dead/letters")
    }

    /// Changes a file's bytes.
    fn change(&self, file: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(file).unwrap();
        change(&mut bytes);
        fs::write(file, bytes).unwrap();
    }

    /// The ends of a file's frames; the first is the header's.
    fn ends(file: &Path) -> Vec<usize> {
        let bytes = fs::read(file).unwrap();
        let mut ends = vec![HEADER];
        loop {
            let at = *ends.last().unwrap();
            let length = bytes.get(at..at + 4).map_or(0, |length| {
                u32::from_le_bytes(length.try_into().unwrap()) as usize
            });
            if length == 0 {
                return ends;
            }
            ends.push(at + FRAME + length);
        }
    }

    /// It opens, and every job and letter is what that release said of it; `but` names a job
    /// that is not there.
    #[track_caller]
    fn opens(&self, but: Option<&str>) {
        let words = ["job", "ls", "--limit", "200", "-o", "json"];
        let rows = self.home.run(&words).exits(0).rows();
        let told = self.said["jobs"].as_array().unwrap();
        let wanted: Vec<&Value> = told
            .iter()
            .filter(|job| job["kind"] != but.unwrap_or(""))
            .collect();
        let ids = |rows: &[&Value]| -> Vec<String> {
            rows.iter().map(|row| row["id"].to_string()).collect()
        };
        assert_eq!(ids(&rows.iter().collect::<Vec<_>>()), ids(&wanted));
        for job in wanted {
            let shown = self.home.job(job["id"].as_str().unwrap());
            for (key, told) in job.as_object().unwrap() {
                let now = match key.as_str() {
                    "cause" => shown["failure"]
                        .get("cause")
                        .unwrap_or(&Value::Null)
                        .clone(),
                    "attempts_kept" => shown["attempts"].as_array().unwrap().len().into(),
                    "result" if told.is_null() => continue,
                    key => shown[key].clone(),
                };
                assert_eq!(now, *told, "{key} of {shown}");
            }
        }
        let mut letters = self.home.run(&["dead", "ls", "-o", "json"]).exits(0).rows();
        // An entry that cannot be read stays listed beside the letter that took its place.
        letters.retain(|row| row["unreadable"].is_null());
        let told = self.said["letters"].as_array().unwrap();
        for (letter, told) in letters.iter().zip(told) {
            for (key, told) in told.as_object().unwrap() {
                assert_eq!(letter[key], *told, "{key} of {letter}");
            }
        }
        assert_eq!(letters.len(), told.len());
    }

    /// `log check` calls it damaged or not, and names this file when it has something to say.
    #[track_caller]
    fn checks(&self, damaged: bool, file: Option<&str>) {
        let report = self.home.run(&["log", "check", "-o", "json"]);
        let report = report.exits(i32::from(damaged)).json();
        assert_eq!(report["sound"], !damaged, "{report}");
        let findings = report["findings"].as_array().unwrap();
        match file {
            None => assert!(findings.is_empty(), "{report}"),
            Some(name) => assert!(
                findings.iter().any(|finding| {
                    let file = finding["file"].as_str().unwrap();
                    file.ends_with(name) && finding["damage"] == damaged
                }),
                "{name}: {report}"
            ),
        }
    }

    /// Neither a start nor a command opens it; each names all of this; nothing is changed.
    #[track_caller]
    fn is_refused(&self, words: &[&str]) {
        let before = files(&self.home.data());
        for verb in [&["start"][..], &["job", "ls"], &["enqueue", "echo", "x"]] {
            let answer = self.home.run(verb);
            assert_ne!(answer.code, 0, "{verb:?} opened it");
            for word in words {
                assert!(answer.stderr.contains(word), "{word}: {}", answer.stderr);
            }
        }
        assert!(files(&self.home.data()) == before, "it was changed");
    }
}

/// A header that says a newer format, and is sound otherwise.
fn newer(bytes: &mut [u8]) {
    bytes[8..12].copy_from_slice(&99_u32.to_le_bytes());
    let crc = crc32fast::hash(&bytes[..44]);
    bytes[44..48].copy_from_slice(&crc.to_le_bytes());
}

#[test]
fn a_directory_of_the_first_release_opens_as_it_was() {
    let fixture = Fixture::new();
    fixture.checks(false, None);
    fixture.opens(None);
    fixture.checks(false, None);
}

/// The rows of a list are what the release said of them, each known by its name.
#[track_caller]
fn lists(fixture: &Fixture, verb: &str, name: &str) {
    let rows = fixture
        .home
        .run(&[verb, "ls", "-o", "json"])
        .exits(0)
        .rows();
    for told in fixture.said[format!("{verb}s")].as_array().unwrap() {
        let row = rows.iter().find(|row| row[name] == told[name]).unwrap();
        for (key, told) in told.as_object().unwrap() {
            assert_eq!(row[key], *told, "{key} of {row}");
        }
    }
}

#[test]
fn a_directory_of_the_fourth_format_opens_as_it_was_with_all_that_its_jobs_say() {
    let fixture = Fixture::of("format-4");
    // There is room in the last segment, as there was before its zeros were cut.
    let file = OpenOptions::new().write(true).open(fixture.segment(1));
    file.unwrap().set_len(64 << 10).unwrap();
    fixture.checks(false, None);
    fixture.opens(None);
    lists(&fixture, "queue", "queue");
    lists(&fixture, "cron", "name");
    // The key that a job of it has stands in the way of a new one, which lies in a segment of its own.
    let kept = ["enqueue", "unserved", "{\"user\":7}", "--unique-by", "user"];
    assert!(fixture.home.run(&kept).exits(1).stderr.contains("user=7"));
    let before = fs::read(fixture.segment(1)).unwrap();
    let _ = fixture.home.enqueue(&["echo", "new"]);
    assert!(fs::read(fixture.segment(1)).unwrap() == before);
    fixture.checks(false, None);
}

#[test]
fn a_log_of_the_first_format_is_gone_on_with_in_a_segment_of_its_own() {
    let fixture = Fixture::new();
    // As it was before its zeros were cut: there is room in the last segment.
    let file = OpenOptions::new().write(true).open(fixture.segment(3));
    file.unwrap().set_len(64 << 10).unwrap();
    let before = files(&fixture.log);
    let id = fixture.home.enqueue(&["echo", "new"]);
    assert_eq!(fixture.home.job(&id)["state"], "available");
    let after = files(&fixture.log);
    for (path, bytes) in before {
        assert!(after[&path] == bytes, "{} was written to", path.display());
    }
    let head = &after[&fixture.segment(4)][8..12];
    assert_ne!(head, 1_u32.to_le_bytes(), "a new segment of an old format");
}

#[test]
fn a_torn_end_is_cut_and_kept_aside() {
    let fixture = Fixture::new();
    let ends = Fixture::ends(&fixture.segment(3));
    let last = ends[ends.len() - 2];
    fixture.change(&fixture.segment(3), |bytes| bytes.truncate(last + 30));
    fixture.checks(false, Some("0000000003.seg"));
    // The last record enqueued the job that nobody serves.
    fixture.opens(Some("unserved"));
    assert!(
        fixture
            .log
            .join(format!("torn-0000000003-{last}.bin"))
            .is_file()
    );
}

#[test]
fn rot_before_the_end_is_refused_with_its_place() {
    for number in [1, 2, 3] {
        let fixture = Fixture::new();
        let file = fixture.segment(number);
        let at = Fixture::ends(&file)[1];
        fixture.change(&file, |bytes| bytes[at + FRAME + 5] ^= 0x10);
        let name = format!("{number:010}.seg");
        fixture.checks(true, Some(&name));
        fixture.is_refused(&[&name, &at.to_string()]);
    }
}

#[test]
fn a_log_of_a_newer_format_is_refused() {
    for number in [1, 3] {
        let fixture = Fixture::new();
        fixture.change(&fixture.segment(number), |bytes| newer(bytes));
        let name = format!("{number:010}.seg");
        fixture.checks(true, Some(&name));
        fixture.is_refused(&[&name, "99", "newer"]);
    }
}

#[test]
fn an_empty_segment_at_the_end_was_never_begun() {
    for bytes in [Vec::new(), vec![0; 4096]] {
        let fixture = Fixture::new();
        fs::write(fixture.segment(4), bytes).unwrap();
        fixture.opens(None);
        assert!(!fixture.segment(4).exists());
    }
}

#[test]
fn zeros_or_nothing_in_place_of_a_segment_are_refused() {
    for bytes in [Vec::new(), vec![0; 4096]] {
        let fixture = Fixture::new();
        fs::write(fixture.segment(2), bytes).unwrap();
        fixture.checks(true, Some("0000000002.seg"));
        fixture.is_refused(&["0000000002.seg"]);
    }
}

#[test]
fn a_missing_segment_is_refused() {
    for number in [1, 2] {
        let fixture = Fixture::new();
        fs::remove_file(fixture.segment(number)).unwrap();
        fixture.is_refused(&[]);
    }
}

#[test]
fn a_directory_in_a_files_place_is_refused_by_its_name() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.segment(4)).unwrap();
    fixture.is_refused(&["0000000004.seg"]);
    let fixture = Fixture::new();
    fs::remove_file(fixture.letters()).unwrap();
    fs::create_dir(fixture.letters()).unwrap();
    fixture.is_refused(&["letters"]);
}

#[test]
fn letters_cut_short_or_rotten_are_mended_from_the_log() {
    let fixture = Fixture::new();
    let ends = Fixture::ends(&fixture.letters());
    let last = ends[ends.len() - 2];
    fixture.change(&fixture.letters(), |bytes| bytes.truncate(last + 25));
    fixture.opens(None);
    let fixture = Fixture::new();
    fixture.change(&fixture.letters(), |bytes| {
        bytes[HEADER + FRAME + 9] ^= 0x40
    });
    fixture.checks(true, Some("letters"));
    fixture.opens(None);
}

#[test]
fn letters_of_a_newer_format_are_refused() {
    let fixture = Fixture::new();
    fixture.change(&fixture.letters(), |bytes| newer(bytes));
    fixture.is_refused(&["letters", "99", "newer"]);
}

#[test]
fn letters_that_are_gone_are_written_again_from_the_log() {
    let fixture = Fixture::new();
    fs::remove_file(fixture.letters()).unwrap();
    fixture.opens(None);
}

/// A file gets its name when its header is in it: a disk lost these bytes, and that is told.
#[test]
fn an_empty_file_or_zeros_in_place_of_letters_are_refused() {
    for bytes in [Vec::new(), vec![0; 4096]] {
        let fixture = Fixture::new();
        fs::write(fixture.letters(), bytes).unwrap();
        fixture.is_refused(&["letters"]);
    }
}

/// T6: a length is not believed before it is compared with its bound.
#[test]
fn lengths_that_lie_take_no_memory() {
    for length in [1, (16 << 20) + 1, 0x7FFF_FFFF, u32::MAX] {
        let fixture = Fixture::new();
        let file = fixture.segment(2);
        fixture.change(&file, |bytes| {
            bytes[HEADER..HEADER + 4].copy_from_slice(&length.to_le_bytes());
        });
        let check = fixture.home.command(&["log", "check", "-o", "json"]);
        let mut bounded = std::process::Command::new("prlimit");
        bounded
            .arg("--as=268435456")
            .arg(check.get_program())
            .args(check.get_args());
        for (name, value) in check.get_envs() {
            if let Some(value) = value {
                bounded.env(name, value);
            }
        }
        let out = bounded.output().unwrap();
        let report = String::from_utf8_lossy(&out.stdout);
        assert_eq!(out.status.code(), Some(1), "{length}: {out:?}");
        assert!(report.contains("0000000002.seg"), "{report}");
    }
}
