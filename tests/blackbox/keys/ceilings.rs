//! Ceilings on what plugins may be granted, and secrets.

use std::fs;

use sandhog_kit::{Home, Receiver, component::handler};

use super::home;
use crate::SANDHOG;

/// What a check says of a small component by the name of `misbehave`, with these grants and settings.
fn check(grants: &str, settings: &str) -> String {
    let home = Home::new(SANDHOG);
    home.write_config(settings);
    home.grant("misbehave", grants);
    let file = home.plugins().join("misbehave.wasm");
    let bytes = wat::parse_str(handler("work", "", "", "")).expect("a component's text");
    fs::write(&file, bytes).expect("a file");
    let checked = home.run(&["plugin", "check", file.to_str().expect("UTF-8")]);
    checked.exits(0).text()
}

#[test]
fn each_ceiling_cuts_what_lies_over_it() {
    let http =
        "[[grants.http]]\norigin = \"http://example.com\"\nmethods = [\"GET\"]\nprivate = true\n";
    let enqueue =
        "[grants]\nenqueue = { queues = [\"far\"], jobs = 50, bytes = \"1MiB\", depth = 4 }\n";
    let mount = "[[grants.mounts]]\nhost = \"/usr/lib\"\nguest = \"/lib\"\n";
    for (grants, key, tight, wide) in [
        (
            http,
            "http",
            "[\"http://example.org\"]",
            "[\"http://example.com\"]",
        ),
        (http, "private", "[]", "[\"10.0.0.0/8\"]"),
        (mount, "mounts", "[\"/usr/share\"]", "[\"/usr\"]"),
        (
            "[grants]\nscratch = \"2MiB\"\n",
            "scratch",
            "\"1MiB\"",
            "\"2MiB\"",
        ),
        (enqueue, "queues", "[\"near\"]", "[\"far\"]"),
        (enqueue, "jobs", "49", "50"),
        (enqueue, "bytes", "\"1023KiB\"", "\"1MiB\""),
        (enqueue, "depth", "3", "4"),
    ] {
        let cut = format!("over `{key}`");
        for table in ["capabilities", "plugin.misbehave"] {
            let with = |value: &str| check(grants, &format!("[{table}]\n{key} = {value}\n"));
            let (tight, wide) = (with(tight), with(wide));
            assert!(tight.contains(&cut), "{table}.{key}: {tight}");
            assert!(!wide.contains(&cut), "{table}.{key}: {wide}");
        }
        // The plugin's own counts in place of the general one.
        let both = format!("[capabilities]\n{key} = {tight}\n[plugin.misbehave]\n{key} = {wide}\n");
        let said = check(grants, &both);
        assert!(!said.contains(&cut), "{key}: {said}");
    }
}

#[test]
fn requests_are_as_many_and_as_large_as_the_ceiling_says() {
    let grants =
        "[[grants.http]]\norigin = \"http://127.0.0.1:*\"\nmethods = [\"POST\"]\nprivate = true\n";
    for table in ["capabilities", "plugin.misbehave"] {
        let settings = format!(
            "[{table}]\nprivate = [\"127.0.0.0/8\"]\nconnections = 3\nrequests = 17\nbody = \"16B\"\n"
        );
        let said = check(grants, &settings);
        assert!(
            said.contains("17 in all, 3 at a time, bodies of 16 B"),
            "{table}: {said}"
        );
    }
    // And the bodies truly are: the other two are bounded in the same place.
    let receiver = Receiver::start();
    let home = home("[capabilities]\nprivate = [\"127.0.0.0/8\"]\nbody = \"16B\"\n");
    home.grant("misbehave", grants);
    let _runner = home.start();
    let url = format!("{}/status/200", receiver.origin());
    let (fits, large) = (fetched(&home, &url, 16), fetched(&home, &url, 17));
    assert!(fits.contains("200"), "{fits}");
    assert!(large.contains("error"), "{large}");
}

/// What a request gave: its answer, or the error.
fn fetched(home: &Home, url: &str, body: usize) -> String {
    let url = format!("url={url}");
    let body = "x".repeat(body);
    let words = [
        "enqueue",
        "fetch",
        &body,
        "--header",
        &url,
        "--header",
        "method=POST",
        "--wait",
    ];
    home.run(&words).exits(0).text()
}

#[test]
fn authorities_are_read_from_the_file() {
    let home = home("[capabilities]\nprivate = [\"127.0.0.0/8\"]\nca_file = \"authorities.pem\"\n");
    fs::write(home.folder().join("authorities.pem"), "no certificate").expect("a file");
    home.grant(
        "misbehave",
        "[[grants.http]]\norigin = \"https://127.0.0.1:*\"\nmethods = [\"POST\"]\nprivate = true\n",
    );
    let _runner = home.start();
    let there = Receiver::start().origin().replace("http:", "https:");
    let url = format!("url={there}");
    let id = home.enqueue(&["fetch", "x", "--header", &url, "--header", "method=POST"]);
    let _ = home.job_in(&id, "completed");
    let said = home.run(&["job", "logs", &id]).exits(0).text();
    assert!(said.contains("authorities.pem"), "{said}");
}

#[test]
fn a_secret_is_for_those_it_names() {
    let grants = "[[grants.secrets]]\nname = \"key\"\nsign = true\norigin = \"https://example.com\"\n\
        [[grants.http]]\norigin = \"https://example.com\"\nmethods = [\"GET\"]\n";
    let with = |plugins: &str, origins: &str, sign: &str| {
        let settings = format!(
            "[secrets.key]\nenv = \"KEY\"\nplugins = {plugins}\norigins = {origins}\nsign = {sign}\n"
        );
        check(grants, &settings)
    };
    let (own, there) = ("[\"misbehave\"]", "[\"https://example.com\"]");
    let said = with(own, there, "true");
    assert!(!said.contains("[secrets.key]"), "{said}");
    for (said, key) in [
        (with("[\"other\"]", there, "true"), "`plugins`"),
        (with(own, "[\"https://example.org\"]", "true"), "`origins`"),
        (with(own, there, "false"), "`sign`"),
    ] {
        assert!(said.contains(key), "{key}: {said}");
    }

    let home =
        home("[secrets.key]\nenv = \"KEY_OF_THE_TEST\"\nplugins = [\"misbehave\"]\nsign = true\n");
    home.grant(
        "misbehave",
        "[[grants.secrets]]\nname = \"key\"\nsign = true\n",
    );
    let sign = |value: Option<&str>| {
        let mut command = home.command(&["start"]);
        if let Some(value) = value {
            command.env("KEY_OF_THE_TEST", value);
        }
        let _runner = sandhog_kit::Runner::by(&home, command);
        let id = home.enqueue(&[
            "sign",
            "text",
            "--header",
            "secret=key",
            "--max-attempts",
            "1",
        ]);
        let state = if value.is_some() { "completed" } else { "dead" };
        let _ = home.job_in(&id, state);
        home.job(&id).to_string()
    };
    let unset = sign(None);
    assert!(unset.contains("KEY_OF_THE_TEST"), "{unset}");
    assert!(!sign(Some("a value")).contains("a value"));
}
