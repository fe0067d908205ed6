//! `sandhog top` on a real terminal, and where there is none.

use std::process::Command;

use sandhog_kit::{Home, Terminal};

use crate::SANDHOG;

/// What gives a terminal its first screen back.
const FIRST_SCREEN: &str = "\u{1b}[?1049l";
const CURSOR: &str = "\u{1b}[?25h";

/// Whether the terminal is as it was: its first screen, its cursor, whole lines with echo.
#[track_caller]
fn is_given_back(terminal: &mut Terminal, code: &str) {
    let end = terminal.end();
    assert!(end.starts_with(code), "{end}");
    assert!(end.contains(" icanon") && end.contains(" echo "), "{end}");
    let drawn = terminal.drawn();
    assert!(
        drawn.contains(FIRST_SCREEN) && drawn.contains(CURSOR),
        "{drawn:?}"
    );
}

#[test]
fn it_shows_a_runner_that_comes_works_goes_and_comes_back() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let mut terminal = Terminal::start(&home, &["top", "--interval", "100ms"], 130, 24);
    terminal.wait_for("waiting for it");
    terminal.wait_for("no runner is up");
    let runner = home.start();
    // A queue's name and a kind nobody serves, with orders to the terminal where they can be.
    let _ = home.enqueue(&["permanent", "\u{1b}[2Jcleared\u{7}", "--queue", "letters"]);
    terminal.wait_for("letters");
    terminal.press("4");
    terminal.wait_for("no attempt will mend this");
    assert!(!terminal.drawn().contains("\u{1b}[2Jcleared"));
    terminal.press("?");
    terminal.wait_for("another list");
    terminal.press("x");
    terminal.resize(30, 6);
    terminal.wait_for("larger than");
    terminal.resize(130, 24);
    terminal.wait_for("FAILURE");
    runner.kill9();
    terminal.wait_for("AWAY");
    let _runner = home.start();
    terminal.wait_for("the runner is back");
    terminal.press("q");
    is_given_back(&mut terminal, "0");
}

#[test]
fn a_job_is_killed_and_a_queue_paused_over_http() {
    let home = Home::with(SANDHOG, &["misbehave"]).over_http();
    let runner = home.start();
    let url = format!("http://{}", runner.http());
    let id = home.enqueue(&["loop", "x", "--queue", "slow", "--attempt-timeout", "60s"]);
    let _ = home.job_in(&id, "running");
    let words = ["top", "--interval", "100ms", "--url", &url];
    let mut terminal = Terminal::start(&home, &words, 130, 24);
    terminal.wait_for(&url);
    terminal.wait_for("slow");
    terminal.press("2");
    terminal.wait_for(&id);
    terminal.press("k");
    terminal.wait_for("Its attempt ends at once");
    assert_eq!(home.job(&id)["state"], "running");
    terminal.press("y");
    terminal.wait_for("killed");
    let _ = home.job_in(&id, "cancelled");
    terminal.press("1");
    terminal.wait_for("LATENCY");
    terminal.press("p");
    terminal.wait_for("slow paused");
    assert_eq!(home.json(&["queue", "ls"])[0]["mode"], "paused");
    // Ctrl-C, as a terminal sends it.
    terminal.press("\u{3}");
    is_given_back(&mut terminal, "0");
}

#[test]
fn a_signal_ends_it_and_gives_the_terminal_back() {
    for signal in ["TERM", "INT"] {
        let home = Home::new(SANDHOG);
        let mut terminal = Terminal::start(&home, &["top"], 80, 24);
        terminal.wait_for("waiting for it");
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &terminal.pid()])
            .status();
        assert!(sent.unwrap().success());
        is_given_back(&mut terminal, "0");
    }
}

#[test]
fn without_a_terminal_it_says_what_to_do_and_prints_once() {
    let home = Home::with(SANDHOG, &["misbehave"]);
    let refused = home.run(&["top"]).exits(2);
    assert!(refused.stderr.contains("--once"), "{}", refused.stderr);
    assert!(
        home.run(&["top", "--interval", "1ms"])
            .exits(2)
            .stderr
            .contains("100ms to 1h")
    );
    let nobody = home.run(&["top", "--once"]).exits(3);
    assert!(
        nobody.stderr.contains("no runner is up"),
        "{}",
        nobody.stderr
    );
    let _runner = home.start();
    let id = home.enqueue(&["permanent", "\u{1b}[31mred", "--queue", "letters"]);
    let _ = home.job_in(&id, "dead");
    let text = home.run(&["top", "--once"]).exits(0).text();
    assert!(
        text.contains("letters") && text.contains("no attempt will mend this"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "{text:?}");
    let json = home.json(&["top", "--once"]);
    assert_eq!(json["dead"][0]["id"], id);
    assert_eq!(json["queues"][0]["queue"], "letters");
    assert_eq!(json["stats"]["store"]["dead_letters"], 1);
    assert_eq!(
        (
            json["running"].as_array().unwrap().len(),
            json["failing"].as_array().unwrap().len()
        ),
        (0, 0)
    );
}
