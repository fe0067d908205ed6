//! `sandhog cron next` and `[cron.NAME]`, where nothing but the program is there.

use sandhog_kit::Home;

use crate::SANDHOG;

const AFTER: [&str; 4] = [
    "--tz",
    "Australia/Lord_Howe",
    "--after",
    "2027-04-03T12:00:00+11:00",
];

#[test]
fn slots_are_shown_without_a_runner_and_whatever_the_zone_and_settings_of_the_host() {
    let home = Home::new(SANDHOG);
    home.write_config("[runner]\nworkers = 0\n");
    let words = [
        &["cron", "next", "45 1 * * *", "-n", "3", "-o", "json"][..],
        &AFTER,
    ]
    .concat();
    for host in ["UTC", "Europe/London", "Pacific/Apia", "nonsense"] {
        let done = home.command(&words).env("TZ", host).output().unwrap();
        assert!(done.status.success(), "{host}: {done:?}");
        let rows: Vec<serde_json::Value> = serde_json::from_slice(&done.stdout).unwrap();
        let found: Vec<&str> = rows.iter().filter_map(|row| row["utc"].as_str()).collect();
        let right = [
            "2027-04-03T14:45:00Z",
            "2027-04-04T15:15:00Z",
            "2027-04-05T15:15:00Z",
        ];
        assert_eq!(found, right, "{host}");
        assert_eq!(rows[0]["local"], "2027-04-04T01:45:00+11:00");
        assert_eq!(rows[0]["clock_change"]["dst"], true);
        assert!(rows[1]["clock_change"].is_null());
    }
    assert!(
        !home.data().exists(),
        "looking at a schedule made the data directory"
    );
}

#[test]
fn the_table_marks_the_day_on_which_clocks_are_set() {
    let home = Home::new(SANDHOG);
    let words = [&["cron", "next", "45 1 * * *", "-n", "3"][..], &AFTER].concat();
    let shown = String::from_utf8(home.run(&words).exits(0).stdout).unwrap();
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 4, "{shown}");
    assert!(
        lines[0].starts_with("UTC ") && lines[0].contains("LOCAL"),
        "{shown}"
    );
    assert!(
        lines[1].starts_with("2027-04-03T14:45:00Z  2027-04-04T01:45:00+11:00  Sun"),
        "{shown}"
    );
    assert!(
        lines[1].contains("DST day: 02:00 becomes 01:30; 01:45 comes twice, this is the first"),
        "{shown}"
    );
    assert!(
        !lines[2].contains("DST") && !lines[3].contains("DST"),
        "{shown}"
    );
}

#[test]
fn what_never_comes_and_what_cannot_be_read_is_refused_with_the_reason() {
    let home = Home::new(SANDHOG);
    let huge = "1,".repeat(5_000);
    for (expression, says) in [
        ("0 0 30 2 *", "NEVER: `0 0 30 2 *`: can never occur"),
        ("0 0 31 2,4,6 *", "NEVER"),
        ("*/250 * * * *", "a number from 1 to 59"),
        ("1,2, * * * *", "minute field, column 5"),
        ("0 0 * * L", "write 5L for the last Friday"),
        ("60 * * * *", "is out of range: write a number from 0 to 59"),
        (huge.as_str(), "512 at most"),
        ("", "the expression is empty"),
    ] {
        for format in ["table", "json"] {
            let answer = home
                .run(&["cron", "next", expression, "-o", format])
                .exits(2);
            assert!(
                answer.stderr.contains(says),
                "{expression}: {}",
                answer.stderr
            );
            assert!(answer.stdout.is_empty(), "{expression}");
        }
    }
    let answer = home
        .run(&["cron", "next", "0 3 * * *", "--tz", "+02:00"])
        .exits(2);
    assert!(
        answer.stderr.contains("no zone of the IANA database"),
        "{}",
        answer.stderr
    );
}

#[test]
fn schedules_of_the_settings_are_checked_and_shown() {
    let home = Home::new(SANDHOG);
    home.write_config(
        "[cron.nightly]\nkind = \"report\"\nschedule = \"0 0 30 2 *\"\nzone = \"Paris\"\n",
    );
    let refused = home.run(&["config", "check"]).exits(2).stderr;
    let lines: Vec<&str> = refused.lines().collect();
    assert_eq!(lines.len(), 2, "{refused}");
    assert!(
        lines[0].contains("sandhog.toml:3: `cron.nightly.schedule` is refused: NEVER"),
        "{refused}"
    );
    assert!(
        lines[1].contains("sandhog.toml:4: `cron.nightly.zone` is refused"),
        "{refused}"
    );

    home.write_config(
        "[cron.nightly]\nkind = \"report\"\nschedule = \"@daily\"\nzone = \"europe/paris\"\n",
    );
    let _ = home.run(&["config", "check"]).exits(0);
    let shown = home.json(&["config", "show"]);
    let nightly = &shown["settings"]["cron"]["nightly"];
    assert_eq!(nightly["schedule"], "@daily", "{shown}");
    assert_eq!(nightly["zone"], "Europe/Paris", "{shown}");
    assert_eq!(nightly["overlap"], "skip", "{shown}");
}
