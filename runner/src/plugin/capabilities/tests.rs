//! What a guest gets of what it reaches for.

use std::{fs, time::Duration};

use sandhog_kit::Receiver;
use serde_json::json;

use super::grants::{Ceiling, Ceilings, SecretRule, SecretSource};
use crate::plugin::{
    Report,
    sandbox::tests::kit::{Rig, failure, json, within},
};

fn open() -> Ceilings {
    Ceilings {
        general: Ceiling {
            private: Some(vec!["127.0.0.0/8".parse().unwrap()]),
            ..Ceiling::default()
        },
        ..Ceilings::default()
    }
}

fn logged(report: &Report) -> String {
    let texts: Vec<&str> = report
        .attempt
        .logs
        .iter()
        .map(|line| line.text.as_str())
        .collect();
    texts.join("\n")
}

fn granting(toml: &str) -> Rig {
    Rig::misbehaving().granting(toml, &open())
}

#[test]
fn without_grants_everything_is_an_error_value() {
    let rig = granting("");
    let fetched = rig.run("fetch", &[("url", "http://127.0.0.1:9/")]);
    assert_eq!(json(&fetched)["error"], "http-denied");
    assert!(
        logged(&fetched).contains("misbehave.toml"),
        "{}",
        logged(&fetched)
    );
    let signed = rig.run("sign", &[("secret", "key")]);
    assert!(failure(&signed).cause.contains("not granted"), "{signed:?}");
    assert!(
        logged(&signed).contains("sign = true"),
        "{}",
        logged(&signed)
    );
    let spawned = rig.run("spawn", &[]);
    assert!(
        failure(&spawned).cause.contains("not granted"),
        "{spawned:?}"
    );
    assert!(
        logged(&spawned).contains("enqueue = "),
        "{}",
        logged(&spawned)
    );
    assert!(json(&rig.run("scratch", &[]))["error"].is_string());
    assert!(json(&rig.run("read", &[("path", "/etc/passwd")]))["error"].is_string());
    assert_eq!(json(&rig.run("variable", &[("name", "PATH")])), json!(null));
}

#[test]
fn variables_and_settings_come_from_the_file() {
    let rig = granting(
        "[grants]\nenv = { COLOUR = \"blue\" }\nconfig = { colour = \"blue\", size = \"9\" }\n",
    );
    assert_eq!(
        json(&rig.run("variable", &[("name", "COLOUR")])),
        json!("blue")
    );
    assert_eq!(json(&rig.run("variable", &[("name", "PATH")])), json!(null));
    assert_eq!(json(&rig.run("config", &[("key", "size")])), json!("9"));
    // The operator's word on the kind comes first.
    assert_eq!(json(&rig.run("config", &[("key", "colour")])), json!("red"));
}

#[test]
fn a_request_goes_out_and_its_answer_comes_back() {
    let receiver = Receiver::start();
    let rig = granting(
        "[[grants.http]]\norigin = \"http://127.0.0.1:*\"\nmethods = [\"POST\"]\nprivate = true\n",
    );
    let url = format!("{}/echo?a=b", receiver.origin());
    let report = rig.run("fetch", &[("url", &url), ("method", "POST")]);
    assert_eq!(json(&report)["status"], 200, "{report:?}");
    assert!(
        json(&report)["body"]
            .as_str()
            .unwrap()
            .contains("content-length: 7")
    );
    let came = receiver.next();
    assert_eq!(
        (came.path.as_str(), came.body.as_slice()),
        ("/echo?a=b", &b"payload"[..])
    );
    assert!(
        logged(&report).contains("200 OK after"),
        "{}",
        logged(&report)
    );
    let denied = rig.run("fetch", &[("url", &url)]);
    assert_eq!(json(&denied)["error"], "http-denied");
}

#[test]
fn a_body_that_ends_badly_says_how_and_nothing_of_the_host() {
    let receiver = Receiver::start();
    let mut ceilings = open();
    ceilings.general.body = Some(100_000);
    let rig = Rig::misbehaving().granting(
        "[[grants.http]]\norigin = \"http://127.0.0.1:*\"\nmethods = [\"GET\"]\nprivate = true\n",
        &ceilings,
    );
    for (path, code, why) in [
        ("half", "http-broken", "http response incomplete"),
        ("huge", "http-too-large", "http response body size"),
    ] {
        let url = format!("{}/{path}", receiver.origin());
        let report = rig.run("fetch", &[("url", &url)]);
        let said = json(&report);
        assert_eq!((&said["error"], &said["why"]), (&code.into(), &why.into()));
        if path == "huge" {
            let logged = logged(&report);
            for part in ["97.6 KiB", "`body` under [capabilities]"] {
                assert!(logged.contains(part), "{logged}");
            }
        }
    }
}

#[test]
fn a_wait_for_an_answer_ends_with_the_attempt() {
    let receiver = Receiver::start();
    let rig = granting(
        "[[grants.http]]\norigin = \"http://127.0.0.1:*\"\nmethods = [\"GET\"]\nprivate = true\n",
    );
    let url = format!("{}/silent", receiver.origin());
    let mut request = rig.request("fetch", &[("url", &url)]);
    request.limits = within(Duration::from_millis(500));
    let report = rig.attempt(request);
    // Either the request's own time ends first, a moment before the attempt's, or the attempt does.
    if let sandhog_model::Outcome::Completed(_) = report.outcome {
        assert_eq!(json(&report)["error"], "http-timeout");
    } else {
        assert_eq!(failure(&report).code, "timeout");
    }
    assert!(report.attempt.duration_us < 5_000_000, "{report:?}");
}

#[test]
fn the_host_signs_and_the_key_stays_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key");
    fs::write(&path, "Jefe\n").unwrap();
    let mut ceilings = open();
    ceilings.secrets.insert(
        "key".into(),
        SecretRule {
            source: SecretSource::File(path.clone()),
            plugins: vec!["misbehave".into()],
            origins: Vec::new(),
            sign: true,
        },
    );
    let rig = Rig::misbehaving().granting(
        "[grants]\nsecrets = [{ name = \"key\", sign = true }]\n",
        &ceilings,
    );
    let mut request = rig.request("sign", &[("secret", "key")]);
    request.job.payload = b"what do ya want for nothing?".to_vec();
    // RFC 4231, test case 2.
    assert_eq!(
        json(&rig.attempt(request)),
        json!("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    );
    let other = rig.run("sign", &[("secret", "other")]);
    assert!(failure(&other).cause.contains("not granted"), "{other:?}");
    fs::remove_file(path).unwrap();
    let gone = rig.run("sign", &[("secret", "key")]);
    assert!(
        failure(&gone).cause.contains("cannot be had now"),
        "{gone:?}"
    );
    assert!(
        !failure(&gone).cause.contains("/"),
        "a path of the host: {gone:?}"
    );
}

#[test]
fn generations_and_queues_are_bounded() {
    let rig =
        granting("[grants]\nenqueue = { queues = [\"completed-queue\"], depth = 2, jobs = 2 }\n");
    let report = rig.run("spawn", &[("sandhog-depth", "1")]);
    let depth = |report: &Report| {
        let headers = report.children[0].headers.clone();
        headers.into_iter().find(|(key, _)| key == "sandhog-depth")
    };
    assert_eq!(depth(&report), Some(("sandhog-depth".into(), "2".into())));
    assert_eq!(depth(&rig.run("spawn", &[])).unwrap().1, "1");
    let deep = rig.run("spawn", &[("sandhog-depth", "2")]);
    assert!(failure(&deep).cause.contains("2 deep"), "{deep:?}");
    let many = rig.run("spawn", &[("children", "3")]);
    assert!(
        failure(&many).cause.contains("may enqueue 2 jobs"),
        "{many:?}"
    );
    let rig = granting("[grants]\nenqueue = { queues = [\"other\"] }\n");
    let denied = rig.run("spawn", &[]);
    assert!(
        failure(&denied).cause.contains("queue completed-queue"),
        "{denied:?}"
    );
}

#[test]
fn a_scratch_directory_has_a_quota_that_what_is_removed_frees() {
    let rig = granting("[grants]\nscratch = \"1MiB\"\n");
    let wrote = |headers: &[(&str, &str)]| json(&rig.run("scratch", headers));
    assert_eq!(wrote(&[("files", "3"), ("bytes", "200000")])["written"], 3);
    let full = rig.run("scratch", &[("files", "9"), ("bytes", "200000")]);
    assert_eq!(json(&full)["written"], 5, "{full:?}");
    assert!(
        json(&full)["error"]
            .as_str()
            .unwrap()
            .contains("no storage space"),
        "{full:?}"
    );
    assert!(
        logged(&full).contains("raise `scratch` in misbehave.toml"),
        "{}",
        logged(&full)
    );
    let again = wrote(&[("files", "40"), ("bytes", "200000"), ("remove", "1")]);
    assert_eq!(again["written"], 40, "{again}");
    // Entries are not free, and nothing is left of the attempts before.
    let empty = wrote(&[("files", "1000"), ("bytes", "0")]);
    assert_eq!(empty["written"], 256, "{empty}");
    let hoarded = json(&rig.run("hoard", &[("files", "40"), ("bytes", "200000")]));
    assert_eq!(hoarded["written"], 4, "{hoarded}");
    assert!(json(&rig.run("stretch", &[("bytes", "2000000")]))["error"].is_string());
    assert!(json(&rig.run("stretch", &[("bytes", "500000")]))["error"].is_null());
}

#[test]
fn a_mount_is_read_and_never_written_nor_left() {
    let root = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a"), "text").unwrap();
    fs::write(outside.path().join("b"), "secret").unwrap();
    std::os::unix::fs::symlink(outside.path().join("b"), root.path().join("link")).unwrap();
    let mut ceilings = open();
    ceilings.general.mounts = Some(vec![root.path().to_owned()]);
    let toml = format!(
        "[grants]\nmounts = [{{ host = {:?}, guest = \"/data\" }}]\n",
        root.path()
    );
    let rig = Rig::misbehaving().granting(&toml, &ceilings);
    assert_eq!(
        json(&rig.run("read", &[("path", "/data/a")]))["text"],
        "text"
    );
    let pipe = root.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    for path in [
        "/data/link",
        "/data/../b",
        "/etc/passwd",
        "/data/nothing",
        "/data/pipe",
    ] {
        let read = json(&rig.run("read", &[("path", path)]));
        assert!(read["error"].is_string(), "{path}: {read}");
    }
    for path in ["/data/a", "/data/new"] {
        let written = json(&rig.run("read", &[("path", path), ("write", "1")]));
        assert!(written["error"].is_string(), "{path}: {written}");
    }
    assert_eq!(fs::read_to_string(root.path().join("a")).unwrap(), "text");
}
