//! A handler measured: its figures for people and programs, the picture, and what is refused.

use super::*;
use crate::plugin::BareAttempt;

/// A thousand jobs a round: 20 µs of two workers for a job, and 7 µs bare. Kind `later` does not complete.
pub(super) struct Measures {
    pub(super) plugin: Plugin,
    pub(super) durable: bool,
}

impl Measure for Measures {
    fn plugin(&self) -> &Plugin {
        &self.plugin
    }

    fn place(&self) -> &Path {
        Path::new("disk\u{1b}")
    }

    fn drain(&self, trial: &Trial, jobs: usize) -> anyhow::Result<Drained> {
        anyhow::ensure!(
            trial.kind != "later",
            "1 of 9 attempts did not complete: snoozed"
        );
        Ok(Drained {
            jobs,
            seconds: jobs as f64 / 100_000.0,
            workers: 2,
            running: Duration::from_micros(jobs as u64 * 12),
            claiming: Duration::from_micros(jobs as u64 * 3),
            reporting: Duration::from_millis(200),
            reports: 100,
            syncs: if self.durable { 50 } else { 0 },
        })
    }

    fn bare(&self, trial: &Trial, jobs: usize) -> anyhow::Result<Bared> {
        assert_eq!(trial.payload, b"[1]");
        let each = |us: u64| Duration::from_micros(us * jobs as u64);
        let spent = BareAttempt {
            making: each(4),
            calling: each(2),
            ending: each(1),
        };
        Ok(Bared {
            jobs,
            workers: 2,
            spent,
        })
    }
}

#[test]
fn a_handler_is_measured() {
    let desk = Desk::new();
    let component = desk.file("a.wasm", "");
    let picture = desk.folder.path().join("rounds.svg");
    let bench = [
        "bench",
        "--plugin",
        &component,
        "--payload",
        "[1]",
        "--jobs",
        "1000",
    ];
    let plot = ["--rounds", "3", "--plot", picture.to_str().unwrap()];
    let shown = desk.run(&[&bench[..], &plot].concat()).ends(0).out.clone();
    for part in [
        "kind page, payload of 3 B: 3 rounds of 1000 jobs on 2 workers",
        "durability commit, log on the disk of disk\\u{1b}",
        "jobs a second",
        "100.0k",
        "the runner's own: 13.00 µs of a worker for a job (spread 0%)",
        "making the sandbox            4.00",
        "the runner around them        5.00",
        "a report on 10.00 jobs was answered after 2.00 ms, and a sync of the log was for 20.00 jobs",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let drawn = fs::read_to_string(&picture).unwrap();
    let title = "page: 1000 jobs a round, durability commit";
    assert!(
        drawn.starts_with("<svg ") && drawn.contains(title),
        "{drawn}"
    );

    let json = [&bench[..], &["--durability", "none", "-o", "json"]].concat();
    let json = desk.run(&json).ends(0).json();
    assert_eq!(json["durability"], "none");
    assert_eq!(json["reports"]["jobs_for_a_sync"], Value::Null);
    assert_eq!(json["rounds"].as_array().map(Vec::len), Some(5));
    let near = |value: &Value, is: f64| (value.as_f64().unwrap() - is).abs() < 1e-6;
    assert!(near(&json["us"]["runner"], 20.0), "{json}");
    assert!(near(&json["us"]["ratio"], 20.0 / 7.0), "{json}");
    assert!(near(&json["parts_us"]["rest"], 5.0), "{json}");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let desk = Desk::new();
    let missing = desk.run(&["bench", "--plugin", "nope.wasm"]);
    assert!(
        missing
            .ends(4)
            .err
            .contains("there is no component nope.wasm")
    );
    let cut = desk.file("cut.wasm", "");
    let refused = desk.run(&["bench", "--plugin", &cut]);
    assert!(refused.ends(2).err.contains("it is cut off"));
    let two = desk.file("two.wasm", "");
    for (kind, says) in [
        (&[][..], "name a kind, one of page, later"),
        (
            &["--kind", "other"],
            "it does not serve kind \"other\": it serves page, later",
        ),
    ] {
        let refused = desk.run(&[&["bench", "--plugin", &two], kind].concat());
        assert!(refused.ends(2).err.contains(says), "{}", refused.err);
    }
    let failing = desk.run(&["bench", "--plugin", &two, "--kind", "later", "-o", "json"]);
    assert!(failing.ends(1).out.is_empty(), "{}", failing.out);
    assert!(failing.err.contains("1 of 9 attempts did not complete"));
    let word = desk.run(&["bench", "--plugin", &two, "--durability", "fsync"]);
    assert!(
        word.ends(2).err.contains("commit, interval, none"),
        "{}",
        word.err
    );
    desk.run(&["bench", "--plugin", &two, "--rounds", "0"])
        .ends(2);
    let away = desk.run(&["--url", "http://127.0.0.1:1", "bench", "--plugin", &two]);
    assert!(away.ends(2).err.contains("works on files of this machine"));
}
