//! The verbs that show and choose versions of plugins.

use super::*;

#[test]
fn versions_of_a_plugin_are_shown_and_chosen() {
    let desk = Desk::new();
    for verb in ["show", "rollback", "quarantine", "release"] {
        desk.run(&["plugin", verb, "page"]).ends(3);
    }
    let (_runtime, _handle) = desk.runner();
    desk.run(&["plugin", "show", "nobody"]).ends(4);
    let shown = desk.run(&["plugin", "show", "page"]).ends(0).out.clone();
    for part in [
        "abababababab",
        "cdcdcdcdcdcd",
        "served, in the folder",
        "its file is served",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = desk
        .run(&["plugin", "show", "page", "-o", "json"])
        .ends(0)
        .json();
    assert_eq!(
        (&shown["status"], &shown["versions"][1]["proven"]),
        (&"ok".into(), &true.into())
    );
    let held = desk.run(&["plugin", "quarantine", "page"]);
    assert!(
        held.ends(0).out.contains("someone said so\\u{1b}[0m"),
        "{}",
        held.out
    );
    let shown = desk
        .run(&["plugin", "show", "page", "-o", "json"])
        .ends(0)
        .json();
    assert_eq!(shown["status"], "quarantined");
    assert_eq!(shown["versions"][0]["quarantine"]["by_hand"], true);
    let back = desk.run(&["plugin", "rollback", "page", "--to", "cd"]);
    assert!(
        back.ends(0).out.contains("in place of its file's, abab"),
        "{}",
        back.out
    );
    let back = desk
        .run(&["plugin", "rollback", "page", "-o", "json"])
        .ends(0)
        .json();
    assert_eq!(back["status"], "rolled-back");
    let gone = desk
        .run(&["plugin", "release", "nobody"])
        .ends(4)
        .err
        .clone();
    assert!(gone.contains("known are page"), "{gone}");
    let free = desk.run(&["plugin", "release", "page"]);
    assert!(
        free.ends(0).out.contains("its file is served"),
        "{}",
        free.out
    );
}
