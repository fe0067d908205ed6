//! Commands that do the same to many: how they end when some are refused.

use super::*;

const NOBODY: &str = "0000000000000000000000000Z";
const NOR_HIM: &str = "0000000000000000000000000Y";

/// A verb on ids ends with `code`, and prints so many of them.
#[track_caller]
fn ends(desk: &Desk, verb: &[&str], ids: &[&str], (code, done): (u8, usize)) -> String {
    let words = [verb, ids, &["-o", "json"]].concat();
    let answer = desk.run(&words);
    let rows = answer.ends(code).json();
    assert_eq!(rows.as_array().map(Vec::len), Some(done), "{words:?}");
    answer.err
}

#[test]
fn the_code_of_many_is_theirs_when_all_are_refused_alike_and_six_when_some_are_done() {
    let desk = Desk::new();
    let job = || desk.run(&["enqueue", "page"]).id().text();
    for verb in [
        &["job", "cancel"][..],
        &["job", "kill"],
        &["job", "retry"],
        &["job", "snooze", "--for", "1h"],
        &["job", "discard"],
        &["job", "rm", "--force"],
    ] {
        let (one, other) = (job(), job());
        ends(&desk, verb, &[&one, NOBODY], (6, 1));
        ends(&desk, verb, &[NOBODY, &other], (6, 1));
        ends(&desk, verb, &[NOBODY, NOR_HIM], (4, 0));
        let (one, other) = (job(), job());
        ends(&desk, verb, &[&one, &other], (0, 2));
    }
    let done = job();
    desk.double
        .completes(done.parse().unwrap(), "text/plain", b"1");
    // Not found and in the wrong state: refused, and not alike.
    ends(&desk, &["job", "cancel"], &[NOBODY, &done], (1, 0));
    for verb in [&["dead", "retry"][..], &["dead", "rm"]] {
        let dead = job();
        desk.double.dies(dead.parse().unwrap());
        ends(&desk, verb, &[NOBODY, NOR_HIM], (4, 0));
        ends(&desk, verb, &[NOBODY, &dead], (6, 1));
    }
    let queues = ["pause", "resume", "drain"];
    for verb in queues {
        ends(&desk, &["queue", verb], &["a", "b"], (0, 2));
    }
    // What would be done ends as what is done.
    let dry = desk.run(&["job", "discard", &job(), NOBODY, "--dry-run"]);
    dry.ends(6);
}

#[test]
fn a_batch_that_is_over_is_not_sealed_and_one_that_was_is_said_to_be() {
    let desk = Desk::new();
    let open = || {
        let opened = desk.run(&["batch", "open"]);
        opened.ends(0).out.trim().to_owned()
    };
    let (one, off) = (open(), open());
    for (verb, id, says) in [
        ("seal", &one, "sealed\n"),
        ("seal", &one, "sealed already\n"),
        ("cancel", &off, "cancelled\n"),
        ("cancel", &off, "cancelled already\n"),
    ] {
        let told = desk.run(&["batch", verb, id]);
        assert_eq!(told.ends(0).out, format!("{id} {says}"));
    }
    let over = ends(&desk, &["batch", "seal"], &[&off], (1, 0));
    let says = format!("cannot seal batch {off}: it was called off");
    assert!(over.contains(&says), "{over}");
    ends(&desk, &["batch", "seal"], &[&off, &one], (6, 1));
    ends(&desk, &["batch", "seal"], &[&off, NOBODY], (1, 0));
    ends(&desk, &["batch", "cancel"], &[NOBODY, NOR_HIM], (4, 0));
}

#[test]
fn a_line_of_a_batch_names_no_other_one() {
    let desk = Desk::new();
    let lines = format!(
        "{{\"kind\":\"page\"}}\n{{\"kind\":\"page\",\"batch\":\"{NOBODY}\"}}\n{{\"kind\":\"page\",\"batch\":\"{NOR_HIM}\"}}"
    );
    let refused = desk.run_with(&["batch", "enqueue", "-"], &lines, false);
    let told = &refused.ends(2).err;
    for part in [
        &format!("line 2 field `batch` names batch {NOBODY}"),
        &format!("line 3 field `batch` names batch {NOR_HIM}"),
        "leave it out",
        "nothing was enqueued",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(desk.double.count(), 0);
    // Where no batch of its own is opened, a line says which it belongs to.
    let said = desk.run_with(&["enqueue", "--bulk", "-"], &lines, false);
    assert!(!said.err.contains("field `batch`"), "{}", said.err);
}
