//! What is gone back to, what is held back, and what a restart knows of it.

use std::sync::Arc;

use super::*;

struct Stage {
    dir: tempfile::TempDir,
    versions: Versions,
}

fn plugin(name: &str, digest: &str) -> Plugin {
    Plugin {
        name: name.into(),
        file: format!("{name}.wasm").into(),
        digest: digest.into(),
        size: 3,
        sdk: "by hand".into(),
        kinds: Vec::new(),
        code: "code".into(),
        cached: false,
        asks: None,
        grants: Arc::default(),
    }
}

fn held(why: &str, since: u64) -> Quarantine {
    Quarantine {
        since: UnixMs(since),
        why: why.into(),
        by_hand: false,
    }
}

impl Stage {
    fn new(keep: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let versions = Versions::open(dir.path(), Some(keep)).unwrap();
        Self { dir, versions }
    }

    fn take(&mut self, digests: &[&str]) {
        for (at, digest) in digests.iter().enumerate() {
            let now = UnixMs(at as u64);
            self.versions
                .took(&plugin("page", digest), digest.as_bytes(), now);
        }
    }

    fn restart(&mut self) {
        self.versions.save();
        self.versions = Versions::open(self.dir.path(), self.versions.keep).unwrap();
    }

    fn files(&mut self) -> Vec<String> {
        self.versions.sweep(|_| true, UnixMs(0));
        let mut files: Vec<String> = fs::read_dir(self.dir.path())
            .unwrap()
            .filter_map(|entry| {
                let name = entry.unwrap().file_name().into_string().unwrap();
                Some(name.strip_suffix(".wasm")?.to_owned())
            })
            .collect();
        files.sort();
        files
    }

    fn back(&mut self, of_file: &str, served: &str) -> Result<String, NoVersion> {
        self.versions.go_back("page", of_file, served, None)
    }
}

#[test]
fn the_last_good_version_is_gone_back_to() {
    let mut stage = Stage::new(5);
    stage.take(&["aa", "bb", "cc"]);
    stage.versions.hold_back("cc", held("broke", 1));
    stage.versions.hold_back("bb", held("broke", 1));
    assert_eq!(stage.back("cc", "cc"), Ok("aa".into()));
    assert_eq!(stage.versions.instead_of("page", "cc"), Some("aa"));
    stage.restart();
    assert_eq!(stage.versions.instead_of("page", "cc"), Some("aa"));
    assert_eq!(stage.versions.quarantine("cc").unwrap().why, "broke");
    // From there no further back.
    let none = stage.back("cc", "aa").unwrap_err();
    assert_eq!(
        none,
        NoVersion::NoneKept {
            name: "page".into()
        }
    );
    // Another file is served whatever was chosen for this one.
    stage.take(&["dd"]);
    assert_eq!(stage.versions.instead_of("page", "cc"), None);
    assert_eq!(stage.versions.instead_of("page", "dd"), None);
}

#[test]
fn one_that_completed_a_job_comes_before_a_later_one_that_did_not() {
    let mut stage = Stage::new(5);
    stage.take(&["aa", "bb", "cc"]);
    stage.versions.proved("page", "aa");
    assert_eq!(stage.back("cc", "cc"), Ok("aa".into()));
    stage.versions.proved("page", "bb");
    assert_eq!(stage.back("cc", "cc"), Ok("bb".into()));
}

#[test]
fn a_version_is_named_by_the_beginning_of_its_digest() {
    let mut stage = Stage::new(5);
    stage.take(&["aa1", "aa2", "bb"]);
    let to =
        |stage: &mut Stage, wanted: &str| stage.versions.go_back("page", "bb", "bb", Some(wanted));
    assert_eq!(to(&mut stage, "aa1"), Ok("aa1".into()));
    assert!(matches!(
        to(&mut stage, "aa"),
        Err(NoVersion::NotOne { count: 2, .. })
    ));
    assert!(matches!(
        to(&mut stage, "cc"),
        Err(NoVersion::NotOne { count: 0, .. })
    ));
    stage.versions.hold_back("aa2", held("broke", 1));
    assert!(matches!(
        to(&mut stage, "aa2"),
        Err(NoVersion::HeldBack { .. })
    ));
    // The file's own version is no other.
    assert_eq!(to(&mut stage, "bb"), Ok("bb".into()));
    assert_eq!(stage.versions.instead_of("page", "bb"), None);
    // One whose bytes are gone cannot be served.
    fs::remove_file(stage.versions.path("aa1")).unwrap();
    assert!(matches!(
        to(&mut stage, "aa1"),
        Err(NoVersion::NotOne { count: 0, .. })
    ));
}

#[test]
fn a_release_ends_both() {
    let mut stage = Stage::new(5);
    stage.take(&["aa", "bb"]);
    assert!(!stage.versions.release("page", "bb"));
    stage.versions.hold_back("bb", held("broke", 1));
    stage.back("bb", "bb").unwrap();
    assert!(stage.versions.release("page", "bb"));
    stage.restart();
    assert_eq!(stage.versions.instead_of("page", "bb"), None);
    assert_eq!(stage.versions.quarantine("bb"), None);
}

#[test]
fn only_so_many_are_kept_and_the_last_proven_one_among_them() {
    let mut stage = Stage::new(3);
    stage.take(&["aa"]);
    stage.versions.proved("page", "aa");
    stage.take(&["bb", "cc", "dd", "ee"]);
    assert_eq!(stage.files(), ["aa", "dd", "ee"]);
    // What was there before moves to the end and keeps its proof.
    stage.take(&["aa"]);
    let latest = stage.versions.of("page").last().unwrap().clone();
    assert_eq!((latest.digest.as_str(), latest.proven), ("aa", true));
    assert_eq!(stage.files(), ["aa", "dd", "ee"]);
}

#[test]
fn versions_of_a_file_that_is_long_gone_go() {
    let mut stage = Stage::new(3);
    stage.take(&["aa"]);
    stage.versions.sweep(|_| false, UnixMs(GONE_MS - 1));
    assert!(stage.versions.keeps("aa"));
    stage.versions.sweep(|_| true, UnixMs(GONE_MS + 1));
    assert!(stage.versions.keeps("aa"));
    stage.versions.sweep(|_| false, UnixMs(GONE_MS + 1));
    assert!(!stage.versions.keeps("aa"));
    assert_eq!(stage.files(), [""; 0]);
}

#[test]
fn a_ledger_that_cannot_be_read_is_put_aside() {
    let mut stage = Stage::new(3);
    stage.take(&["aa"]);
    stage.versions.save();
    for bad in ["", "{", r#"{"schema":2}"#, "[]"] {
        fs::write(stage.dir.path().join("ledger.json"), bad).unwrap();
        let versions = Versions::open(stage.dir.path(), Some(3)).unwrap();
        assert_eq!(versions.of("page"), []);
        let aside = fs::read_to_string(stage.dir.path().join("ledger.unreadable"));
        assert_eq!(aside.unwrap(), bad);
    }
}

#[test]
fn the_oldest_of_too_many_that_are_held_back_is_forgotten() {
    let mut stage = Stage::new(3);
    for at in 0..=HELD {
        stage
            .versions
            .hold_back(&format!("{at:04}"), held("broke", at as u64));
    }
    assert_eq!(stage.versions.quarantine("0000"), None);
    assert!(stage.versions.quarantine("0001").is_some());
}

#[test]
fn the_same_version_again_is_no_news() {
    let mut stage = Stage::new(3);
    assert!(stage.versions.took(&plugin("page", "aa"), b"aa", UnixMs(1)));
    assert!(!stage.versions.took(&plugin("page", "aa"), b"aa", UnixMs(2)));
    // Unless its bytes went.
    fs::remove_file(stage.versions.path("aa")).unwrap();
    assert!(stage.versions.took(&plugin("page", "aa"), b"aa", UnixMs(3)));
    assert_eq!(stage.files(), ["aa"]);
}

#[test]
fn one_who_only_looks_changes_nothing() {
    let mut stage = Stage::new(3);
    stage.take(&["aa", "bb"]);
    stage.versions.hold_back("bb", held("broke", 1));
    stage.versions.save();
    let ledger = stage.dir.path().join("ledger.json");
    let before = fs::read(&ledger).unwrap();
    let mut looks = Versions::open(stage.dir.path(), None).unwrap();
    assert_eq!(looks.quarantine("bb").unwrap().why, "broke");
    assert!(!looks.took(&plugin("page", "cc"), b"cc", UnixMs(9)));
    looks.hold_back("aa", held("broke", 1));
    looks.save();
    looks.sweep(|_| false, UnixMs(GONE_MS * 2));
    assert_eq!(fs::read(&ledger).unwrap(), before);
    assert_eq!(stage.files(), ["aa", "bb"]);
    // Nor is anything made.
    let nowhere = stage.dir.path().join("nowhere");
    Versions::open(&nowhere, None).unwrap();
    assert!(!nowhere.exists());
}
