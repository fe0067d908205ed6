//! What people read when something is refused, or is not as it was.

use sandhog_kit::{Home, wait};
use std::time::Duration;

use crate::SANDHOG;

fn home() -> Home {
    Home::with(SANDHOG, &["misbehave"])
}

/// A command is refused, and says this.
#[track_caller]
fn refused(home: &Home, words: &[&str], code: i32, says: &str) {
    let answer = home.run(words).exits(code);
    assert!(answer.stderr.contains(says), "{says}: {}", answer.stderr);
}

#[test]
fn instants_are_written_as_people_read_them() {
    let home = home();
    let late = ["enqueue", "echo", "x", "--in", "2h", "--expires-in", "1h"];
    let answer = home.run(&late).exits(2);
    let (_, after) = answer
        .stderr
        .split_once("it expires at 20")
        .expect(&answer.stderr);
    assert!(
        after.contains("Z, which is not after it is due (20"),
        "{}",
        answer.stderr
    );
    let id = home.enqueue(&["echo", "x", "--in", "10m", "--expires-in", "1h"]);
    let answer = home.run(&["job", "snooze", &id, "--for", "2h"]).exits(2);
    let says = format!("job {id} expires at 20");
    assert!(answer.stderr.contains(&says), "{}", answer.stderr);
    let dry = home.run(&["job", "retry", &id, "--dry-run"]).exits(0);
    assert_eq!(dry.stderr, "1 job would be retried; nothing was changed\n");
}

#[test]
fn a_key_that_stands_in_the_way_is_named() {
    let home = home();
    let key = |payload: &str| home.run(&["enqueue", "echo", payload, "--unique-by", "user"]);
    let first = key("{\"user\":7,\"n\":1}").exits(0).text();
    let answer = key("{\"user\":7,\"n\":2}").exits(1);
    let says = format!("job {first} has the same unique key (user=7): `sandhog unique ls`");
    assert!(answer.stderr.contains(&says), "{}", answer.stderr);
    // One that comes back is told the same.
    let _ = home.run(&["job", "cancel", &first]).exits(0);
    let second = key("{\"user\":7,\"n\":3}").exits(0).text();
    let says = format!("job {second} has the same unique key (user=7)");
    refused(&home, &["job", "retry", &first], 1, &says);
}

#[test]
fn a_schedule_is_refused_without_the_lines_of_a_file_that_nobody_wrote() {
    let home = home();
    let add = |words: &[&str]| {
        let all = [&["cron", "add"], words].concat();
        let stderr = home.run(&all).exits(2).stderr;
        assert!(
            !stderr.contains(":1:") && !stderr.contains(":2:") && !stderr.contains(":3:"),
            "{stderr}"
        );
        assert!(
            !stderr.contains("quotes") && !stderr.contains("cron.night"),
            "{stderr}"
        );
        stderr
    };
    let daily = "0 3 * * *";
    let says = add(&["night", "* * *", "--kind", "k"]);
    let expected = "sandhog: schedule night: `schedule` is refused: `* * *`: has 3 fields, not five or six: write \
                    [second] minute hour day-of-month month day-of-week\n";
    assert_eq!(says, expected);
    let says = add(&["night", daily, "--kind", "a b"]);
    assert!(
        says.starts_with(
            "sandhog: schedule night: `kind` is \"a b\", which is no name: allowed is a name"
        ),
        "{says}"
    );
    let says = add(&["night", daily, "--kind", "k", "--jitter", "5days"]);
    assert!(
        says.contains("`jitter` is 5days, out of range: allowed is a duration from 0s to 1day"),
        "{says}"
    );
    let says = add(&[
        "night",
        daily,
        "--kind",
        "k",
        "--tz",
        "Mars",
        "--overlap",
        "maybe",
    ]);
    assert!(
        says.contains("`Mars` is no zone") && says.contains("`overlap` is \"maybe\""),
        "{says}"
    );
    let says = add(&["a night", daily, "--kind", "k"]);
    assert!(
        says.contains("\"a night\" is no name of a schedule: allowed is a name of letters"),
        "{says}"
    );
    // The directory is made for it, as for a job.
    let _ = home
        .run(&["cron", "add", "night", daily, "--kind", "k"])
        .exits(0);
}

#[test]
fn a_batch_says_whether_what_follows_success_still_can() {
    let home = home();
    let open = || {
        let words = [
            "batch",
            "open",
            "--on-success",
            "mail",
            "--on-complete",
            "report",
        ];
        home.run(&words).exits(0).text()
    };
    let shown = |id: &str| home.run(&["batch", "show", id]).exits(0).text();
    let waiting = |batch: &str| home.enqueue(&["unserved", "x", "--batch", batch]);
    let batch = open();
    let one = waiting(&batch);
    assert!(
        shown(&batch).contains("mail, will be job"),
        "{}",
        shown(&batch)
    );
    let _ = home.run(&["job", "cancel", &one]).exits(0);
    let says = "mail, will not follow unless 1 job that did not complete are run again";
    assert!(
        shown(&batch).contains(&says.replace("are run", "is run")),
        "{}",
        shown(&batch)
    );
    let two = waiting(&batch);
    let _ = home.run(&["job", "rm", &two, "--force"]).exits(0);
    let says = "mail, will not follow: 1 job deleted before the end";
    assert!(shown(&batch).contains(says), "{}", shown(&batch));
    let other = open();
    let _ = waiting(&other);
    let _ = home.run(&["batch", "cancel", &other]).exits(0);
    let says = "mail, will not follow: the batch was called off";
    assert!(shown(&other).contains(says), "{}", shown(&other));
    assert!(shown(&other).contains("report, job"), "{}", shown(&other));
}

#[test]
fn a_job_that_was_lost_again_and_again_says_so() {
    let home = home();
    let id = home.enqueue(&["sleep", "x", "--header", "ms=3600000"]);
    for _ in 0..4 {
        let runner = home.start();
        let _ = home.job_in(&id, "running");
        runner.kill9();
    }
    let job = home.job_in(&id, "dead");
    let attempt = &job["attempts"][0];
    assert!(
        attempt["digest"].is_null() && attempt["plugin"].is_null(),
        "{attempt}"
    );
    let shown = home.run(&["job", "show", &id]).exits(0).text();
    assert!(
        shown.contains("0 of 25, and 4 lost with their runner"),
        "{shown}"
    );
    assert!(
        shown.contains("attempt 1 ended now") || shown.contains("attempt 1 ended"),
        "{shown}"
    );
    assert!(
        !shown.contains(" at work, at most 0 B of memory"),
        "{shown}"
    );
}

#[test]
fn a_queue_of_the_order_that_nothing_else_names_is_told_at_the_start_and_by_a_reload() {
    let home = home();
    home.write_config(
        "[queues]\nfirst = [\"mial\", \"other\", \"default\"]\n[queue.mail]\nweight = 2\n",
    );
    let runner = home.start();
    let says = "`queues.first` names queue mial, which no job is in and nothing else names: is mail meant?";
    assert!(runner.said().contains(says), "{}", runner.said());
    assert!(
        runner.said().contains("names queue other, which no job"),
        "{}",
        runner.said()
    );
    assert!(
        !runner.said().contains("names queue default"),
        "{}",
        runner.said()
    );
    home.write_config("[queues]\nfirst = [\"amil\"]\n[queue.mail]\nweight = 2\n");
    let _ = home.run(&["config", "reload"]).exits(0);
    let says = "names queue amil, which no job is in and nothing else names: is mail meant?";
    wait::until("the warning", Duration::from_secs(60), || {
        runner.said().contains(says).then_some(())
    });
}
