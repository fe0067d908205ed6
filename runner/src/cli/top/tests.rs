//! The screen at several sizes, and what keys do to it.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use ratatui::{
    Terminal,
    backend::TestBackend,
    crossterm::event::{KeyCode, KeyEvent, KeyModifiers},
};
use sandhog_model::{FailureKind, JobId, QueueLimits, QueueMode, State, Token, UnixMs};

use super::{
    draw::draw,
    gather::{Running, Seen},
    rates::Counted,
    screen::{Screen, Wish},
    watcher::{Act, Told},
};
use crate::{
    api::{QueueView, RunnerStats, Stats},
    engine::{MemoryUse, Mode, WorkerRow},
    plugin::Progress,
    store::{DeadRow, FailureRow, JobRow, QueueRow, StoreStats},
};

const NOW: UnixMs = UnixMs(1_790_000_000_000);
/// Orders to a terminal, text that is wider than it has characters, and text that goes the other way.
const NASTY: &str = "\u{1b}[2J\u{9b}31m\r\n\u{202e}漢字テスト👩‍👩‍👧é";

fn job(id: u128, kind: &str, state: State, ago_ms: u64) -> JobRow {
    JobRow {
        id: JobId(id),
        kind: kind.into(),
        queue: "reports".into(),
        state,
        attempt: 2,
        max_attempts: 25,
        priority: 0,
        at: UnixMs(NOW.0 - ago_ms),
        failure: Some(failure("the bank is closed")),
        digest: None,
        parent: None,
    }
}

fn failure(cause: &str) -> FailureRow {
    FailureRow {
        kind: FailureKind::Timeout,
        cause: cause.into(),
        hint: None,
    }
}

fn queue(name: &str, mode: QueueMode, due: u64, reason: Option<&str>) -> QueueView {
    QueueView {
        row: QueueRow {
            queue: name.into(),
            counts: vec![
                (State::Available, due),
                (State::Running, 1),
                (State::Dead, 2),
            ],
            mode,
            limits: QueueLimits::default(),
            set: QueueLimits::default(),
            weight: 1,
            max_depth: None,
            hold: None,
            oldest_due: (due > 3).then(|| UnixMs(NOW.0 - due * 1_000)),
            kinds: Vec::new(),
        },
        reason: reason.map(str::to_owned),
    }
}

fn letter(id: u128, cause: &str) -> DeadRow {
    DeadRow {
        name: format!("{}", JobId(id)).parse().unwrap(),
        kind: "page".into(),
        queue: "default".into(),
        died_at: UnixMs(NOW.0 - 7_200_000),
        token: Token(1),
        attempts: 25,
        last: 25,
        max_attempts: 25,
        failure: failure(cause),
        digest: None,
        bytes: 100,
        unreadable: None,
    }
}

fn seen() -> Seen {
    let running = |id, kind: &str, progress| Running {
        worker: 1,
        row: job(id, kind, State::Running, 61_000),
        progress,
    };
    let progress = Progress {
        done: 3,
        total: Some(10),
        note: Some(NASTY.into()),
    };
    let text = |begun: u32| {
        format!(
            "sandhog_jobs_enqueued_total{{queue=\"reports\"}} {begun}\n\
             sandhog_queue_latency_seconds_sum{{queue=\"reports\"}} {begun}\n\
             sandhog_queue_latency_seconds_count{{queue=\"reports\"}} {begun}\n"
        )
    };
    Seen {
        at: Instant::now(),
        wall: NOW,
        stats: Stats {
            version: "1.2.3".into(),
            store: StoreStats {
                jobs: vec![
                    (State::Available, 120),
                    (State::Running, 2),
                    (State::Completed, 7),
                ],
                dead_letters: 2,
                ..StoreStats::default()
            },
            runner: Some(RunnerStats {
                pid: 77,
                mode: Mode::Running,
                workers: vec![WorkerRow {
                    number: 0,
                    slots: 4,
                    running: vec![JobId(1), JobId(2)],
                    ended: 9,
                }],
                memory: MemoryUse {
                    budget: 1 << 30,
                    held: 256 << 20,
                    waiting: 0,
                    short: false,
                },
                plugins: 3,
                problems: 0,
                held: 0,
            }),
        },
        queues: vec![
            queue("default", QueueMode::Open, 3, None),
            queue(
                "reports",
                QueueMode::Paused,
                117,
                Some("paused by ops: \u{1b}[31mred"),
            ),
            queue("漢字の待ち行列というもの", QueueMode::Open, 1, None),
        ],
        running: vec![running(1, "table", Some(progress)), running(2, NASTY, None)],
        failing: vec![job(3, "charge", State::Retryable, 5_000)],
        dead: vec![letter(4, NASTY)],
        counted: Some(Counted::read(&text(5))),
    }
}

/// A screen that has looked twice, two seconds apart.
fn screen() -> Screen {
    let mut screen = Screen::new("http://127.0.0.1:7263".into(), Duration::from_secs(1));
    let mut first = seen();
    first.counted = Some(Counted::default());
    let mut second = seen();
    second.at = first.at + Duration::from_secs(2);
    screen.take(Told::Seen(Box::new(first)));
    screen.take(Told::Seen(Box::new(second)));
    screen
}

fn press(screen: &mut Screen, code: KeyCode) -> Wish {
    screen.press(KeyEvent::new(code, KeyModifiers::NONE))
}

/// The screen as text, each cell in its place.
fn shown(screen: &mut Screen, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(screen, frame, NOW)).unwrap();
    let buffer = terminal.backend().buffer();
    for cell in &buffer.content {
        let is_order = |c: char| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!cell.symbol().contains(is_order), "{:?}", cell.symbol());
    }
    terminal.backend().to_string()
}

/// `UPDATE_SNAPSHOTS=1` writes it anew.
fn is_as_kept(name: &str, shown: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("src/cli/top/tests")
        .join(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, shown).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(shown, kept, "{name}\n{shown}");
}

#[test]
fn each_list_is_shown_at_each_size() {
    for (width, height) in [(130, 16), (80, 12), (40, 10)] {
        let mut text = String::new();
        for tab in '1'..='4' {
            let mut screen = screen();
            press(&mut screen, KeyCode::Char(tab));
            text += &shown(&mut screen, width, height);
        }
        is_as_kept(&format!("lists-{width}x{height}.txt"), &text);
    }
}

#[test]
fn boxes_alarms_and_what_is_too_small() {
    let mut text = String::new();
    let mut screen = screen();
    press(&mut screen, KeyCode::Char('?'));
    text += &shown(&mut screen, 90, 20);
    press(&mut screen, KeyCode::Esc);
    press(&mut screen, KeyCode::Char('2'));
    press(&mut screen, KeyCode::Down);
    press(&mut screen, KeyCode::Char('k'));
    text += &shown(&mut screen, 60, 14);
    text += &shown(&mut screen, 39, 8);
    press(&mut screen, KeyCode::Char('n'));
    screen.take(Told::Away(format!("no runner answers {NASTY}")));
    text += &shown(&mut screen, 80, 10);
    let mut waiting = Screen::new("data".into(), Duration::from_secs(1));
    waiting.take(Told::Away(
        "no runner is up on data: start one with `sandhog start`".into(),
    ));
    text += &shown(&mut waiting, 80, 8);
    is_as_kept("boxes.txt", &text);
}

#[test]
fn a_job_is_killed_once_someone_said_yes_to_that_very_job() {
    let mut screen = screen();
    press(&mut screen, KeyCode::Char('k'));
    assert!(screen.word.is_some(), "not here");
    press(&mut screen, KeyCode::Char('2'));
    press(&mut screen, KeyCode::Down);
    assert_eq!(press(&mut screen, KeyCode::Char('k')), Wish::Nothing);
    // Meanwhile another one is in its place.
    let mut later = seen();
    later.running.remove(0);
    screen.take(Told::Seen(Box::new(later)));
    assert_eq!(
        press(&mut screen, KeyCode::Char('y')),
        Wish::Act(Act::Kill(JobId(2)))
    );
    press(&mut screen, KeyCode::Char('k'));
    assert_eq!(press(&mut screen, KeyCode::Enter), Wish::Nothing);
    assert_eq!(press(&mut screen, KeyCode::Char('y')), Wish::Nothing);
    let mut none = seen();
    none.running.clear();
    screen.take(Told::Seen(Box::new(none)));
    assert_eq!(press(&mut screen, KeyCode::Char('k')), Wish::Nothing);
    assert_eq!(press(&mut screen, KeyCode::Char('y')), Wish::Nothing);
}

#[test]
fn a_queue_is_paused_and_opened_again() {
    let mut screen = screen();
    let steer = |queue: &str, mode| {
        let queue = queue.to_owned();
        Wish::Act(Act::Steer { queue, mode })
    };
    // That with the most work is the first.
    assert_eq!(
        press(&mut screen, KeyCode::Char('p')),
        steer("reports", QueueMode::Open)
    );
    press(&mut screen, KeyCode::Down);
    assert_eq!(
        press(&mut screen, KeyCode::Char('p')),
        steer("default", QueueMode::Paused)
    );
    // What is chosen stays chosen where it goes.
    let mut later = seen();
    later.queues[0].row.counts = vec![(State::Available, 1_000)];
    screen.take(Told::Seen(Box::new(later)));
    assert_eq!(
        press(&mut screen, KeyCode::Char('p')),
        steer("default", QueueMode::Paused)
    );
    press(&mut screen, KeyCode::Char('4'));
    assert_eq!(press(&mut screen, KeyCode::Char('p')), Wish::Nothing);
}

#[test]
fn a_filter_leaves_what_has_its_text() {
    let mut screen = screen();
    press(&mut screen, KeyCode::Char('/'));
    for sign in "DeFx".chars() {
        // Letters that are keys elsewhere are letters here.
        assert_eq!(press(&mut screen, KeyCode::Char(sign)), Wish::Nothing);
    }
    press(&mut screen, KeyCode::Backspace);
    assert!(shown(&mut screen, 80, 10).contains("/DeF_"));
    press(&mut screen, KeyCode::Enter);
    let text = shown(&mut screen, 80, 10);
    assert!(
        text.contains("default") && !text.contains("reports"),
        "{text}"
    );
    press(&mut screen, KeyCode::Esc);
    assert!(shown(&mut screen, 80, 10).contains("reports"));
    press(&mut screen, KeyCode::Char('/'));
    press(&mut screen, KeyCode::Char('q'));
    press(&mut screen, KeyCode::Esc);
    assert_eq!(press(&mut screen, KeyCode::Char('q')), Wish::Quit);
    let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    press(&mut screen, KeyCode::Char('/'));
    assert_eq!(screen.press(control), Wish::Quit);
}

#[test]
fn a_runner_that_went_away_and_came_back_is_told() {
    let mut screen = screen();
    screen.take(Told::Away("gone".into()));
    let text = shown(&mut screen, 80, 12);
    assert!(
        text.contains("AWAY") && text.contains("gone") && text.contains("reports"),
        "{text}"
    );
    screen.take(Told::Seen(Box::new(seen())));
    let text = shown(&mut screen, 80, 12);
    assert!(
        !text.contains("AWAY") && text.contains("the runner is back"),
        "{text}"
    );
}
