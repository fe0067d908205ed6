//! Workers that are told to wait, and runners that are told to stop.

use std::time::Duration;

use sandhog_kit::{Home, wait};

use crate::SANDHOG;

fn mode(home: &Home) -> String {
    let stats = home.json(&["stats"]);
    stats["runner"]["mode"].as_str().expect("a mode").to_owned()
}

/// What runs goes on, what waits stays where it is, and says why.
#[test]
fn quiet_workers_claim_nothing_until_they_are_to_resume() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let runner = home.start();
    for tell in ["TSTP", "quiet"] {
        let running = home.enqueue(&["sleep", "x", "--header", "ms=300"]);
        let _ = home.job_in(&running, "running");
        match tell {
            "TSTP" => runner.signal("TSTP"),
            verb => drop(home.run(&["worker", verb]).exits(0)),
        }
        wait::until("quiet workers", Duration::from_secs(20), || {
            (mode(&home) == "quiet").then_some(())
        });
        let waiting = home.enqueue(&["echo", "x"]);
        let _ = home.job_in(&running, "completed");
        assert_eq!(home.job(&waiting)["state"], "available", "{tell}");
        let queues = home.run(&["queue", "ls"]).exits(0).text();
        assert!(queues.contains("quiet"), "{queues}");
        let _ = home.run(&["worker", "resume"]).exits(0);
        let _ = home.job_in(&waiting, "completed");
        assert_eq!(mode(&home), "running");
    }
    let rows = home.run(&["worker", "ls", "-o", "json"]).exits(0).rows();
    assert_eq!(rows.len(), 2);
}

#[test]
fn a_runner_that_is_asked_to_stop_puts_back_what_does_not_end_in_time() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("[runner]\nshutdown_grace = \"200ms\"\n");
    let mut runner = home.start();
    let stuck = home.enqueue(&["sleep", "x", "--header", "ms=60000"]);
    let _ = home.job_in(&stuck, "running");
    let said = home.run(&["worker", "stop"]).exits(0).text();
    assert!(said.starts_with("stopping"), "{said}");
    let ended = wait::until("the runner to end", Duration::from_secs(20), || {
        runner.ended()
    });
    assert!(ended.success(), "{}", runner.said());
    let job = home.job(&stuck);
    assert_eq!(
        (&job["state"], &job["attempt"]),
        (&"available".into(), &0.into())
    );
    let _ = home.run(&["worker", "stop"]).exits(3);
}
