//! `sandhog cron`.

use super::*;

const FORWARD: [&str; 10] = [
    "cron",
    "next",
    "30 2 * * *",
    "--tz",
    "america/new_york",
    "--after",
    "2027-03-13T12:00:00-05:00",
    "-n",
    "2",
    "-o",
];

#[test]
fn slots_are_shown_with_the_day_on_which_clocks_are_set() {
    let desk = Desk::new();
    let shown = desk.run(&[&FORWARD[..], &["table"]].concat());
    let lines: Vec<&str> = shown.ends(0).out.lines().collect();
    assert_eq!(lines.len(), 3, "{}", shown.out);
    assert_eq!(
        lines[1].trim_end(),
        "2027-03-14T07:00:00Z  2027-03-14T03:00:00-04:00  Sun  EDT   DST day: 02:00 becomes 03:00; the time asked for is skipped"
    );
    assert_eq!(
        lines[2].trim_end(),
        "2027-03-15T06:30:00Z  2027-03-15T02:30:00-04:00  Mon  EDT"
    );
    assert_eq!(desk.opened.load(Ordering::Relaxed), 0);
}

#[test]
fn a_slot_as_json_has_every_part() {
    let desk = Desk::new();
    let rows = desk.run(&[&FORWARD[..], &["json"]].concat()).ends(0).json();
    let first = serde_json::json!({
        "utc": "2027-03-14T07:00:00Z",
        "local": "2027-03-14T03:00:00-04:00",
        "weekday": "Sun",
        "zone": "America/New_York",
        "abbreviation": "EDT",
        "clock_change": {
            "at": "2027-03-14T07:00:00Z",
            "from": "2027-03-14T02:00:00",
            "to": "2027-03-14T03:00:00",
            "dst": true,
        },
        "pass": null,
        "moved": true,
    });
    assert_eq!(rows[0], first);
    assert_eq!(
        (&rows[1]["clock_change"], &rows[1]["moved"]),
        (&Value::Null, &false.into())
    );
    assert_eq!(rows.as_array().map(Vec::len), Some(2));
}

#[test]
fn times_that_come_twice_skipped_days_and_old_offsets_are_told() {
    let desk = Desk::new();
    let next = |text, tz, after, more: &[&str]| {
        let words = [
            "cron", "next", text, "--tz", tz, "--after", after, "-n", "2",
        ];
        desk.run(&[&words[..], more].concat()).ends(0).out.clone()
    };
    let twice = next("0 * * * *", "America/New_York", "2027-11-07T04:30:00Z", &[]);
    assert!(
        twice.contains("DST day: 02:00 becomes 01:00; 01:00 comes twice, this is the first"),
        "{twice}"
    );
    assert!(
        twice.contains("EST   DST day: 02:00 becomes 01:00; 01:00 comes twice, this is the second"),
        "{twice}"
    );
    let json = next(
        "0 * * * *",
        "America/New_York",
        "2027-11-07T04:30:00Z",
        &["-o", "json"],
    );
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json[0]["pass"], &json[1]["pass"]),
        (&"first".into(), &"second".into())
    );
    let day = next(
        "0 12 * * *",
        "Pacific/Apia",
        "2011-12-29T23:00:00-10:00",
        &[],
    );
    assert!(
        day.contains("2011-12-30 00:00 becomes 2011-12-31 00:00; the time asked for is skipped"),
        "{day}"
    );
    let old = next("0 0 * * *", "Africa/Monrovia", "1971-01-01T12:00:00Z", &[]);
    assert!(
        old.contains("1971-01-02T00:44:30Z  1971-01-02T00:00:00-00:44:30"),
        "{old}"
    );
}

#[test]
fn what_is_refused_is_a_usage_error_with_its_place() {
    let desk = Desk::new();
    for (words, says) in [
        (
            &["*/90 * * * *"][..],
            "sandhog: minute field, column 1, `*/90`: the step is out of range",
        ),
        (
            &["0 0 30 2 *"],
            "sandhog: NEVER: `0 0 30 2 *`: can never occur",
        ),
        (&["* * * *"], "has 4 fields"),
        (&["@reboot"], "`@reboot`: has no slots to show"),
        (
            &["* * * * *", "--tz", "Paris"],
            "`Paris` is no zone of the IANA database: did you mean Europe/Paris?",
        ),
        (&["* * * * *", "--after", "soon"], "soon"),
        (&["* * * * *", "-n", "0"], "0"),
        (&["* * * * *", "-n", "1001"], "1001"),
        (
            &["* * * * *", "--after", "9999-12-31T23:00:00-05:00"],
            "the year 9999",
        ),
        (&["\u{1b}[2J * * * *"], "`\\u{1b}[2J`"),
    ] {
        let answer = desk.run(&[&["cron", "next"][..], words].concat());
        assert!(
            answer.ends(2).err.contains(says),
            "{words:?}: {}",
            answer.err
        );
        assert_eq!(answer.out, "", "{words:?}");
        let json = desk.run(&[&["cron", "next", "-o", "json"][..], words].concat());
        assert_eq!(json.ends(2).out, "", "{words:?}");
    }
    let end = [
        "cron",
        "next",
        "0 0 1 1 *",
        "--after",
        "9998-06-01T00:00:00Z",
        "-o",
        "json",
    ];
    let end = desk.run(&end);
    assert_eq!(end.ends(0).json().as_array().map(Vec::len), Some(1));
    assert_eq!(
        end.err,
        "no more slots: the calendar ends with the year 9999\n"
    );
}

#[test]
fn ten_slots_from_now_on_unless_told_otherwise() {
    let desk = Desk::new();
    let before = session::wall();
    let rows = desk
        .run(&["cron", "next", "* * * * * *", "-o", "json"])
        .ends(0)
        .json();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 10);
    let first = when::instant(rows[0]["utc"].as_str().unwrap()).unwrap();
    assert!(
        first > before && first.since(before) < 60_000,
        "{first:?} {before:?}"
    );
    assert_eq!(rows[0]["zone"], "UTC");
}

#[test]
fn schedules_are_shown_with_what_keeps_them_from_running() {
    let desk = Desk::new();
    desk.run(&[
        "cron",
        "pause",
        "nightly",
        "--reason",
        "no\u{1b}[2Jsnow",
        "--by",
        "ada",
    ])
    .ends(0);
    desk.run(&[
        "cron",
        "add",
        "yearly",
        "@yearly",
        "--kind",
        "page",
        "--priority",
        "-3",
    ])
    .ends(0);
    let shown = desk.run(&["cron", "ls"]).ends(0).out.clone();
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("NAME") && lines.len() == 3, "{shown}");
    assert!(
        lines[1].contains("nightly") && lines[1].contains("30 2 * * *"),
        "{shown}"
    );
    assert!(lines[1].contains("by ada: no\\u{1b}[2Jsnow"), "{shown}");
    assert!(
        lines[2].contains("yearly") && lines[2].contains("added"),
        "{shown}"
    );
    let rows = desk.run(&["cron", "ls", "-o", "json"]).ends(0).json();
    assert_eq!(
        (&rows[0]["next"], &rows[0]["paused"]["by"]),
        (&Value::Null, &"ada".into())
    );
    assert_eq!(
        (&rows[1]["name"], &rows[1]["added"]),
        (&"yearly".into(), &true.into())
    );
    let resumed = desk.run(&["cron", "resume", "nightly"]).ends(0).out.clone();
    assert!(resumed.starts_with("nightly: next at "), "{resumed}");
    let gone = desk.run(&["cron", "rm", "yearly"]).ends(0).out.clone();
    assert_eq!(gone, "yearly: taken away\n");
}

#[test]
fn a_schedule_that_is_not_there_or_not_right_changes_nothing() {
    let desk = Desk::new();
    for verb in ["pause", "resume", "trigger", "rm"] {
        let answer = desk.run(&["cron", verb, "nowhere"]);
        assert!(
            answer.ends(4).err.contains("no schedule \"nowhere\""),
            "{}",
            answer.err
        );
    }
    let of_settings = [
        &["cron", "rm", "nightly"][..],
        &["cron", "add", "nightly", "@yearly", "--kind", "page"],
    ];
    for words in of_settings {
        let answer = desk.run(words);
        assert!(
            answer.ends(2).err.contains("change [cron.nightly] there"),
            "{}",
            answer.err
        );
    }
    let bad = desk.run(&["cron", "add", "extra", "@yearly", "--kind", "bad"]);
    assert!(
        bad.ends(2).err.contains("no such kind of thing"),
        "{}",
        bad.err
    );
    let rows = desk.run(&["cron", "ls", "-o", "json"]).ends(0).json();
    assert_eq!(rows.as_array().map(Vec::len), Some(1));
}

#[test]
fn a_trigger_gives_the_id_of_a_job() {
    let desk = Desk::new();
    let id = desk
        .run(&["cron", "trigger", "nightly"])
        .ends(0)
        .out
        .clone();
    assert!(id.trim().parse::<JobId>().is_ok(), "{id}");
    let json = desk
        .run(&["cron", "trigger", "nightly", "-o", "json"])
        .ends(0)
        .json();
    assert_eq!(json["schedule"]["latest_job"], json["job"]);
}
