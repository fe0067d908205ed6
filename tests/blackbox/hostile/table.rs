//! The whole list of what a guest may try, through a runner: what is recorded of each, how long it
//! lasted, and what it left in the runner's memory.

use std::{fmt::Write as _, fs, time::Duration};

use sandhog_kit::{
    Home, Runner,
    hostile::{self, End, GO, Hostile},
    wait,
};
use serde_json::Value;

use crate::SANDHOG;

/// Far more than any of them takes beyond its time on a busy machine, far less than for ever.
const LATE: Duration = Duration::from_secs(15);
/// What the runner may grow by over the whole list, in KiB: the pages that its slots keep warm, and what its
/// allocator keeps of the largest of them. Any one of the guests asks for more.
const GROWTH_KIB: u64 = 64 << 10;
/// What goes through the log, 64 MiB of it; the store's buffers for as much come and go.
const LOGGED: &str = "checkpoint-without-end";
/// What the runner may grow by with that, in KiB: twice what those buffers were seen to hold.
const LOGGED_KIB: u64 = 320 << 10;

fn home_of_all() -> Home {
    let home = Home::new(SANDHOG);
    // What ends by its time shares the list with jobs that must not, however slow the machine.
    let mut config = String::from("[runner]\nworkers = 2\n");
    for hostile in hostile::all() {
        let file = home.plugins().join(format!("{}.wasm", hostile.name));
        fs::write(file, hostile.bytes()).expect("a component can be laid into the folder");
        let _ = write!(
            config,
            "[kind.{}]\ntimeout = \"{}ms\"\nconfig = {{ {} = \"{}\" }}\n",
            hostile.name, hostile.limit_ms, GO.0, GO.1
        );
    }
    home.install("misbehave");
    home.write_config(&config);
    home
}

/// What came of one, as a row of the table.
struct Came {
    kind: String,
    cause: String,
    ended_ms: Option<u64>,
}

fn tried(home: &Home, hostile: &Hostile) -> Came {
    let state = match hostile.end {
        End::Failed { .. } => "dead",
        End::Completed => "completed",
        End::Refused(_) => return refused(home, hostile),
    };
    let id = home.enqueue(&[hostile.name, "a payload", "--max-attempts", "1"]);
    let job = home.job_in(&id, state);
    let attempt = &job["attempts"][0];
    let (told, failure) = (format!("{}: {attempt}", hostile.name), &attempt["failure"]);
    if let End::Failed { kind, code, says } = hostile.end {
        assert_eq!(
            (&failure["kind"], &failure["code"]),
            (&kind.into(), &code.into()),
            "{told}"
        );
        let cause = failure["cause"].as_str().unwrap_or_default();
        assert!(cause.contains(says) && !cause.contains('\n'), "{told}");
    } else {
        assert_eq!(failure, &Value::Null, "{told}");
    }
    // Nothing of the host is told: no path of its sources, no address.
    for inside in ["wasmtime-", ".cargo", "runner/src", "0x"] {
        assert!(!failure.to_string().contains(inside), "{inside} in {told}");
    }
    let lines = failure["backtrace"].as_array();
    for line in lines.into_iter().flatten().filter_map(Value::as_str) {
        assert!(!line.contains(char::is_control), "{told}");
    }
    let took = Duration::from_micros(attempt["duration_us"].as_u64().unwrap());
    assert!(
        took < Duration::from_millis(hostile.limit_ms) + LATE,
        "{took:?}: {told}"
    );
    Came {
        kind: failure["kind"].as_str().unwrap_or("completed").to_owned(),
        cause: failure["cause"].as_str().unwrap_or_default().to_owned(),
        ended_ms: Some(took.as_millis() as u64),
    }
}

fn refused(home: &Home, hostile: &Hostile) -> Came {
    let End::Refused(says) = hostile.end else {
        unreachable!("only refused ones come here");
    };
    let rows = home.run(&["plugin", "ls", "-o", "json"]).json();
    let rows = rows.as_array().expect("a list of plugins and problems");
    let row = rows.iter().find(|row| row["name"] == hostile.name);
    let row = row.unwrap_or_else(|| panic!("{} is in no list", hostile.name));
    let cause = row["cause"].as_str().unwrap_or_default();
    assert!(cause.contains(says), "{row}");
    assert!(
        row["hint"].as_str().is_some_and(|hint| !hint.is_empty()),
        "{row}"
    );
    Came {
        kind: "refused".to_owned(),
        cause: cause.to_owned(),
        ended_ms: None,
    }
}

fn row(hostile: &Hostile, came: &Came, before: u64, after: u64) -> String {
    let ms = came.ended_ms.map_or_else(String::new, |ms| ms.to_string());
    format!(
        "| {} | {} | {} | {ms} | {} → {} |",
        hostile.name,
        came.kind,
        came.cause,
        before >> 10,
        after >> 10
    )
}

/// Open files and threads.
pub(super) fn holds(runner: &Runner) -> (usize, usize) {
    let count = |what: &str| {
        let folder = format!("/proc/{}/{what}", runner.pid());
        fs::read_dir(folder).expect("the runner is there").count()
    };
    (count("fd"), count("task"))
}

#[test]
fn what_a_guest_tries_ends_as_it_must_and_leaves_nothing() {
    let home = home_of_all();
    let mut runner = home.start();
    let echo = |text: &str| {
        let answer = home.run(&["enqueue", "echo", text, "--wait"]);
        assert_eq!(answer.exits(0).text(), text);
    };
    // Every slot has run something, so that what they keep is counted before.
    for n in 0..8 {
        echo(&format!("first {n}"));
    }
    let (first, held) = (runner.resident_kib(), holds(&runner));
    let (mut rows, mut logged) = (Vec::new(), 0);
    for hostile in hostile::all() {
        let before = runner.resident_kib();
        let came = tried(&home, hostile);
        echo(hostile.name);
        let after = runner.resident_kib();
        if hostile.name == LOGGED {
            logged = after.saturating_sub(before);
        }
        rows.push(row(hostile, &came, before, after));
    }
    assert!(runner.ended().is_none(), "{}", runner.said());
    if std::env::var_os("SANDHOG_TABLE").is_some() {
        println!("| guest | recorded as | cause | ms | resident MiB before → after |");
        println!("|---|---|---|---|---|\n{}", rows.join("\n"));
    }
    let grown = runner.resident_kib().saturating_sub(first);
    let own = grown.saturating_sub(logged);
    assert!(own < GROWTH_KIB, "the runner grew by {own} KiB");
    assert!(
        grown < LOGGED_KIB,
        "the runner grew by {grown} KiB with its log"
    );
    // The code of each component stays open, once for each worker that ran it. A thread that waited for a
    // file in a guest's place is let go when it was idle for ten seconds.
    let code = 2 * rows.len();
    let bound = (held.0 + code, held.1 + 1);
    let what = format!("open files and threads, {held:?} before, to be {bound:?} at most");
    wait::until(&what, Duration::from_secs(60), || {
        let (files, threads) = holds(&runner);
        (files <= bound.0 && threads <= bound.1).then_some(())
    });
}
