//! Dead letters beyond one at a time: dry runs, choices, files.

use super::*;

fn buried(desk: &Desk, count: usize) -> Vec<String> {
    let one = |_| {
        let id = desk.run(&["enqueue", "page", "\"Näh\u{7}\""]).id();
        desk.double.dies(id);
        id.text()
    };
    (0..count).map(one).collect()
}

#[test]
fn a_dry_run_says_how_many_and_changes_nothing() {
    let desk = Desk::new();
    let ids = buried(&desk, 12);
    for words in [
        vec!["dead", "rm", "--all", "--dry-run"],
        vec!["dead", "retry", "--kind", "page", "--dry-run"],
        vec!["dead", "purge", "--max-letters", "2", "--dry-run"],
        vec!["dead", "rm", &ids[0], &ids[1], "--dry-run"],
    ] {
        let count = match words[1] {
            "purge" => 10,
            _ if words.contains(&ids[0].as_str()) => 2,
            _ => 12,
        };
        let dry = desk.run(&words);
        let told = &dry.ends(0).err;
        assert!(
            told.contains(&format!("{count} letters would be ")),
            "{words:?}: {told}"
        );
        assert!(told.contains("nothing was changed"), "{told}");
        let shown = dry
            .out
            .lines()
            .filter(|line| line.starts_with("01"))
            .count();
        assert_eq!(shown, count.min(10), "{}", dry.out);
        let json = desk
            .run(&[&words[..], &["-o", "json"]].concat())
            .ends(0)
            .json();
        assert_eq!(json["count"], count, "{json}");
        let left = desk.run(&["dead", "ls", "--count"]);
        assert_eq!(left.ends(0).out, "12\n");
    }
    assert_eq!(
        desk.run(&["dead", "ls", "--count", "-o", "json"]).json()["count"],
        12
    );
    let gone = desk.run(&["dead", "purge", "--max-letters", "2"]);
    assert!(
        gone.ends(0).err.contains("10 letters purged"),
        "{}",
        gone.err
    );
    assert_eq!(gone.out.lines().count(), 10);
    let refused = desk.run(&["dead", "purge"]);
    assert!(refused.ends(2).err.contains("[dead]"), "{}", refused.err);
}

#[test]
fn a_choice_is_asked_for_and_never_guessed() {
    let desk = Desk::new();
    let ids = buried(&desk, 1);
    for words in [
        &["dead", "retry"][..],
        &["dead", "rm", "--all", &ids[0]],
        &["dead", "rm", &ids[0], "--failure", "trap"],
        &["dead", "rm", "@x"],
        &["dead", "ls", "--since", "yesterday"],
        &["dead", "retry", "--all", "--rate", "0"],
        &["dead", "retry", "--all", "--rate", "many"],
        &["dead", "ls", "--limit", "0"],
        &["dead", "ls", "--limit", "1001"],
        &["dead", "import", "/none/x"],
        &["dead", "purge", "--max-bytes", "lots"],
        &["dead", "purge", "--max-letters", "0"],
    ] {
        desk.run(words).ends(2);
    }
    assert_eq!(desk.run(&["dead", "ls", "--count"]).out, "1\n");
    let before = desk.run(&["dead", "rm", "--until", "2001-01-01T00:00:00Z"]);
    assert!(
        before.ends(0).err.contains("0 of 0 deleted"),
        "{}",
        before.err
    );
    let gone = desk.run(&[
        "dead",
        "rm",
        "--since",
        "2001-01-01T00:00:00Z",
        "--kind",
        "page",
    ]);
    assert_eq!(gone.ends(0).out.trim(), ids[0]);
}

#[test]
fn a_throttled_retry_takes_its_time_with_a_runner_and_none_without() {
    let desk = Desk::new();
    buried(&desk, 6);
    let before = std::time::Instant::now();
    desk.run(&["dead", "retry", "--all", "--rate", "1/s", "--dry-run"])
        .ends(0);
    let (runtime, handle) = desk.runner();
    let ten = desk.run(&["dead", "retry", "--all", "--rate", "20/s"]);
    assert!(ten.ends(0).err.contains("6 of 6 requeued"), "{}", ten.err);
    let took = before.elapsed();
    // Two at a time, each pair a tenth of a second after the one before.
    assert!(took >= Duration::from_millis(200), "{took:?}");
    handle.stop();
    runtime.shutdown_timeout(Duration::from_secs(5));
    let _ = fs::remove_file(desk.data().join(SOCKET_NAME));
    buried(&desk, 4);
    let before = std::time::Instant::now();
    desk.run(&["dead", "retry", "--all", "--rate", "1/s"])
        .ends(0);
    assert!(
        before.elapsed() < Duration::from_secs(3),
        "nobody runs them"
    );
}

#[test]
fn letters_go_out_as_lines_and_come_in_again() {
    let desk = Desk::new();
    let ids = buried(&desk, 3);
    let out = desk.run(&["dead", "export"]);
    let lines: Vec<Value> = out
        .ends(0)
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((lines.len(), &lines[2]["id"]), (3, &ids[0].as_str().into()));
    assert_eq!(lines[0]["payload_text"], "\"Näh\u{7}\"");
    assert_eq!(lines[0]["payload_base64"], "Ik7DpGgHIg==");
    assert_eq!(
        lines[0]["letter"]["attempts"][0]["logs"][0]["level"],
        "warn"
    );
    assert!(out.err.contains("3 letters exported"), "{}", out.err);

    let file = desk.folder.path().join("letters.ndjson");
    let file = file.to_str().unwrap();
    desk.run(&["dead", "export", file, "--kind", "page"])
        .ends(0);
    assert_eq!(fs::read_to_string(file).unwrap(), out.out);
    assert_eq!(
        fs::read_dir(desk.folder.path()).unwrap().count(),
        2,
        "nothing beside it"
    );
    comes_in(&Desk::new(), file, &ids);
}

/// Take the file in, with lines that are not right, and once more.
fn comes_in(other: &Desk, file: &str, ids: &[String]) {
    let dry = other.run(&["dead", "import", file, "--dry-run"]);
    assert!(
        dry.ends(0).err.contains("3 letters would be imported"),
        "{}",
        dry.err
    );
    assert_eq!(other.run(&["dead", "ls", "--count"]).out, "0\n");
    let text = fs::read_to_string(file).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.splice(
        1..1,
        [
            "",
            "{\"a\":",
            "{\"sandhog_letter\":9}",
            "{\"sandhog_letter\":1,\"raw_base64\":\"AA==\"}",
        ],
    );
    let mixed = lines.join("\n");
    let taken = other.run_with(&["dead", "import", "-"], &mixed, false);
    for part in [
        "line 3: no JSON",
        "line 4: `sandhog_letter` is 9",
        "line 5: it could not be read when it was exported",
        "3 letters imported, 0 here already and left alone, 3 lines not right",
    ] {
        assert!(taken.ends(6).err.contains(part), "{part}: {}", taken.err);
    }
    let again = other.run(&["dead", "import", file, "-o", "json"]);
    assert_eq!(
        (&again.ends(0).json()["known"], &again.json()["imported"]),
        (&3.into(), &0.into())
    );
    assert!(
        again
            .err
            .contains(&format!("line 3: {} is here already", ids[0])),
        "{}",
        again.err
    );
    assert_eq!(other.run(&["dead", "ls", "--count"]).out, "3\n");
    let shown = other.run(&["dead", "show", &ids[0]]);
    assert!(
        shown.ends(0).out.contains("\n  \"Näh\\u{7}\"\n"),
        "{}",
        shown.out
    );
}

#[test]
fn a_letter_that_cannot_be_read_is_a_row_and_can_be_seen_exported_and_deleted() {
    let desk = Desk::new();
    buried(&desk, 1);
    desk.double.breaks(7168, &[0, 255, b'A', 7]);
    let list = desk.run(&["dead", "ls"]);
    assert!(list.ends(0).out.contains("@7168"), "{}", list.out);
    assert!(
        list.out.contains("unreadable, 4 B: bad checksum\\u{1b}"),
        "{}",
        list.out
    );
    let rows = desk.run(&["dead", "ls", "-o", "json"]).ends(0).json();
    assert_eq!(
        (&rows[1]["id"], &rows[1]["died_at"]),
        (&"@7168".into(), &Value::Null)
    );
    assert!(rows[1]["unreadable"].is_string() && rows[0]["unreadable"].is_null());
    desk.run(&["dead", "show", "@7168"]).ends(2);
    desk.run(&["dead", "show", "@7169", "--raw"]).ends(4);
    let raw = desk.run(&["dead", "show", "@7168", "--raw", "-o", "json"]);
    assert_eq!(raw.ends(0).json()["raw_base64"], "AP9BBw==");
    let hex = desk.run_with(&["dead", "show", "@7168", "--raw"], "", true);
    assert!(
        hex.ends(0).out.contains("00000000  00 ff 41 07"),
        "{}",
        hex.out
    );
    assert!(hex.out.contains("..A."), "{}", hex.out);
    let out = desk.run(&["dead", "export"]);
    assert_eq!(out.ends(0).out.lines().count(), 2);
    assert!(
        out.out.contains("\"raw_base64\":\"AP9BBw==\""),
        "{}",
        out.out
    );
    assert_eq!(
        desk.run(&["dead", "rm", "@7168"]).ends(0).out.trim(),
        "@7168"
    );
    desk.run(&["dead", "rm", "@7168"]).ends(4);
}

#[test]
fn a_payload_that_is_no_text_is_shown_in_hex_up_to_a_bound() {
    let desk = Desk::new();
    let file = desk.file("photo.bin", [0xFF; 40]);
    let id = desk.run(&["enqueue", "page", "--file", &file]).id();
    desk.double.dies(id);
    let shown = desk.run(&["dead", "show", &id.text(), "--payload", "20"]);
    assert!(
        shown.ends(0).out.contains("00000010  ff ff ff ff  "),
        "{}",
        shown.out
    );
    assert!(shown.out.contains("… and 20 B more"), "{}", shown.out);
    let all = desk.run(&["dead", "show", &id.text()]);
    assert!(all.ends(0).out.contains("00000020  ff"), "{}", all.out);
    assert!(!all.out.contains("more: see"), "{}", all.out);
}
