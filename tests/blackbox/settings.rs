//! Settings that change while a runner is up.

use std::{fs, os::unix::fs::PermissionsExt as _, time::Duration};

use sandhog_kit::{Home, Receiver, Runner, wait};

use crate::SANDHOG;

const SOON: Duration = Duration::from_secs(30);

/// Writes the settings, has the runner read them, and says what it found.
fn reload(home: &Home, settings: &str) -> Vec<String> {
    home.write_config(settings);
    let said = home.run(&["config", "reload"]).exits(0).text();
    said.lines().map(str::to_owned).collect()
}

/// How often the runner's log says this, once it has said it more often than before.
fn said_more(runner: &Runner, what: &str, before: usize) -> usize {
    wait::until(&format!("the runner to say {what:?}"), SOON, || {
        let count = runner.said().matches(what).count();
        (count > before).then_some(count)
    })
}

#[test]
fn a_signal_has_the_settings_read_and_the_log_says_what_differs() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("[runner]\nworkers = 2\n[kind.sleep]\ntimeout = \"30s\"\n");
    let runner = home.start();
    home.write_config(
        "[runner]\nworkers = 3\n[kind.sleep]\ntimeout = \"100ms\"\nmax_attempts = 1\n",
    );
    runner.signal("HUP");
    let _ = said_more(&runner, "kind.sleep.max_attempts: nothing -> 1", 0);
    let said = runner.said();
    for says in [
        "runner.workers: 2 -> 3 (from the next start on)",
        "kind.sleep.timeout: \"30s\" -> \"100ms\"\n",
    ] {
        assert!(said.contains(says), "{says}: {said}");
    }
    let id = home.enqueue(&["sleep", "x", "--header", "ms=60000"]);
    let job = home.job_in(&id, "dead");
    assert_eq!(job["attempts"][0]["failure"]["kind"], "timeout", "{job}");
    assert_eq!(home.run(&["worker", "ls", "-o", "json"]).rows().len(), 2);

    runner.signal("HUP");
    let _ = said_more(&runner, "nothing differs", 0);

    // What is wrong is refused as a whole, with its place; what was in force stays.
    home.write_config("[kind.sleep]\ntimeout = \"20s\"\n[queue.a]\nwait = 0\n");
    runner.signal("HUP");
    let _ = said_more(&runner, "the settings were not taken in", 0);
    let place = format!("{}:4", home.config().display());
    assert!(runner.said().contains(&place), "{}", runner.said());
    let refused = home.run(&["config", "reload"]).exits(2);
    assert!(refused.stderr.contains(&place), "{}", refused.stderr);
    home.write_config("[kind.sleep]\ntimeout = \"20s\"\n");
    let id = home.enqueue(&["sleep", "x", "--header", "ms=60000"]);
    let _ = home.job_in(&id, "dead");
    drop(runner);
    let _ = home.run(&["config", "reload"]).exits(3);
}

#[test]
fn a_file_that_is_gone_for_a_moment_is_no_wish_to_have_no_settings() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("[kind.sleep]\ntimeout = \"100ms\"\nmax_attempts = 1\n");
    let mut start = home.command(&["start"]);
    // The file is found where the runner was started, and named by nobody.
    start.env_remove("SANDHOG_CONFIG");
    let runner = Runner::by(&home, start);
    let aside = home.folder().join("aside");
    fs::rename(home.config(), &aside).expect("a rename");
    runner.signal("HUP");
    let _ = said_more(&runner, "is not there any more", 0);
    fs::rename(&aside, home.config()).expect("a rename");
    let id = home.enqueue(&["sleep", "x", "--header", "ms=60000"]);
    let _ = home.job_in(&id, "dead");
    let told = home.run(&["config", "reload"]).exits(0).text();
    assert_eq!(told.trim(), "nothing differs");
}

#[test]
fn queues_and_schedules_follow_the_settings() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    home.write_config("");
    let runner = home.start();
    let _ = home.enqueue(&["echo", "x", "--queue", "few", "--in", "1h"]);
    let few = "[queue.few]\nmax_depth = 1\nconcurrency = 1\n";
    let told = reload(&home, few);
    assert_eq!(
        told,
        [
            "queue.few.concurrency: nothing -> 1",
            "queue.few.max_depth: nothing -> 1"
        ]
    );
    let full = home
        .run(&["enqueue", "echo", "x", "--queue", "few"])
        .exits(1);
    assert!(full.stderr.contains("few"), "{}", full.stderr);
    let told = reload(&home, "");
    assert_eq!(told[0], "queue.few.concurrency: 1 -> nothing");
    let id = home.enqueue(&["echo", "x", "--queue", "few"]);
    let _ = home.job_in(&id, "completed");

    let names = || -> Vec<String> {
        let rows = home.run(&["cron", "ls", "-o", "json"]).exits(0).rows();
        let names = rows
            .iter()
            .map(|row| row["name"].as_str().unwrap_or("").to_owned());
        names.collect()
    };
    let tick = "[cron.tick]\nschedule = \"@every 1s\"\nkind = \"echo\"\npayload = \"tick\"\n";
    let _ = reload(&home, tick);
    wait::until("a slot to get its job", SOON, || {
        let (rows, _) = home.walk(
            &["job", "ls", "--kind", "echo", "--state", "completed"],
            "50",
        );
        (rows.len() > 1).then_some(())
    });
    assert_eq!(names(), ["tick"]);
    let _ = reload(&home, "[log]\nlevel = \"debug\"\n");
    wait::until("the schedule to be forgotten", SOON, || {
        names().is_empty().then_some(())
    });
    drop(runner);
}

#[test]
fn a_schedule_that_is_another_now_has_missed_nothing() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    // Any time but now: a slot of the last hour would be made good.
    let far = "[cron.daily]\nschedule = \"0 0 1 1 *\"\nkind = \"echo\"\n";
    home.write_config(far);
    let _runner = home.start();
    wait::until("the schedule to begin", SOON, || {
        let rows = home.run(&["cron", "ls", "-o", "json"]).exits(0).rows();
        (!rows.is_empty()).then_some(())
    });
    let near = "[cron.daily]\nschedule = \"* * * * *\"\ncatch_up_window = \"24h\"\ncatch_up = \"all\"\nkind = \"echo\"\n";
    let told = reload(&home, near);
    assert!(
        told.iter().any(|one| one.contains("cron.daily.schedule")),
        "{told:?}"
    );
    // Its first slot is still to come, at most a minute away.
    let (rows, _) = home.walk(&["job", "ls", "--kind", "echo"], "50");
    assert!(rows.len() < 2, "{rows:?}");
}

#[test]
fn ceilings_and_secrets_follow_the_settings() {
    let receiver = Receiver::start();
    let home = Home::with(SANDHOG, &["webhook"]);
    home.grant(
        "webhook",
        "[[grants.http]]\norigin = \"http://127.0.0.1:*\"\nmethods = [\"POST\"]\nprivate = true\n\
         [[grants.secrets]]\nname = \"webhook-key\"\nsign = true\n",
    );
    fs::write(home.folder().join("key"), "a-key\n").expect("the key can be written");
    let kind = "[kind.webhook]\nbackoff = \"fixed 200ms\"\nmax_attempts = 1000\n";
    home.write_config(kind);
    let _runner = home.start();
    let url = format!("url={}/", receiver.origin());
    let id = home.enqueue(&["webhook", "{}", "--header", &url]);
    wait::until("an attempt to be denied", SOON, || {
        let job = home.job(&id);
        job["attempts"][0]["failure"].is_object().then_some(())
    });
    assert_eq!(receiver.came(), None);
    let granted = format!(
        "{kind}[capabilities]\nprivate = [\"127.0.0.0/8\"]\n\
         [secrets.webhook-key]\nfile = \"key\"\nplugins = [\"webhook\"]\nsign = true\n"
    );
    let _ = reload(&home, &granted);
    let _ = home.job_in(&id, "completed");
    assert!(receiver.next().header("sandhog-signature").is_some());
}

/// Settings that are refused by both, with the same place.
fn refused_by_both(home: &Home, settings: &str, line: usize, says: [&str; 2]) {
    home.write_config(settings);
    let path = home.config().display().to_string();
    let place = format!("{path}:{line}: ");
    for words in [
        &["config", "check"][..],
        &["config", "check", &path],
        &["start"],
    ] {
        let mut command = home.command(words);
        let out = command
            .env_remove("SANDHOG_LISTEN")
            .env_remove("SANDHOG_DATA")
            .output()
            .expect("it runs");
        let told = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{words:?}: {told}");
        for part in [place.as_str(), says[0], says[1]] {
            assert!(told.contains(part), "{words:?}: {part} is not in {told}");
        }
    }
}

/// What a start refuses of the settings is refused by `config check` too, with the same words and the place.
#[test]
fn what_a_start_refuses_is_refused_by_a_check_too() {
    let home = Home::new(SANDHOG);
    let tokens = home.folder().join("open");
    fs::write(&tokens, "admin:0123456789abcdef0123\n").expect("a file");
    fs::set_permissions(&tokens, fs::Permissions::from_mode(0o644)).expect("its mode");
    for (settings, line, says) in [
        (
            "[runner]\ndata = \"open\"\n",
            2,
            ["`runner.data`", "a file is in its way"],
        ),
        (
            "[runner]\n\ndata = \"open/data\"\n",
            3,
            ["`runner.data`", "a file is in its way"],
        ),
        (
            "[runner]\nslots = 3\n[store]\n[runner]\n",
            4,
            ["[runner] is there twice", "under one"],
        ),
        (
            "[http]\nhosts = [1]\n",
            2,
            ["`http.hosts`", "has an integer in it"],
        ),
        (
            "[http]\nlisten = \"0.0.0.0:0\"\n",
            2,
            [
                "`http.listen`",
                "name a file of tokens with `http.token_file`",
            ],
        ),
        (
            "[http]\n\ntoken_file = \"none\"\n",
            3,
            ["`http.token_file`", "cannot read the tokens in"],
        ),
        (
            "[http]\ntoken_file = \"open\"\n",
            2,
            ["`http.token_file`", "`chmod 600` it"],
        ),
        (
            "[queues]\nfirst = [\"a\", \"a\"]\n",
            2,
            ["`queues.first`", "has \"a\" twice"],
        ),
        (
            "[capabilities]\nca_file = \"none\"\n[traces]\nendpoint = \"https://127.0.0.1:1\"\n",
            4,
            ["`traces.endpoint`", "none"],
        ),
    ] {
        refused_by_both(&home, settings, line, says);
    }
}

#[test]
fn a_wrong_token_of_the_environment_is_told_once() {
    let home = Home::new(SANDHOG).over_http();
    for words in [["config", "check"].as_slice(), &["start"]] {
        let mut command = home.command(words);
        let out = command.env("SANDHOG_HTTP_TOKEN", "short").output();
        let out = out.expect("it runs");
        let told = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{told}");
        assert_eq!(told.matches("SANDHOG_HTTP_TOKEN").count(), 1, "{told}");
    }
}
