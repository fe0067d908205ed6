//! The pages of dead letters, schedules, workers and plugins.

use sandhog_kit::{Http, Reply, wait};
use serde_json::json;
use std::{fs, time::Duration};

use super::{
    pages::{submit, word},
    resources::{enqueue, job},
    runner, start,
};

/// What a form of a page would send for each letter.
fn references(page: &Reply) -> Vec<String> {
    let text = page.text();
    let parts = text.split("name=\"letter\" value=\"").skip(1);
    parts
        .map(|part| part[..part.find('"').expect("an end")].to_owned())
        .collect()
}

fn bury(http: &Http, count: usize) -> Vec<String> {
    (0..count)
        .map(|number| {
            let id = enqueue(
                http,
                &json!({ "kind": "permanent", "payload": number, "queue": "q" }),
            );
            let _ = job(http, &id, "dead");
            id
        })
        .collect()
}

#[test]
fn letters_are_chosen_asked_about_and_changed() {
    let (_home, _runner, http) = runner();
    let ids = bury(&http, 4);
    let page = http.get("/dead?queue=q&kind=&failure=&text=").is(200);
    let chosen = references(&page);
    assert_eq!(chosen.len(), 4, "{}", page.text());
    let word = word(&page);
    let with = |act: &str, letters: &[String]| {
        let mut fields = vec![("word", word.as_str()), ("do", act)];
        fields.extend(letters.iter().map(|letter| ("letter", letter.as_str())));
        submit(&http, "/dead", None, &fields)
    };
    let asked = with("ask-delete", &chosen[..2]).is(200);
    assert!(
        asked.text().contains("2 letters. Nothing was changed yet"),
        "{}",
        asked.text()
    );
    assert_eq!(references(&asked), chosen[..2]);
    assert_eq!(http.get("/api/v1/dead/count").json()["count"], 4);
    let _ = with("delete", &chosen[..2]).is(303);
    assert_eq!(http.get("/api/v1/dead/count").json()["count"], 2);
    // What is gone, or died another death since, is left alone and told.
    let again = with("delete", &chosen[1..3]).is(200);
    assert!(again.text().contains("1 of 2 done"), "{}", again.text());
    let _ = with("retry", &chosen[3..]).is(303);
    wait::until("the job to die again", Duration::from_secs(60), || {
        let shown = http.get(&format!("/api/v1/dead/{}", ids[0]));
        (shown.status == 200 && shown.json()["attempts"].as_array()?.len() == 2).then_some(())
    });
    let stale = with("delete", &chosen[3..]).is(200);
    assert!(stale.text().contains("0 of 1 done"), "{}", stale.text());
    assert_eq!(with("delete", &[]).status, 400);
    let shown = http.get(&format!("/dead/{}", ids[0])).is(200).text();
    assert!(shown.contains("no attempt will mend this: 0"), "{shown}");
}

#[test]
fn t49_a_letter_that_cannot_be_read_spoils_no_page() {
    let (home, runner, http) = runner();
    let ids = bury(&http, 3);
    assert!(runner.terminate().success());
    let path = home.data().join("dead/letters");
    let mut bytes = fs::read(&path).unwrap();
    // In the first letter's id: what is left of it belongs to no job.
    bytes[48 + 34] ^= 1;
    fs::write(&path, bytes).unwrap();
    let (_home, _runner, http) = start(home);
    let page = http.get("/dead").is(200);
    let text = page.text();
    assert!(
        text.contains(&ids[0]) && text.contains(&ids[2]) && text.contains("unreadable"),
        "{text}"
    );
    let _ = http.get("/").is(200);
    let broken = references(&page)
        .into_iter()
        .find(|name| !name.contains(':'))
        .expect("the one without a token");
    let shown = http.get(&format!("/dead/{broken}")).is(200).text();
    assert!(
        shown.contains("It cannot be read") && shown.contains("<pre>"),
        "{shown}"
    );
    let fields = [
        ("word", &*word(&page)),
        ("do", "delete"),
        ("letter", &*broken),
    ];
    let _ = submit(&http, "/dead", None, &fields).is(303);
    assert!(!http.get("/dead").text().contains("unreadable"));
}

#[test]
fn batches_schedules_workers_and_plugins_have_their_pages() {
    let (home, _runner, http) = runner();
    let entry = json!({ "schedule": "0 3 * * *", "kind": "echo" });
    let _ = http.write("PUT", "/api/v1/crons/night", &entry).is(200);
    let page = http.get("/crons").is(200);
    assert!(page.text().contains("0 3 * * *"), "{}", page.text());
    let word = word(&page);
    let act = |path: &str, act: &str| submit(&http, path, None, &[("word", &word), ("do", act)]);
    let _ = act("/crons/night", "pause").is(303);
    assert!(http.get("/crons").text().contains("paused by local"));
    let _ = act("/crons/night", "trigger").is(303);
    let batch = home
        .run(&["batch", "open", "--name", "<i>monthly"])
        .exits(0)
        .text();
    let _ = home.enqueue(&["echo", "x", "--in", "1h", "--batch", &batch]);
    let page = http.get("/batches").is(200).text();
    assert!(
        page.contains("&lt;i&gt;monthly") && page.contains("do-seal"),
        "{page}"
    );
    let _ = act(&format!("/batches/{batch}"), "seal").is(303);
    assert!(http.get("/batches").text().contains("sealed"));
    let within = http.get(&format!("/jobs?batch={batch}")).is(200).text();
    assert_eq!(within.matches("scheduled</span>").count(), 1, "{within}");
    let _ = act(&format!("/batches/{batch}"), "cancel").is(303);
    let runs = enqueue(&http, &json!({ "kind": "loop" }));
    let _ = job(&http, &runs, "running");
    let page = http.get("/workers").is(200).text();
    assert!(page.contains(&runs) && page.contains("do-kill"), "{page}");
    let _ = act(&format!("/jobs/{runs}"), "kill").is(303);
    let _ = job(&http, &runs, "cancelled");
    let _ = act("/workers", "quiet").is(303);
    assert!(http.get("/workers").text().contains("Claim again"));
    let _ = act("/workers", "resume").is(303);
    let plugins = http.get("/plugins").is(200).text();
    assert!(
        plugins.contains("/plugins/misbehave") && plugins.contains("echo, "),
        "{plugins}"
    );
    let _ = http
        .post(
            "/api/v1/plugins/misbehave/quarantine",
            &json!({ "reason": "<b>why" }),
        )
        .is(200);
    let held = http.get("/plugins").is(200).text();
    assert!(
        held.contains("held back") && held.contains("&lt;b&gt;why"),
        "{held}"
    );
}

#[test]
fn a_form_whose_wish_is_refused_shows_why() {
    let (home, _runner, http) = runner();
    let done = enqueue(&http, &json!({ "kind": "echo", "payload": 1 }));
    let _ = job(&http, &done, "completed");
    let batch = home.run(&["batch", "open"]).exits(0).text();
    let _ = home.run(&["batch", "seal", &batch]).exits(0);
    let ended = || home.json(&["batch", "show", &batch])["status"] == "ended";
    wait::until("the end of the batch", Duration::from_secs(60), || {
        ended().then_some(())
    });
    let called_off = home.run(&["batch", "open"]).exits(0).text();
    let body = json!({ "kind": "unserved", "payload": 1, "batch": called_off });
    let member = enqueue(&http, &body);
    let _ = home.run(&["batch", "cancel", &called_off]).exits(0);
    let word = word(&http.get(&format!("/jobs/{done}")));
    let nobody = "00000000000000000000000001";
    for (path, act, says) in [
        (format!("/jobs/{done}"), "cancel", "it is completed"),
        (format!("/jobs/{done}"), "snooze", "it is completed"),
        (
            format!("/jobs/{done}"),
            "requeue",
            "is not dead but completed",
        ),
        (format!("/jobs/{member}"), "retry", "which was called off"),
        (format!("/jobs/{nobody}"), "cancel", "no job"),
        (format!("/batches/{batch}"), "cancel", "has ended"),
        (format!("/batches/{nobody}"), "seal", "no batch"),
        ("/crons/nobody".to_owned(), "trigger", "no schedule"),
    ] {
        let reply = submit(&http, &path, None, &[("word", &word), ("do", act)]);
        assert!(reply.status >= 400, "{path} {act}: {}", reply.status);
        assert!(
            reply.text().contains(says),
            "{path} {act}: {}",
            reply.text()
        );
    }
}
