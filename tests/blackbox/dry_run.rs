//! What would be done, and what is done then: the same count, the same refusals, the same exit code.

use sandhog_kit::{Answer, Home, Runner};
use serde_json::{Value, json};

use crate::SANDHOG;

/// An id that no job has.
const NOBODY: &str = "00000000000000000000000001";

/// The ways to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    Directory,
    Socket,
    Http,
}

/// Some folders, and a way to them.
struct Place {
    home: Home,
    door: Door,
    runner: Option<Runner>,
}

impl Place {
    fn new(door: Door) -> Self {
        let home = Home::with(SANDHOG, &["misbehave"]).over_http();
        let runner = (door != Door::Directory).then(|| home.start());
        Self { home, door, runner }
    }

    fn run(&self, words: &[&str]) -> Answer {
        let mut words = words.to_vec();
        let url = self
            .runner
            .as_ref()
            .filter(|_| self.door == Door::Http)
            .map(|runner| format!("http://{}", runner.http()));
        if let Some(url) = &url {
            words.extend(["--url", url]);
        }
        self.home.run(&words)
    }

    /// A job that no plugin serves.
    fn waits(&self, more: &[&str]) -> String {
        self.home.enqueue(&[&["unserved"], more].concat())
    }

    /// The same, called off.
    fn cancelled(&self, more: &[&str]) -> String {
        let id = self.waits(more);
        let _ = self.run(&["job", "cancel", &id]).exits(0);
        id
    }

    /// A command that changes jobs comes to what it says before. Gives what was done.
    #[track_caller]
    fn comes_to(&self, words: &[&str]) -> usize {
        let told = self.run(&[words, &["--dry-run", "-o", "json"]].concat());
        let (would, first) = (told.json()["count"].clone(), told.json()["first"].clone());
        let done = self.run(&[words, &["-o", "json"]].concat());
        let rows = done.rows();
        let what = format!(
            "{:?}, {words:?}: {} / {}",
            self.door, told.stderr, done.stderr
        );
        assert_eq!(would, rows.len(), "{what}");
        assert_eq!(told.code, done.code, "{what}");
        assert_eq!(refusals(&told), refusals(&done), "{what}");
        let ids: Vec<Value> = rows
            .iter()
            .map(|row| row.get("id").unwrap_or(row).clone())
            .collect();
        assert_eq!(first, json!(ids), "{what}");
        rows.len()
    }
}

/// The lines that say what was refused.
fn refusals(answer: &Answer) -> Vec<&str> {
    let lines = answer.stderr.lines();
    lines
        .filter(|line| line.starts_with("sandhog:") || line.contains(": no dead letter"))
        .collect()
}

#[test]
fn each_verb_of_jobs_does_what_its_dry_run_says() {
    for door in [Door::Directory, Door::Socket, Door::Http] {
        let place = Place::new(door);
        let [one, two, three] = ["1", "2", "3"].map(|payload| place.waits(&[payload]));
        let off = place.cancelled(&["4"]);
        let unique = || place.cancelled(&["5", "--unique-key", "k"]);
        let [first, second] = [unique(), unique()];
        let count = |words: &[&str]| place.comes_to(words);
        assert_eq!(
            count(&["job", "snooze", "--for", "1h", &one, &off, NOBODY]),
            1
        );
        // The first that comes back stands in the way of the second.
        assert_eq!(count(&["job", "retry", &first, &second, &one, NOBODY]), 2);
        assert_eq!(count(&["job", "discard", &two, &off, &two, NOBODY]), 1);
        assert_eq!(count(&["job", "cancel", &one, &off, &two, NOBODY]), 2);
        assert_eq!(count(&["job", "kill", &three, &two, NOBODY]), 1);
        assert_eq!(count(&["job", "rm", &one, &first, &one, NOBODY]), 1);
        assert_eq!(count(&["job", "rm", "--force", &first]), 1);
        // Of a choice too.
        let again = ["job", "retry", "--state", "cancelled", "--kind", "unserved"];
        let _ = place.cancelled(&["6", "--unique-key", "k"]);
        assert_eq!(count(&again), 3);
    }
}

#[test]
fn each_verb_of_letters_does_what_its_dry_run_says() {
    for door in [Door::Directory, Door::Socket, Door::Http] {
        let mut place = Place::new(if door == Door::Directory {
            Door::Socket
        } else {
            door
        });
        let buried = [0; 3].map(|_| place.home.enqueue(&["permanent", "x"]));
        for id in &buried {
            let _ = place.home.job_in(id, "dead");
        }
        let done = place.home.enqueue(&["echo", "x"]);
        let _ = place.home.job_in(&done, "completed");
        if door == Door::Directory {
            place.runner.take().expect("one is up").kill9();
        }
        place.door = door;
        let [one, two, _] = &buried;
        let _ = place.run(&["queue", "pause", "default"]).exits(0);
        assert_eq!(
            place.comes_to(&["dead", "retry", one, NOBODY, &done, one]),
            1
        );
        assert_eq!(
            place.comes_to(&["dead", "rm", two, two, NOBODY, one, "@7168"]),
            1
        );
        assert_eq!(place.comes_to(&["dead", "rm", "--all"]), 1);
    }
}

#[test]
fn many_jobs_are_asked_about_over_http() {
    let place = Place::new(Door::Http);
    let http = sandhog_kit::Http::new(place.runner.as_ref().expect("one is up").http());
    let (one, off) = (place.waits(&["1"]), place.cancelled(&["2"]));
    let said = |path: &str, dry_run: bool, more: Value| {
        let mut body = json!({ "ids": [&one, &off, NOBODY], "dry_run": dry_run });
        if let (Some(body), Some(more)) = (body.as_object_mut(), more.as_object()) {
            body.extend(more.clone());
        }
        let reply = http.post(&format!("/api/v1/jobs/{path}"), &body).is(200);
        reply.json()["jobs"].clone()
    };
    for (path, more) in [
        ("snooze", json!({ "for": "1h" })),
        ("discard", json!({})),
        ("cancel", json!({})),
        ("kill", json!({})),
        ("retry", json!({})),
        ("delete", json!({ "force": true })),
    ] {
        let before = place.home.job(&one)["state"].clone();
        let would = said(path, true, more.clone());
        assert_eq!(place.home.job(&one)["state"], before, "{path}");
        assert_eq!(would, said(path, false, more), "{path}");
    }
}
