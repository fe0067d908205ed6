//! T8, T10, T11: calls that fail once, for a while or for good.

use std::{fs, process::ExitStatus};

use sandhog_kit::{Home, long};

use super::{
    acks,
    audit::{self, Promised},
    strace::{self, Traced},
    told,
};

/// What a run with a fault came to.
struct Run {
    home: Home,
    promised: Promised,
    status: ExitStatus,
    /// The fault was met.
    met: bool,
    calls: String,
    said: String,
}

/// Works with a fault in force on these paths, or on all of the store's.
fn with(fault: &str, only: impl Fn(&Home) -> Vec<String>) -> Run {
    strace::compile();
    let home = strace::home();
    let mut options = only(&home);
    options.extend(acks::TRACE.map(str::to_owned));
    let last = options.len() - 1;
    options[last].push_str(",openat,unlink");
    options.push(format!("--inject={fault}"));
    let mut traced = Traced::start(&home, &options);
    let promised = if traced.ready() {
        audit::work(&home, &mut traced)
    } else {
        Promised::default()
    };
    traced.ask();
    let status = traced.end();
    let calls = fs::read_to_string(&traced.calls).expect("a trace");
    Run {
        promised,
        status,
        met: calls.contains("(INJECTED)"),
        said: traced.said(),
        calls,
        home,
    }
}

/// Tries a fault at the first, second, … call until it is not met.
fn each(call: &str, error: &str, look: impl Fn(&Run, &str)) -> u32 {
    let (mut at, mut met) = (1, 0);
    loop {
        let fault = format!("{call}:error={error}:when={at}");
        let run = with(&fault, |_| Vec::new());
        if !run.met {
            audit::audit(&run.home, &run.promised, &fault);
            return met;
        }
        look(&run, &fault);
        audit::audit(&run.home, &run.promised, &fault);
        met += 1;
        at += if long() { 1 } else { 1 + at / 2 };
    }
}

/// The runner ended by itself with an error that names the store.
#[track_caller]
fn ended_badly(run: &Run, fault: &str) {
    assert_eq!(run.status.code(), Some(1), "{fault}: {}", run.said);
    assert!(
        run.said.contains("/data"),
        "{fault}: no path in {}",
        run.said
    );
}

#[test]
fn t8_a_sync_that_failed_once_is_never_tried_again() {
    if !strace::permitted() {
        return;
    }
    let met = each("fdatasync", "EIO", |run, fault| {
        ended_badly(run, fault);
        acks::check(&run.calls).unwrap_or_else(|why| panic!("{fault}: {why}"));
    });
    assert!(met > 3);
    told(
        "T8",
        &format!("{met} failed syncs, none tried again, nothing lost"),
    );
}

#[test]
fn t8_a_directory_sync_that_failed_ends_the_runner() {
    if !strace::permitted() {
        return;
    }
    let met = each("fsync", "EIO", ended_badly);
    assert!(met > 0);
    told(
        "T8",
        &format!("{met} failed syncs of a directory, nothing lost"),
    );
}

#[test]
fn t10_an_interrupted_write_goes_on() {
    if !strace::permitted() {
        return;
    }
    let run = with("pwrite64:error=EINTR:when=2+3", |_| Vec::new());
    assert!(run.met && run.status.success(), "{}", run.said);
    acks::check(&run.calls).unwrap_or_else(|why| panic!("{why}"));
    audit::audit(&run.home, &run.promised, "EINTR");
}

#[test]
fn t10_a_write_that_would_block_ends_the_runner_and_loses_nothing() {
    if !strace::permitted() {
        return;
    }
    let met = each("pwrite64", "EAGAIN", |run, fault| {
        ended_badly(run, fault);
        acks::check(&run.calls).unwrap_or_else(|why| panic!("{fault}: {why}"));
    });
    assert!(met > 3);
    told(
        "T10",
        &format!("{met} writes that would block, nothing lost"),
    );
}

/// A limit on the length of files cuts the write that crosses it short; those after it fail.
#[test]
fn t10_a_letter_that_was_written_in_part_is_written_whole_later() {
    strace::compile();
    let home = strace::home();
    let shell = "trap '' XFSZ; exec \"$0\" \"$@\"";
    let limit = "--fsize=70001";
    let mut traced = Traced::under(&home, &["sh", "-c", shell, "prlimit", limit], &[]);
    assert!(traced.ready(), "{}", traced.said());
    let payload = "x".repeat(9_000);
    let mut promised = Promised::default();
    for _ in 0..10 {
        let answer = home.run(&["enqueue", "permanent", &payload]);
        promised
            .kept
            .extend((answer.code == 0).then(|| answer.text()));
    }
    assert!(promised.kept.len() > 7, "{}", traced.said());
    sandhog_kit::wait::until(
        "the letters to meet the limit",
        std::time::Duration::from_secs(30),
        || {
            let full = fs::metadata(home.data().join("dead/letters")).ok()?.len() > 60_000;
            (full && traced.said().contains("letters") || traced.ended().is_some()).then_some(())
        },
    );
    traced.ask();
    let status = traced.end();
    told(
        "T10",
        &format!("letters cut by a limit; the runner ended with {status}"),
    );
    drop(traced);
    // The part is not left behind the last letter.
    let report = home.run(&["log", "check", "-o", "json"]).exits(0).json();
    assert_eq!(
        report["findings"].as_array().map(Vec::len),
        Some(0),
        "{report}"
    );
    audit::audit(&home, &promised, "a letter written in part");
}

/// Whatever keeps the next segment from being made is told with its path, and costs no time.
#[test]
fn t11_a_file_that_cannot_be_opened_is_named_and_ends_the_runner() {
    if !strace::permitted() {
        return;
    }
    let spare = |home: &Home| {
        let spare = strace::log(home).join("spare.tmp");
        vec!["-P".to_owned(), spare.to_str().expect("UTF-8").to_owned()]
    };
    for error in ["EROFS", "EACCES", "EMFILE", "EIO"] {
        let run = with(&format!("openat:error={error}:when=2+"), spare);
        assert!(run.met, "{error}");
        assert_eq!(run.status.code(), Some(1), "{error}: {}", run.said);
        assert!(run.said.contains("spare.tmp"), "{error}: {}", run.said);
        let tries = run.calls.matches("(INJECTED)").count();
        assert!(tries < 5, "{error}: tried {tries} times");
        audit::audit(&run.home, &run.promised, error);
        told(
            "T11",
            &format!("{error}: told with its path, tried {tries} times"),
        );
    }
}

#[test]
fn t11_a_start_that_cannot_open_the_log_says_which_file() {
    if !strace::permitted() {
        return;
    }
    for error in ["EROFS", "EACCES", "EMFILE"] {
        let segment = |home: &Home| {
            let segment = strace::log(home).join("0000000001.seg");
            vec!["-P".to_owned(), segment.to_str().expect("UTF-8").to_owned()]
        };
        let run = with(&format!("openat:error={error}:when=1+"), segment);
        assert!(run.met, "{error}");
        assert_eq!(run.status.code(), Some(1), "{error}: {}", run.said);
        assert!(run.said.contains("0000000001.seg"), "{error}: {}", run.said);
    }
}
