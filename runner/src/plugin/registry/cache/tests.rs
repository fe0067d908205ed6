//! Code that is damaged, foreign or no longer wanted.

use std::{io::Read, os::unix::fs::PermissionsExt};

use super::*;

struct Stage {
    dir: tempfile::TempDir,
    cache: Cache,
}

fn code(bytes: &[u8]) -> NativeCode {
    let mut draft = Draft::new().unwrap();
    draft.fill(bytes).unwrap();
    draft.seal("somewhere".into()).unwrap()
}

impl Stage {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(&dir.path().join("code"), "e1".into()).unwrap();
        Self { dir, cache }
    }

    fn keep(&self, digest: &str, bytes: &[u8]) {
        self.cache.keep(digest, &code(bytes), "{}").unwrap();
    }

    fn age(&self, digest: &str, days: u64) {
        let then = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
        for ending in ["cwasm", "json"] {
            let file = File::options()
                .append(true)
                .open(self.cache.file(digest, ending))
                .unwrap();
            file.set_modified(then).unwrap();
        }
    }

    fn left(&self) -> Vec<String> {
        let mut digests: Vec<String> = self
            .names()
            .iter()
            .filter_map(|name| Some(name.strip_suffix(".cwasm")?.split_once('-')?.0.to_owned()))
            .collect();
        digests.sort();
        digests
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path().join("code")).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }
}

#[test]
fn what_was_kept_comes_back() {
    let stage = Stage::new();
    assert!(stage.cache.find("aa").is_none());
    stage.keep("aa", b"native code");
    let (found, description) = stage.cache.find("aa").unwrap();
    let mut bytes = Vec::new();
    found.reader().unwrap().read_to_end(&mut bytes).unwrap();
    assert_eq!(
        (bytes.as_slice(), description.as_str()),
        (&b"native code"[..], "{}")
    );
    assert_eq!(found.path(), stage.cache.code("aa"));
    // Another engine has other code.
    let other = Cache::open(&stage.dir.path().join("code"), "e2".into()).unwrap();
    assert!(other.find("aa").is_none());
}

#[test]
fn no_flipped_bit_gets_through() {
    let stage = Stage::new();
    stage.keep("aa", b"native code");
    for ending in ["cwasm", "json"] {
        let path = stage.cache.file("aa", ending);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                fs::write(&path, &bytes).unwrap();
                assert!(
                    stage.cache.find("aa").is_none(),
                    "{ending}, byte {at}, bit {bit}"
                );
            }
        }
        fs::write(&path, &whole).unwrap();
        assert!(stage.cache.find("aa").is_some());
    }
}

#[test]
fn code_that_others_can_write_or_that_lies_elsewhere_is_not_used() {
    let stage = Stage::new();
    stage.keep("aa", b"native code");
    let path = stage.cache.code("aa");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(stage.cache.find("aa").is_none());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(stage.cache.find("aa").is_some());
    let elsewhere = stage.dir.path().join("elsewhere");
    fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    assert!(stage.cache.find("aa").is_none());
}

#[test]
fn a_sweep_takes_the_oldest_and_never_what_is_in_use() {
    let stage = Stage::new();
    let digests = ["aa", "bb", "cc", "dd"];
    for (at, digest) in digests.iter().enumerate() {
        stage.keep(digest, &[0; 1_000]);
        stage.age(digest, 10 - at as u64);
    }
    let in_use = |digest: &str| digest == "aa";
    let bounds = CacheBounds::default();
    assert_eq!(stage.cache.sweep(&bounds, in_use), 0);
    let few = CacheBounds {
        entries: 3,
        ..bounds.clone()
    };
    assert_eq!(stage.cache.sweep(&few, in_use), 1);
    assert_eq!(stage.left(), ["aa", "cc", "dd"]);
    let small = CacheBounds {
        bytes: 3_000,
        ..bounds.clone()
    };
    assert_eq!(stage.cache.sweep(&small, in_use), 1);
    assert_eq!(stage.left(), ["aa", "dd"]);
    let young = CacheBounds {
        age: Duration::from_secs(1),
        ..bounds
    };
    assert_eq!(stage.cache.sweep(&young, in_use), 1);
    assert_eq!(stage.left(), ["aa"]);
    assert_eq!(stage.names().len(), 2);
}

#[test]
fn what_a_crash_left_goes_once_it_is_old() {
    let stage = Stage::new();
    let left = stage.dir.path().join("code/.new-abc");
    let file = File::create(&left).unwrap();
    stage.cache.sweep(&CacheBounds::default(), |_| true);
    assert!(left.exists());
    let then = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    file.set_modified(then).unwrap();
    stage.cache.sweep(&CacheBounds::default(), |_| true);
    assert!(!left.exists());
}

#[test]
fn use_is_marked() {
    let stage = Stage::new();
    stage.keep("aa", b"native code");
    stage.age("aa", 40);
    stage.cache.find("aa").unwrap();
    assert_eq!(stage.cache.sweep(&CacheBounds::default(), |_| false), 0);
    stage.age("aa", 40);
    assert_eq!(stage.cache.sweep(&CacheBounds::default(), |_| false), 1);
}

#[test]
fn a_refusal_holds_for_its_limits() {
    let stage = Stage::new();
    let fault = Fault::new("too slow", "make it smaller");
    stage.cache.refuse("aa", "60s", &fault);
    assert_eq!(stage.cache.refusal("aa", "60s"), Some(fault));
    assert_eq!(stage.cache.refusal("aa", "120s"), None);
    assert_eq!(stage.cache.refusal("bb", "60s"), None);
}
