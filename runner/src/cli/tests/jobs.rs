//! Jobs: handed in, waited for, looked at, brought back.

use super::*;

#[test]
fn a_job_is_enqueued_on_the_directory_alone_and_shown() {
    let desk = Desk::new();
    let id = desk
        .run(&["enqueue", "page", "{\"a\":1}", "--header", "k=v"])
        .id();
    let shown = desk.run(&["-o", "json", "job", "show", &id.text()]);
    let job = shown.ends(0).json();
    for field in [
        "id",
        "kind",
        "queue",
        "state",
        "attempt",
        "max_attempts",
        "failure",
        "digest",
    ] {
        assert!(job.get(field).is_some(), "{field} is missing");
    }
    assert_eq!(job["state"], "available");
    assert_eq!(job["payload"]["a"], 1);
    assert_eq!(job["headers"][0][1], "v");
    let listed = desk.run(&["job", "ls", "-o", "json"]).ends(0).json();
    assert_eq!(listed[0]["id"], id.text());
    assert!(desk.run(&["job", "ls"]).out.contains(&id.text()));
    let printed = desk.run(&["enqueue", "page", "-o", "json"]);
    assert!(printed.json()["id"].is_string());
    let data = desk.data();
    let told = format!(
        "no runner is up: the job waits in {} for `sandhog start`",
        data.display()
    );
    assert!(printed.err.contains(&told), "{}", printed.err);
}

#[test]
fn every_kind_of_ending_has_its_exit_code() {
    let mut desk = Desk::new();
    let id = desk.run(&["enqueue", "page"]).id().text();
    let unknown = JobId(1).text();
    desk.run(&["job", "show", &unknown]).ends(4);
    desk.run(&["dead", "show", &id]).ends(4);
    desk.run(&["dead", "retry", &id]).ends(1);
    desk.run(&["job", "show", "nonsense"]).ends(2);
    desk.run(&["job", "ls", "--limit", "0"]).ends(2);
    desk.run(&["job", "ls", "--state", "lost"]).ends(2);
    desk.run(&["enqueue"]).ends(2);
    desk.run(&["enqueue", "page", "x", "--stdin"]).ends(2);
    desk.run(&[
        "enqueue",
        "page",
        "--in",
        "5m",
        "--at",
        "2030-01-01T00:00:00Z",
    ])
    .ends(2);
    desk.run(&["enqueue", "page", "--timeout", "1s"]).ends(2);
    desk.run(&["enqueue", "page", "--file", "/none"]).ends(2);
    desk.run(&["enqueue", "two words"]).ends(2);
    desk.run(&["enqueue", "page", "--wait", "--output", "/none/x"])
        .ends(2);
    desk.run(&["enqueue", "page", "--wait"]).ends(3);
    desk.run(&["--config", "/none.toml", "stats"]).ends(2);
    desk.run(&["dead", "rm"]).ends(2);
    desk.run(&["dead", "rm", "--all", &id]).ends(2);
    desk.run(&["dead", "rm", &id, "--kind", "page"]).ends(2);
    desk.run(&["--help"]).ends(0);
    desk.run(&["--version"]).ends(0);
    let missing = desk.run(&["--data", "/none/here", "job", "ls"]);
    assert!(missing.ends(3).err.contains("/none/here"));
    desk.double.fill_disk();
    assert!(
        desk.run(&["enqueue", "page"])
            .ends(1)
            .err
            .contains("no room on the disk")
    );
    desk.held = true;
    let held = desk.run(&["stats"]);
    assert!(held.ends(3).err.contains("held by pid 77"), "{}", held.err);
    assert_eq!(held.err.matches("compiling plugins").count(), 1);
    let waiting = desk.run(&["enqueue", "page", "--wait"]);
    assert!(waiting.ends(3).err.contains("held by pid 77"));
    // Looked again for a while: the holder may be a command that is about to end.
    assert!(desk.opened.load(Ordering::Relaxed) > 10);
}

#[test]
fn a_wait_gives_the_result_or_says_why_there_is_none() {
    let desk = Desk::new();
    let _runner = desk.runner();
    let double = Arc::clone(&desk.double);
    // Ends whatever is enqueued: as the kind says.
    let done = Arc::new(AtomicU32::new(0));
    let ending = std::thread::spawn({
        let done = Arc::clone(&done);
        move || {
            while done.load(Ordering::Relaxed) == 0 {
                for (id, kind) in double.waiting() {
                    match kind.as_str() {
                        "page" => double.completes(id, "text/html", "<p>\u{1b}é</p>".as_bytes()),
                        "photo" => double.completes(id, "image/png", b"\x89PNG"),
                        "bad" => double.dies(id),
                        _ => {}
                    }
                }
                std::thread::yield_now();
            }
        }
    });
    let raw = desk.run(&["enqueue", "page", "--wait"]);
    assert_eq!(raw.ends(0).out, "<p>\u{1b}é</p>");
    let seen = desk.run_with(&["enqueue", "page", "--wait"], "", true);
    assert_eq!(seen.ends(0).out, "<p>\\u{1b}é</p>\n");
    let path = desk.folder.path().join("small.png");
    let words = [
        "enqueue",
        "photo",
        "--wait",
        "--output",
        path.to_str().unwrap(),
    ];
    assert_eq!(desk.run(&words).ends(0).out, "");
    assert_eq!(fs::read(&path).unwrap(), b"\x89PNG");
    let seen = desk.run_with(&["enqueue", "photo", "--wait"], "", true);
    assert!(seen.ends(0).out.is_empty() && seen.err.contains("--output"));
    let photo = desk.run(&["enqueue", "photo", "--wait", "-o", "json"]);
    let photo = photo.ends(0).json();
    assert_eq!(
        (&photo["state"], &photo["result_base64"]),
        (&"completed".into(), &"iVBORw==".into())
    );
    let bad = desk.run(&["enqueue", "bad", "--wait"]);
    assert!(bad.ends(1).out.is_empty());
    assert!(bad.err.contains("trap:unreachable") && bad.err.contains("see the backtrace"));
    assert!(!bad.err.contains('\u{1b}'), "{:?}", bad.err);
    let bad = desk.run(&["enqueue", "bad", "--wait", "-o", "json"]);
    let failure = &bad.ends(1).json()["failure"];
    assert_eq!(
        (&failure["kind"], &failure["hint"]),
        (&"trap:unreachable".into(), &"see the backtrace".into())
    );
    let slow = desk.run(&["enqueue", "slow", "--wait", "--timeout", "5ms"]);
    assert!(slow.ends(5).err.contains("still available"));
    assert!(slow.err.contains("job show"));
    done.store(1, Ordering::Relaxed);
    ending.join().unwrap();
}

#[test]
fn a_bulk_file_goes_in_whole_or_not_at_all() {
    let desk = Desk::new();
    let mut lines: String = (0..1_200)
        .map(|n| format!("{{\"payload\":{n},\"queue\":\"q{}\"}}\n", n % 2))
        .collect();
    lines.insert_str(0, "\u{feff}\r\n");
    let good = desk.file("good.ndjson", &lines);
    let bulk = desk.run(&["enqueue", "page", "--bulk", &good]);
    assert_eq!(bulk.ends(0).out.lines().count(), 1_200);
    assert!(bulk.err.contains("1200 jobs enqueued"));
    assert_eq!(desk.double.count(), 1_200);
    let first: JobId = bulk.out.lines().next().unwrap().parse().unwrap();
    let shown = desk
        .run(&["-o", "json", "job", "show", &first.text()])
        .json();
    assert_eq!(
        (&shown["payload"], &shown["queue"]),
        (&0.into(), &"q0".into())
    );

    lines.push_str("{\"payload\":1,\"priority\":\"high\"}\n");
    let bad = desk.file("bad.ndjson", &lines);
    let refused = desk.run(&["enqueue", "page", "--bulk", &bad]);
    assert!(
        refused
            .ends(2)
            .err
            .contains("bad.ndjson: line 1202 field `priority` is not right"),
        "{}",
        refused.err
    );
    assert!(refused.err.contains("nothing was enqueued"));
    let large = format!("{{\"payload_text\":\"{}\"}}", "x".repeat((1 << 20) + 1));
    let large = desk.file("large.ndjson", large);
    assert!(
        desk.run(&["enqueue", "page", "--bulk", &large])
            .ends(2)
            .err
            .contains("line 1 is refused")
    );
    let latin = desk.file("latin.ndjson", b"{\"kind\":\"\xe9\"}");
    assert!(
        desk.run(&["enqueue", "page", "--bulk", &latin])
            .ends(2)
            .err
            .contains("line 1 is not UTF-8")
    );
    desk.run(&["enqueue", "page", "--bulk", "/none"]).ends(2);
    desk.run(&["enqueue", "page", "--bulk", &good, "--wait"])
        .ends(2);
    assert_eq!(desk.double.count(), 1_200);
    let one = desk.run_with(&["enqueue", "--bulk", "-"], "{\"kind\":\"a\"}", false);
    assert!(one.ends(0).err.contains("1 job enqueued"), "{}", one.err);

    let piped = desk.run_with(
        &["enqueue", "--bulk", "-", "-o", "json"],
        "{\"kind\":\"a\"}\n\n{\"kind\":\"b\"}",
        false,
    );
    assert_eq!(piped.ends(0).json().as_array().unwrap().len(), 2);
    let empty = desk.run_with(&["enqueue", "--bulk", "-", "-o", "json"], "", false);
    assert_eq!(empty.ends(0).json(), Value::Array(Vec::new()));
    desk.double.fill_disk();
    let full = desk.run(&["enqueue", "page", "--bulk", &good]);
    assert!(
        full.ends(1).err.contains("0 of 1200 jobs were enqueued"),
        "{}",
        full.err
    );
}

#[test]
fn dead_letters_are_listed_shown_brought_back_and_deleted() {
    let desk = Desk::new();
    let ids: Vec<String> = (0..3)
        .map(|_| desk.run(&["enqueue", "page"]).id().text())
        .collect();
    for id in &ids {
        desk.double.dies(id.parse().unwrap());
    }
    let listed = desk.run(&["dead", "ls", "--limit", "2", "-o", "json"]);
    assert_eq!(listed.ends(0).json().as_array().unwrap().len(), 2);
    assert!(listed.err.contains("--cursor 2"));
    let seen = desk.seen(&["dead", "ls", "--limit", "2"]);
    let (last, cursor) = (seen.find(&ids[1]), seen.find("--cursor 2"));
    assert!(last.is_some() && last < cursor, "{seen}");
    let rest = desk.run(&["dead", "ls", "--limit", "2", "--cursor", "2", "-o", "json"]);
    assert_eq!(rest.json()[0]["id"], ids[0]);
    assert_eq!(rest.json()[0]["failure"]["kind"], "trap:unreachable");
    let shown = desk.run(&["dead", "show", &ids[0]]);
    for part in [
        "boom at src/lib.rs:7",
        "at page::handle",
        "careful",
        "row=3",
        "2 lines left out",
    ] {
        assert!(
            shown.ends(0).out.contains(part),
            "{part} is not in {}",
            shown.out
        );
    }
    assert!(!shown.out.contains(['\u{1b}', '\u{7}']), "{:?}", shown.out);
    let letter = desk.run(&["dead", "show", &ids[0], "-o", "json"]);
    assert!(!letter.out.contains('\u{1b}'));
    assert_eq!(
        letter.json()["attempts"][0]["failure"]["panic"],
        "boom at src/lib.rs:7"
    );
    assert_eq!(
        desk.run(&["dead", "retry", &ids[0]]).ends(0).out.trim(),
        ids[0]
    );
    assert_eq!(
        desk.run(&["dead", "rm", "--all", "--kind", "none"])
            .ends(0)
            .out,
        ""
    );
    let gone = desk.run(&["dead", "rm", "--all", "-o", "json"]);
    assert_eq!(gone.ends(0).json().as_array().unwrap().len(), 2);
    assert_eq!(
        desk.run(&["dead", "ls", "-o", "json"]).json(),
        Value::Array(Vec::new())
    );
    let logs = desk.run(&["job", "logs", &ids[0]]);
    assert!(logs.ends(0).out.contains("warn  careful"), "{}", logs.out);
    let quiet = desk.run(&["enqueue", "page"]).id();
    desk.double.fails_quietly(quiet);
    let logs = desk.run(&["job", "logs", &quiet.text()]);
    assert_eq!(
        (logs.ends(0).out.as_str(), logs.err.as_str()),
        ("", "attempt 1 logged nothing\n")
    );
    desk.run(&["job", "logs", &ids[0], "--attempt", "9"])
        .ends(4);
}

#[test]
fn a_kind_that_nobody_serves_is_told() {
    let desk = Desk::new();
    let (_runtime, _handle) = desk.runner();
    let served = desk.run(&["enqueue", "page"]);
    assert_eq!(served.ends(0).err, "");
    let unserved = desk.run(&["enqueue", "gret"]);
    assert_eq!(
        unserved.ends(0).err,
        "no plugin serves gret yet: the job waits; see `sandhog plugin ls`\n"
    );
    let lines = "{\"kind\":\"gret\"}\n{\"kind\":\"page\"}\n{\"kind\":\"a\"}\n{\"kind\":\"gret\"}";
    let bulk = desk.run_with(&["enqueue", "--bulk", "-"], lines, false);
    assert_eq!(
        bulk.ends(0).err,
        "4 jobs enqueued\nno plugin serves a, gret yet: they wait; see `sandhog plugin ls`\n"
    );
    let many: String = (0..30)
        .map(|n| format!("{{\"kind\":\"k{n}\"}}\n"))
        .collect();
    let bulk = desk.run_with(&["enqueue", "--bulk", "-"], &many, false);
    assert!(bulk.ends(0).err.contains("and 20 more yet"), "{}", bulk.err);
}

#[test]
fn a_running_job_shows_its_progress() {
    let desk = Desk::new();
    let (_runtime, _handle) = desk.runner();
    let id = desk.run(&["enqueue", "page"]).id();
    let waiting = desk.run(&["job", "show", &id.text(), "-o", "json"]);
    assert_eq!(waiting.ends(0).json()["progress"], Value::Null);
    desk.double.starts(id);
    let running = desk.run(&["job", "show", &id.text(), "-o", "json"]);
    let progress = &running.ends(0).json()["progress"];
    assert_eq!(
        (&progress["done"], &progress["total"]),
        (&1.into(), &4.into())
    );
    let shown = desk.run(&["job", "show", &id.text()]);
    assert!(
        shown.ends(0).out.contains("1/4 first\\u{1b}"),
        "{}",
        shown.out
    );
}

#[test]
fn a_payload_that_is_almost_json_and_a_wrong_count_are_told() {
    let desk = Desk::new();
    let odd = desk.run(&["enqueue", "page", "{name: 1}"]);
    assert!(
        odd.ends(0)
            .err
            .contains("is no valid JSON (key must be a string")
    );
    assert!(odd.err.contains("goes as text/plain"), "{}", odd.err);
    let none = desk.run(&["enqueue", "page", "--max-attempts", "0"]);
    assert!(none.ends(2).err.contains("from 1 to 1000"), "{}", none.err);
    desk.run(&["enqueue", "page", "--max-attempts", "1001"])
        .ends(2);
    desk.run(&["enqueue", "page", "--max-attempts", "1000"])
        .ends(0);
}

#[test]
fn a_handlers_own_code_is_shown_and_a_repeated_one_is_not() {
    use sandhog_model::{Failure, FailureKind, TrapKind};
    let told = |kind, code: &str| job::told(&Failure::new(kind, code, "why"));
    assert_eq!(told(FailureKind::Error, "no-name"), "error (no-name): why");
    assert_eq!(told(FailureKind::Error, "error"), "error: why");
    assert_eq!(told(FailureKind::Timeout, "timeout"), "timeout: why");
    let trap = FailureKind::Trap(TrapKind::Unreachable);
    assert_eq!(told(trap, "unreachable"), "trap:unreachable: why");
    assert_eq!(told(FailureKind::Error, "\u{1b}"), "error (\\u{1b}): why");
}
