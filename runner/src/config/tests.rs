//! What the settings take and refuse.

use std::{ffi::OsString, fs, path::Path, time::Duration};

use super::{
    CatchUp, Config, CronSettings, Durability, Keep, Overlap, Overrides, load, page, parse, show,
};

fn read(text: &str) -> Result<Config, String> {
    parse(Path::new("sandhog.toml"), text).map_err(|error| error.to_string())
}

/// A file, and what its refusal says.
const REFUSALS: &[(&str, &str)] = &[
    (
        "[runner]\nworker = 2",
        "sandhog.toml:2: unknown key `runner.worker`: did you mean `workers`?",
    ),
    (
        "[runner]\nthreads = 2",
        "sandhog.toml:2: unknown key `runner.threads`: known are data, plugins",
    ),
    (
        "[runer]\n",
        "sandhog.toml:1: unknown table [runer]: did you mean `runner`?",
    ),
    (
        "workers = 2",
        "`workers` stands outside a table: put it under [runner]",
    ),
    ("runner = 3", "`runner` is a table"),
    (
        "[runner]\nworkers = 0",
        "sandhog.toml:2: `runner.workers` is 0, out of range: allowed is a whole number from 1 to 256",
    ),
    (
        "[runner]\nworkers = -1",
        "`runner.workers` is -1, out of range",
    ),
    (
        "[runner]\nworkers = 1_000_000_000",
        "`runner.workers` is 1000000000, out of range",
    ),
    (
        "[runner]\nworkers = 99999999999999999999999999999999999999999",
        "out of range",
    ),
    (
        "[runner]\nworkers = \"4\"",
        "`runner.workers` is the text \"4\", not a number",
    ),
    (
        "[runner]\nworkers = 4.5",
        "`runner.workers` is of type float",
    ),
    ("[runner]\nworkers = 08", "sandhog.toml:2: "),
    (
        "[runner]\nworkers = 2\nworkers = 3",
        "sandhog.toml:3: `workers` is there twice",
    ),
    (
        "[runner]\nlease = 60",
        "`runner.lease` is the number 60, without a unit: allowed is a duration from 1s to 1day",
    ),
    (
        "[runner]\nlease = \"0s\"",
        "`runner.lease` is 0s, out of range",
    ),
    ("[runner]\nlease = \"-5s\"", "which is negative"),
    ("[runner]\nlease = \"soon\"", "no duration"),
    ("[runner]\nlease = \"\"", "no duration"),
    ("[runner]\ndata = \" \"", "`runner.data` is empty"),
    ("[runner]\ndata = true", "`runner.data` is of type boolean"),
    (
        "[limits]\nmemory = \"0\"",
        "`limits.memory` is 0B, out of range: allowed is a size from 64KiB to 4GiB",
    ),
    ("[limits]\nmemory = \"99999999999999999999GiB\"", "no size"),
    ("[limits]\nmemory = \"12 parsecs\"", "no size"),
    (
        "[store]\nkeep_completed = \"0s\"",
        "`store.keep_completed` is 0s, out of range: allowed is a duration from 1ms to",
    ),
    ("[store]\nkeep_completed = \"always\"", "or \"forever\""),
    ("[store]\nkeep_completed = 24", "without a unit"),
    (
        "[store]\ndurability = \"fsync\"",
        "`store.durability` is \"fsync\": allowed is one of \"commit\", \"interval\", \"none\"",
    ),
    (
        "[kind.page]\nmax_attempts = 0",
        "`kind.page.max_attempts` is 0, out of range",
    ),
    (
        "[kind.page]\nbackof = \"x\"",
        "unknown key `kind.page.backof`: did you mean `backoff`?",
    ),
    (
        "[kind.page]\nbackoff = \"never\"",
        "`kind.page.backoff` is \"never\"",
    ),
    (
        "[kind.page]\nconfig = { depth = 3 }",
        "has the integer `depth`, not a string",
    ),
    ("[kind.\"a b\"]\n", "names no kind"),
    ("[kind]\npage = 3", "`kind.page` is a table"),
    (
        "[[kind]]\nqueue = \"a\"",
        "`kind` holds tables with names: write [kind.NAME]",
    ),
    (
        "[[cron]]\nkind = \"page\"",
        "sandhog.toml:1: `cron` holds tables with names: write [cron.NAME]",
    ),
    ("cron = 3", "`cron` holds tables with names"),
    ("[cron]\nnightly = 3", "`cron.nightly` is a table"),
    ("[cron.\"a b\"]\n", "[cron.\"a b\"] names no cron"),
    (
        "\n[cron.nightly]\nkind = \"page\"",
        "sandhog.toml:2: [cron.nightly] has no `schedule`: write one, a cron expression in quotes",
    ),
    (
        "[cron.nightly]\nschedule = \"@daily\"",
        "[cron.nightly] has no `kind`: write one, a name",
    ),
    (
        "[cron.nightly]\nschedul = \"@daily\"",
        "unknown key `cron.nightly.schedul`: did you mean `schedule`?",
    ),
    (
        "[cron.nightly]\nkind = \"page\"\nschedule = \"*/90 * * * *\"",
        "sandhog.toml:3: `cron.nightly.schedule` is refused: minute field, column 1, `*/90`: the step is out of range",
    ),
    (
        "[cron.nightly]\nschedule = \"0 0 30 2 *\"",
        "`cron.nightly.schedule` is refused: NEVER: `0 0 30 2 *`: can never occur",
    ),
    (
        "[cron.nightly]\nschedule = 5",
        "`cron.nightly.schedule` is the number 5: allowed is a cron expression",
    ),
    (
        "[cron.nightly]\nzone = \"paris\"",
        "`cron.nightly.zone` is refused: `paris` is no zone of the IANA database: did you mean Europe/Paris?",
    ),
    (
        "[cron.nightly]\nzone = \"\"",
        "allowed is the name of a zone of the IANA database in quotes",
    ),
    (
        "[cron.nightly]\npriority = 40000",
        "`cron.nightly.priority` is 40000, out of range: allowed is a whole number from -32768 to 32767",
    ),
    (
        "[cron.nightly]\npriority = \"1\"",
        "`cron.nightly.priority` is the text \"1\", not a number",
    ),
    (
        "[cron.nightly]\npayload = { a = 1 }",
        "`cron.nightly.payload` is of type table: allowed is a text in quotes, of 1MiB at most",
    ),
    (
        "[cron.nightly]\noverlap = \"queue\"",
        "allowed is one of \"skip\", \"buffer_one\", \"allow\", \"cancel_other\"",
    ),
    (
        "[cron.nightly]\ncatch_up = true",
        "allowed is one of \"none\", \"latest\", \"all\"",
    ),
    (
        "[cron.nightly]\ncatch_up_window = \"0s\"",
        "`cron.nightly.catch_up_window` is 0s, out of range",
    ),
    (
        "[cron.nightly]\njitter = \"2days\"",
        "`cron.nightly.jitter` is 2days, out of range: allowed is a duration from 0s to 1day",
    ),
    ("[log]\nlevel = \"loud\"", "`log.level` is \"loud\""),
    ("[log\n", "sandhog.toml:1: "),
];

#[test]
fn every_refusal_names_line_key_and_what_is_allowed() {
    for &(text, expected) in REFUSALS {
        let refused = read(text).expect_err(text);
        assert!(
            refused.contains(expected),
            "{text:?} gave {refused:?}, not {expected:?}"
        );
    }
}

#[test]
fn every_refusal_of_a_file_is_told_at_once_in_its_order() {
    let refused = read("[log]\nlevel = 3\n[runner]\nworkers = 0\nslots = 0").unwrap_err();
    let lines: Vec<&str> = refused.lines().collect();
    assert_eq!(lines.len(), 3, "{refused}");
    assert!(lines[0].starts_with("sandhog.toml:2:") && lines[2].starts_with("sandhog.toml:5:"));
}

#[test]
fn files_that_look_odd_but_are_right_are_taken() {
    let empty = Config {
        file: Some("sandhog.toml".into()),
        ..Config::default()
    };
    assert_eq!(read("").unwrap(), empty);
    assert_eq!(read("# nothing\n").unwrap(), empty);
    assert_eq!(read("[runner]\n").unwrap(), empty);
    assert_eq!(
        read("\u{feff}[runner]\r\nworkers = 3\r\n")
            .unwrap()
            .runner
            .workers,
        3
    );
    let spaced = read(
        "[limits]\nmemory = \" 1 MiB \"\ntimeout=\"1m 30s\"\nresult = 4096\npayload = \"512 kb\"",
    )
    .unwrap();
    assert_eq!(spaced.limits.memory, 1 << 20);
    assert_eq!(spaced.limits.timeout, Duration::from_secs(90));
    assert_eq!(spaced.limits.result, 4096);
    assert_eq!(spaced.limits.payload, 512_000);
    let store = read("store = { durability = \"interval\", interval = \"200ms\" }")
        .unwrap()
        .store;
    assert_eq!(
        (store.durability, store.interval),
        (Durability::Interval, Duration::from_millis(200))
    );
    let kept = |text: &str| read(text).unwrap().store;
    assert_eq!(
        kept("").keep_completed,
        Keep::For(Duration::from_secs(86_400))
    );
    assert_eq!(kept("").max_completed, 1_000_000);
    let long = kept("[store]\nkeep_completed = \"forever\"\nmax_completed = 0");
    assert_eq!(
        (long.keep_completed, long.max_completed),
        (Keep::Forever, 0)
    );
    let short = kept("[store]\nkeep_completed = \"90m\"");
    assert_eq!(short.keep_completed, Keep::For(Duration::from_secs(5400)));
}

#[test]
fn a_kind_gives_its_own_limits_and_defaults() {
    let config = read(
        "[limits]\ntimeout = \"10s\"\n[kind.thumbnail]\nmemory = \"256MiB\"\nqueue = \"images\"\nmax_attempts = 5\nconfig = { quality = \"80\" }\n[kind.\"a.b\"]\ntimeout = \"1s\"",
    )
    .unwrap();
    assert_eq!(config.limits_for("thumbnail").memory, 256 << 20);
    assert_eq!(config.limits_for("thumbnail").timeout_ms, 10_000);
    assert_eq!(config.limits_for("a.b").timeout_ms, 1_000);
    assert_eq!(config.limits_for("other").memory, 128 << 20);
    assert_eq!(
        config.defaults_for("thumbnail").queue.as_deref(),
        Some("images")
    );
    assert_eq!(config.defaults_for("thumbnail").retry.max_attempts, Some(5));
    assert_eq!(config.defaults_for("thumbnail").timeout_ms, None);
    assert_eq!(config.handler_config("thumbnail")["quality"], "80");
    assert!(config.handler_config("other").is_empty());
}

#[test]
fn a_schedule_gives_its_job_and_what_happens_to_slots() {
    let config = read(
        "[cron.nightly]\nschedule = \" 30 2 * * MON-FRI \"\nzone = \"europe/paris\"\nkind = \"report\"\nqueue = \"slow\"\npriority = -5\npayload = '{\"a\": 1}'\noverlap = \"cancel_other\"\ncatch_up = \"all\"\ncatch_up_window = \"1day\"\njitter = \"30s\"\n[cron.\"a.b\"]\nschedule = \"@every 90m\"\nkind = \"page\"",
    )
    .unwrap();
    let nightly = CronSettings {
        schedule: "30 2 * * MON-FRI".into(),
        zone: "Europe/Paris".into(),
        kind: "report".into(),
        queue: Some("slow".into()),
        priority: -5,
        payload: Some("{\"a\": 1}".into()),
        overlap: Overlap::CancelOther,
        catch_up: CatchUp::All,
        catch_up_window: Duration::from_secs(86_400),
        jitter: Duration::from_secs(30),
    };
    assert_eq!(config.cron["nightly"], nightly);
    assert_eq!(nightly.read().unwrap().zone().name(), "Europe/Paris");
    let plain = &config.cron["a.b"];
    let defaults = (plain.zone.as_str(), plain.overlap, plain.catch_up);
    assert_eq!(defaults, ("UTC", Overlap::Skip, CatchUp::Latest));
    let defaults = (plain.catch_up_window, plain.jitter, plain.priority);
    assert_eq!(defaults, (Duration::from_secs(3_600), Duration::ZERO, 0));
    assert_eq!((&plain.queue, &plain.payload), (&None, &None));
    assert_eq!(read(&show(&config)).unwrap(), config);
    assert!(CronSettings::default().read().is_err());
    let longest = "x".repeat(sandhog_model::limits::PAYLOAD_BYTES + 1);
    let entry = format!("[cron.n]\nkind = \"k\"\nschedule = \"@daily\"\npayload = \"{longest}\"");
    let refused = read(&entry).unwrap_err();
    assert!(
        refused.contains("`cron.n.payload` has 1048577 bytes: allowed is"),
        "{refused}"
    );
    let taken = entry.replacen("xx", "x", 1);
    assert_eq!(
        read(&taken).unwrap().cron["n"]
            .payload
            .as_ref()
            .map(String::len),
        Some(1 << 20)
    );
}

#[test]
fn what_is_shown_reads_back_as_the_same() {
    let config = read("[runner]\ndata = \"a \\\"b\\\" c\"\nlease = \"90s\"\n[kind.\"a.b\"]\nbackoff = \"polynomial\"\nconfig = { \"x y\" = \"1\" }").unwrap();
    assert_eq!(read(&show(&config)).unwrap(), config);
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.toml");
    fs::write(&file, "[runner]\ndata = \"kept\"\nplugins = \"/abs\"").unwrap();
    let mut flags = Overrides {
        config: Some(file.clone()),
        ..Overrides::default()
    };
    let config = load(&flags, |_| None).unwrap();
    assert_eq!(config.runner.data, folder.path().join("kept"));
    assert_eq!(config.runner.plugins, Path::new("/abs"));
    let environment = |name: &str| (name == "SANDHOG_DATA").then(|| OsString::from("from-env"));
    assert_eq!(
        load(&flags, environment).unwrap().runner.data,
        Path::new("from-env")
    );
    flags.data = Some("from-flag".into());
    assert_eq!(
        load(&flags, environment).unwrap().runner.data,
        Path::new("from-flag")
    );
    flags.data = None;
    let refused = load(&flags, |_| Some(OsString::new()))
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("SANDHOG_DATA is set but empty")
            || refused.contains("SANDHOG_DATA: is set but empty"),
        "{refused}"
    );
    flags.config = Some(folder.path().join("missing.toml"));
    let refused = load(&flags, |_| None).unwrap_err().to_string();
    assert!(
        refused.contains("cannot read") && refused.contains("missing.toml"),
        "{refused}"
    );
}

#[test]
fn text_that_is_no_utf8_is_refused_with_its_offset() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.toml");
    fs::write(&file, b"# \xff").unwrap();
    let flags = Overrides {
        config: Some(file),
        ..Overrides::default()
    };
    let refused = load(&flags, |_| None).unwrap_err().to_string();
    assert!(
        refused.ends_with("is not UTF-8 from byte 2 on"),
        "{refused}"
    );
}

#[test]
fn the_page_in_docs_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
    if std::env::var_os("SANDHOG_WRITE_DOCS").is_some() {
        fs::write(&path, page()).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page(),
        "{} differs from the code: run this test once with SANDHOG_WRITE_DOCS=1",
        path.display()
    );
}
