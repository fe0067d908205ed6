//! What people do to jobs: put off, dropped, deleted, brought back, one by one and many at a time.

use sandhog_kit::Home;
use serde_json::Value;

use crate::SANDHOG;

fn home() -> Home {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("");
    home
}

fn ids(home: &Home, words: &[&str]) -> Vec<String> {
    let words = [&["job", "ls", "-o", "json"], words].concat();
    let rows = home.run(&words).exits(0).rows();
    let id = |row: &Value| row["id"].as_str().unwrap_or_default().to_owned();
    rows.iter().map(id).collect()
}

#[test]
fn a_job_is_put_off_dropped_and_deleted_with_and_without_a_runner() {
    let home = home();
    let [later, never, gone] = ["a", "b", "c"].map(|payload| home.enqueue(&["echo", payload]));
    let snoozed = home.run(&["job", "snooze", &later, "--for", "1h"]).exits(0);
    assert_eq!(snoozed.text(), format!("{later} scheduled"));
    let words = [
        "job", "discard", &never, "--reason", "no use", "--by", "ada",
    ];
    assert_eq!(
        home.run(&words).exits(0).text(),
        format!("{never} discarded")
    );
    let kept = home.run(&["job", "rm", &gone]).exits(1);
    assert!(
        kept.stderr.contains(&format!("cannot delete job {gone}")),
        "{}",
        kept.stderr
    );
    let removed = home.run(&["job", "rm", &gone, "--force", "-o", "json"]);
    assert_eq!(removed.exits(0).json()[0]["state"], "deleted");
    let _ = home.run(&["job", "show", &gone]).exits(4);
    let runner = home.start();
    let beside = home.enqueue(&["echo", "d"]);
    let _ = home.job_in(&beside, "completed");
    assert_eq!(home.job(&later)["state"], "scheduled");
    let job = home.job(&never);
    assert_eq!(
        (&job["state"], &job["reason"]),
        (&"discarded".into(), &"discarded by ada: no use".into())
    );
    let refused = home.run(&["job", "discard", &beside]).exits(1);
    assert!(
        refused
            .stderr
            .contains(&format!("cannot discard job {beside}: it is completed")),
        "{}",
        refused.stderr
    );
    // An instant that has passed is now.
    let _ = home
        .run(&["job", "snooze", &later, "--until", "2001-01-01T00:00:00Z"])
        .exits(0);
    let done = home.job_in(&later, "completed");
    assert_eq!(done["attempts"].as_array().map(Vec::len), Some(1));
    let _ = home.run(&["job", "retry", &never, &beside]).exits(0);
    let _ = home.job_in(&never, "completed");
    let _ = home.run(&["job", "snooze", &later]).exits(2);
    for choice in [&["--kind", "echo"][..], &["--tag", "red"], &["--all"]] {
        let refused = home.run(&[&["job", "snooze"], choice].concat()).exits(2);
        assert!(
            refused.stderr.contains("takes ids and no choice"),
            "{}",
            refused.stderr
        );
    }
    runner.kill9();
}

#[test]
fn a_choice_among_all_takes_in_what_the_verb_is_for_and_nothing_else() {
    let home = home();
    let tagged = |payload: &str, tag: &str| home.enqueue(&["echo", payload, "--tag", tag]);
    let red: Vec<String> = ["1", "2", "3"].map(|n| tagged(n, "red")).into();
    let blue = tagged("4", "blue");
    let other = home.enqueue(&["unserved", "5", "--tag", "red"]);
    assert_eq!(ids(&home, &["--tag", "blue"]), [&*blue]);
    let both = ids(&home, &["--tag", "red", "--kind", "echo"]);
    assert_eq!(both, [&*red[2], &*red[1], &*red[0]]);
    assert_eq!(ids(&home, &["--tag", "red", "--limit", "1"]), [&*other]);
    assert_eq!(ids(&home, &["--until", "1h"]), [""; 0]);
    assert_eq!(ids(&home, &["--since", "1h"]).len(), 5);

    let choice = ["--tag", "red", "--kind", "echo"];
    let dry = [&["job", "cancel", "--dry-run", "-o", "json"], &choice[..]].concat();
    assert_eq!(home.run(&dry).exits(0).json()["count"], 3);
    let _ = home
        .run(&[&["job", "cancel"], &choice[..]].concat())
        .exits(0);
    assert_eq!(ids(&home, &["--state", "cancelled"]).len(), 3);
    // Nothing is left that a cancel is for.
    let again = home
        .run(&[&["job", "cancel"], &choice[..]].concat())
        .exits(0);
    assert_eq!(again.text(), "");
    let words = ["job", "retry", "--tag", "red"];
    let refused = home.run(&words).exits(2);
    assert!(refused.stderr.contains("--state"), "{}", refused.stderr);
    let words = ["job", "retry", "--state", "cancelled", "--tag", "red"];
    let _ = home.run(&words).exits(0);
    assert_eq!(ids(&home, &["--state", "available,scheduled"]).len(), 5);
    let _ = home.run(&["job", "discard", "--kind", "unserved"]).exits(0);
    let _ = home.run(&["job", "discard", &red[0]]).exits(0);
    // A choice to delete has nothing that waits in it, unless forced.
    let _ = home.run(&["job", "rm", "--all"]).exits(0);
    assert_eq!(ids(&home, &[]).len(), 3);
    let _ = home
        .run(&["job", "rm", "--tag", "blue", "--force"])
        .exits(0);
    assert_eq!(ids(&home, &[]), [&*red[2], &*red[1]]);
    let _ = home.run(&["job", "rm"]).exits(2);
    let _ = home.run(&["job", "rm", "--all", &red[1]]).exits(2);
    let _ = home.run(&["job", "rm", "--state", "running"]).exits(2);
}
