//! Everything but jobs: the runner, plugins, the log, settings, help.

use super::*;

#[test]
fn what_is_known_of_a_runner_is_shown() {
    let desk = Desk::new();
    let (runtime, handle) = desk.runner();
    desk.run(&["enqueue", "resize", "--queue", "images"]).id();
    let queues = desk.run(&["queue", "ls"]);
    assert!(
        queues.ends(0).out.contains("no plugin serves resize"),
        "{}",
        queues.out
    );
    let queues = desk.run(&["queue", "ls", "-o", "json"]).json();
    assert_eq!(
        (&queues[0]["jobs"]["available"], &queues[0]["jobs"]["dead"]),
        (&1.into(), &0.into())
    );
    let plugins = desk.run(&["plugin", "ls", "-o", "json"]).ends(0).json();
    assert_eq!(
        (&plugins[0]["name"], &plugins[0]["kinds"][0]["kind"]),
        (&"page".into(), &"page".into())
    );
    let stats = desk.run(&["stats", "-o", "json"]).ends(0).json();
    assert_eq!(stats["runner"]["workers"][0]["ended"], 9);
    assert!(
        desk.run(&["stats"])
            .ends(0)
            .out
            .contains("0 of 4 slots busy")
    );
    assert!(desk.run(&["stats"]).out.contains("since the start"));
    assert_eq!(desk.opened.load(Ordering::Relaxed), 0);
    handle.stop();
    runtime.shutdown_timeout(Duration::from_secs(5));
    let _ = fs::remove_file(desk.data().join(SOCKET_NAME));
    let stats = desk.run(&["stats", "-o", "json"]).ends(0).json();
    assert_eq!(stats["runner"], Value::Null);
    assert!(!desk.run(&["stats"]).ends(0).out.contains("since the start"));
    let none = desk.run(&["plugin", "ls", "--plugins", "/none/plugins"]);
    assert_eq!(none.ends(0).err, "there is no folder /none/plugins\n");
    let there = desk.data();
    let there = desk.run(&["plugin", "ls", "--plugins", there.to_str().unwrap()]);
    assert_eq!(there.ends(0).err, "");
    let alone = desk.run(&["plugin", "ls", "-o", "json"]).ends(0).json();
    assert_eq!(
        (&alone[0]["status"], &alone[0]["earlier_served"]),
        (&"unusable".into(), &true.into())
    );
}

#[test]
fn the_log_is_repaired_or_it_is_said_what_would_be() {
    let mut desk = Desk::new();
    let dry = desk
        .run(&["log", "repair", "--dry-run"])
        .ends(0)
        .out
        .clone();
    assert!(
        dry.contains("1.seg: at byte 77: bad checksum, dry run true; 2 records lost"),
        "{dry}"
    );
    assert!(
        dry.contains("how many records are lost is not known"),
        "{dry}"
    );
    assert!(
        dry.contains(&format!("job {}: it cannot be run", JobId(1))),
        "{dry}"
    );
    assert!(dry.contains("and 5 jobs more"), "{dry}");
    assert!(
        dry.contains("3 jobs of 9 sound records would go on"),
        "{dry}"
    );
    assert!(
        dry.ends_with("nothing was changed: this was a dry run\n"),
        "{dry}"
    );
    let done = desk.run(&["log", "repair"]).ends(0).out.clone();
    assert!(
        done.contains("damaged-1.ndjson") && done.contains("damaged-letters-1.bin"),
        "{done}"
    );
    let json = desk.run(&["log", "repair", "-o", "json"]).ends(0).json();
    let log = &json["logs"][0];
    assert_eq!((&json["dry_run"], &log["jobs"]), (&false.into(), &3.into()));
    assert_eq!(log["affected"].as_array().unwrap().len(), 25);
    assert_eq!(log["removed"][0]["records_lost"], 2);
    assert_eq!(json["letters"]["damage"][0]["offset"], 77);
    desk.held = true;
    assert!(
        desk.run(&["log", "repair"])
            .ends(1)
            .err
            .contains("a runner is up")
    );
}

#[test]
fn a_dump_starts_at_a_place_and_finds_jobs_named_inside_a_record() {
    let desk = Desk::new();
    let json = |words: &[&str]| desk.run(words).ends(0).json();
    let from = json(&[
        "log", "dump", "--from", "2:70", "--limit", "1", "-o", "json",
    ]);
    assert_eq!(from[0]["sequence"], 7);
    let named = JobId(99).text();
    let found = json(&["log", "dump", "--job", &named, "--limit", "2", "-o", "json"]);
    assert_eq!(found.as_array().unwrap().len(), 2);
    for place in ["7", "x:1", "1:", "-1:2"] {
        let refused = desk.run(&["log", "dump", &format!("--from={place}")]);
        assert!(refused.ends(2).err.contains("is no place"), "{place}");
    }
}

#[test]
fn the_log_is_checked_and_dumped() {
    let desk = Desk::new();
    let check = desk.run(&["log", "check"]);
    assert!(
        check
            .ends(1)
            .out
            .contains("1.seg: damaged at byte 77: bad checksum"),
        "{}",
        check.out
    );
    let check = desk.run(&["log", "check", "-o", "json"]).ends(1).json();
    let counted = desk.run(&["log", "check"]).out;
    assert!(counted.contains(
        "2 records in 1 segment (300 B) up to the first damage, 0 dead letters, 1 finding\n"
    ));
    assert_eq!(
        (&check["sound"], &check["findings"][0]["offset"]),
        (&false.into(), &77.into())
    );
    let odd = JobId(1).text();
    let dump = desk.run(&["log", "dump", "--limit", "3", "--job", &odd, "-o", "json"]);
    let records = dump.ends(0).json();
    assert_eq!(
        (records.as_array().unwrap().len(), &records[2]["sequence"]),
        (3, &5.into())
    );
    assert!(!dump.out.contains('\u{1b}'));
    assert_eq!(
        desk.run(&["log", "dump", "--limit", "2"])
            .ends(0)
            .out
            .lines()
            .count(),
        2
    );
}

#[test]
fn settings_are_checked_and_shown() {
    let desk = Desk::new();
    let bad = desk.file("bad.toml", "[runner]\nworkers = 0\n");
    let refused = desk.run(&["config", "check", &bad]);
    assert!(
        refused
            .ends(2)
            .err
            .contains("bad.toml:2: `runner.workers` is 0"),
        "{}",
        refused.err
    );
    assert!(
        desk.run(&["stats", "--config", &bad])
            .ends(2)
            .err
            .contains("bad.toml:2")
    );
    let missing = desk.run(&["stats", "--config", "/none.toml"]);
    assert_eq!(missing.ends(2).err.matches("os error 2").count(), 1);
    let good = desk.file("good.toml", "[runner]\nworkers = 3\n");
    assert!(
        desk.run(&["config", "check", &good])
            .ends(0)
            .out
            .contains("good.toml: nothing wrong")
    );
    let shown = desk.run(&["config", "show", "--config", &good, "-o", "json"]);
    assert_eq!(shown.ends(0).json()["settings"]["runner"]["workers"], 3);
    let shown = desk.run(&["config", "show", "--config", &good, "--data", "/elsewhere"]);
    assert!(shown.out.contains("data = \"/elsewhere\""));
    desk.run(&["start", "--config", &good]).ends(42);
    desk.run(&["start"])
        .ends(if Config::default().runner.workers == 3 {
            42
        } else {
            1
        });
}

#[test]
fn a_reader_that_goes_away_ends_the_command_quietly() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let desk = Desk::new();
    for words in [
        &["job", "ls"][..],
        &["log", "dump"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let mut err = Vec::new();
        let mut io = Io {
            out: &mut Gone,
            err: &mut err,
            input: &mut io::empty(),
            out_is_terminal: false,
            err_is_terminal: false,
        };
        let data = desk.data();
        let environment = |_: &str| Some(data.clone().into_os_string()).filter(|_| false);
        let flag = format!("--data={}", data.display());
        let first = ["sandhog", &flag];
        let args = first.iter().chain(words).map(OsString::from);
        let code = run(&desk, &mut io, environment, args);
        assert_eq!(
            format!("{code:?}"),
            format!("{:?}", ExitCode::from(0)),
            "{words:?}"
        );
        assert!(
            err.is_empty(),
            "{words:?} said {:?}",
            String::from_utf8_lossy(&err)
        );
    }
}

#[test]
fn the_page_in_docs_is_what_help_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md");
    if std::env::var_os("SANDHOG_WRITE_DOCS").is_some() {
        fs::write(&path, page::page()).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page::page(),
        "{} differs from the code: run this test once with SANDHOG_WRITE_DOCS=1",
        path.display()
    );
}

#[test]
fn completions_come_for_every_shell() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            desk.run(&["completions", shell])
                .ends(0)
                .out
                .contains("enqueue")
        );
    }
}

#[test]
fn a_runners_threads_can_write_while_the_command_lasts() {
    let desk = Desk::new();
    let file = desk.file("s.toml", "[runner]\nworkers = 3\n");
    let words = ["sandhog", "start", "--config", &file].map(OsString::from);
    let code = of_process(&desk, words);
    assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::from(42)));
}
