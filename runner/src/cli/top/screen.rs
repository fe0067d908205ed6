//! What is on the screen, and what keys do to it.

use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use sandhog_model::{JobId, QueueMode, UnixMs};

use super::{
    super::session::wall,
    gather::Seen,
    rates::Rates,
    rows::{self, Row},
    watcher::{Act, Told},
};

/// Longest filter, in characters.
const FILTER: usize = 60;

/// What a page of the screen shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tab {
    Queues,
    Running,
    Workers,
    Failures,
}

impl Tab {
    pub(super) const ALL: [Self; 4] = [Self::Queues, Self::Running, Self::Workers, Self::Failures];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Queues => "Queues",
            Self::Running => "Running",
            Self::Workers => "Workers",
            Self::Failures => "Failures",
        }
    }

    const fn next(self, by: usize) -> Self {
        Self::ALL[(self as usize + by) % Self::ALL.len()]
    }
}

/// What is to be done for a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Nothing,
    Quit,
    Act(Act),
}

/// Which row of a tab is chosen: by its key, so that it stays chosen where it goes, and by its place, for when it
/// is gone.
#[derive(Debug, Clone, Default)]
struct Chosen {
    key: Option<String>,
    place: usize,
}

/// Whom the keys go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    Looking,
    Filtering,
    Helping,
    /// Whether this job, of this kind, is to be killed.
    Killing(JobId, String),
}

#[derive(Debug)]
pub(super) struct Screen {
    pub(super) place: String,
    pub(super) interval: Duration,
    pub(super) seen: Option<Box<Seen>>,
    pub(super) rates: Rates,
    /// Why nobody answers.
    pub(super) away: Option<String>,
    pub(super) tab: Tab,
    chosen: [Chosen; Tab::ALL.len()],
    pub(super) filter: String,
    pub(super) mode: Mode,
    pub(super) word: Option<String>,
    /// Rows that have room, as the latest draw found.
    pub(super) room: usize,
}

impl Screen {
    pub(super) fn new(place: String, interval: Duration) -> Self {
        Self {
            place,
            interval,
            seen: None,
            rates: Rates::default(),
            away: None,
            tab: Tab::Queues,
            chosen: Default::default(),
            filter: String::new(),
            mode: Mode::Looking,
            word: None,
            room: 1,
        }
    }

    pub(super) fn say(&mut self, word: impl Into<String>) {
        self.word = Some(word.into());
    }

    /// Take what the runner's side tells.
    pub(super) fn take(&mut self, told: Told) {
        match told {
            Told::Seen(mut seen) => {
                if self.away.take().is_some() && self.seen.is_some() {
                    self.say("the runner is back");
                }
                if let Some(counted) = seen.counted.take() {
                    self.rates.add(seen.at, counted);
                }
                self.seen = Some(seen);
            }
            Told::Away(why) => self.away = Some(why),
            Told::Said(word) => self.word = Some(word),
        }
    }

    /// The rows of the tab that fit the filter.
    pub(super) fn rows(&self, now: UnixMs) -> Vec<Row> {
        let Some(seen) = &self.seen else {
            return Vec::new();
        };
        let mut rows = rows::of(self.tab, seen, &self.rates, now);
        let wanted = self.filter.to_lowercase();
        rows.retain(|row| {
            row.cells
                .iter()
                .any(|cell| cell.to_lowercase().contains(&wanted))
        });
        rows
    }

    /// The place of the chosen row among these.
    pub(super) fn place_in(&mut self, rows: &[Row]) -> Option<usize> {
        let chosen = &mut self.chosen[self.tab as usize];
        let kept = chosen.key.as_ref();
        let kept = kept.and_then(|key| rows.iter().position(|row| &row.key == key));
        let place = kept.unwrap_or(chosen.place).min(rows.len().checked_sub(1)?);
        chosen.place = place;
        Some(place)
    }

    /// Do what a key says. What it is about is what was drawn, not what came in since.
    pub(super) fn press(&mut self, key: KeyEvent) -> Wish {
        if key.kind == KeyEventKind::Release {
            return Wish::Nothing;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && matches!(key.code, KeyCode::Char('c' | 'd')) {
            return Wish::Quit;
        }
        self.word = None;
        match self.mode.clone() {
            Mode::Looking => self.look(key.code),
            Mode::Filtering => self.type_filter(key.code, control),
            Mode::Helping => {
                self.mode = Mode::Looking;
                Wish::Nothing
            }
            Mode::Killing(id, _) => {
                self.mode = Mode::Looking;
                match key.code {
                    KeyCode::Char('y' | 'Y') => Wish::Act(Act::Kill(id)),
                    _ => {
                        self.say("nothing was killed");
                        Wish::Nothing
                    }
                }
            }
        }
    }

    fn look(&mut self, code: KeyCode) -> Wish {
        match code {
            KeyCode::Char('q') => return Wish::Quit,
            KeyCode::Char('?' | 'h') => self.mode = Mode::Helping,
            KeyCode::Char('/') => self.mode = Mode::Filtering,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Tab | KeyCode::Right => self.tab = self.tab.next(1),
            KeyCode::BackTab | KeyCode::Left => self.tab = self.tab.next(Tab::ALL.len() - 1),
            KeyCode::Char(digit @ '1'..='4') => self.tab = Tab::ALL[digit as usize - '1' as usize],
            KeyCode::Up => self.go(|place, _| place.saturating_sub(1)),
            KeyCode::Down => self.go(|place, _| place + 1),
            KeyCode::PageUp => self.go(|place, room| place.saturating_sub(room)),
            KeyCode::PageDown => self.go(|place, room| place + room),
            KeyCode::Home => self.go(|_, _| 0),
            KeyCode::End => self.go(|_, _| usize::MAX),
            KeyCode::Char('k') => self.ask_to_kill(),
            KeyCode::Char('p') => return self.turn(),
            _ => {}
        }
        Wish::Nothing
    }

    fn type_filter(&mut self, code: KeyCode, control: bool) -> Wish {
        match code {
            KeyCode::Enter => self.mode = Mode::Looking,
            KeyCode::Esc => {
                self.filter.clear();
                self.mode = Mode::Looking;
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char('u') if control => self.filter.clear(),
            KeyCode::Char(sign) if !control && self.filter.chars().count() < FILTER => {
                self.filter.push(sign);
            }
            _ => {}
        }
        Wish::Nothing
    }

    fn go(&mut self, to: impl FnOnce(usize, usize) -> usize) {
        let rows = self.rows(wall());
        let Some(place) = self.place_in(&rows) else {
            return;
        };
        let place = to(place, self.room).min(rows.len() - 1);
        let key = Some(rows[place].key.clone());
        self.chosen[self.tab as usize] = Chosen { key, place };
    }

    /// The chosen row.
    fn row(&mut self) -> Option<Row> {
        let mut rows = self.rows(wall());
        let place = self.place_in(&rows)?;
        Some(rows.swap_remove(place))
    }

    fn ask_to_kill(&mut self) {
        if self.tab != Tab::Running {
            return self.say("jobs are killed where they are listed: Running");
        }
        match self.row().map(|row| (row.key.parse(), row.cells)) {
            Some((Ok(id), cells)) => {
                let kind = cells.get(rows::KIND_OF_RUNNING).cloned();
                self.mode = Mode::Killing(id, kind.unwrap_or_default());
            }
            Some((Err(_), _)) | None => self.say("nothing runs"),
        }
    }

    /// Pause a queue that is open; open any other.
    fn turn(&mut self) -> Wish {
        if self.tab != Tab::Queues {
            self.say("queues are paused where they are listed: Queues");
            return Wish::Nothing;
        }
        let Some(queue) = self.row().map(|row| row.key) else {
            self.say("there is no queue");
            return Wish::Nothing;
        };
        let seen = self.seen.iter().flat_map(|seen| &seen.queues);
        let view = seen.into_iter().find(|view| view.row.queue == queue);
        let mode = match view.map(|view| view.row.mode) {
            Some(QueueMode::Open) => QueueMode::Paused,
            Some(QueueMode::Paused | QueueMode::Draining) => QueueMode::Open,
            None => return Wish::Nothing,
        };
        Wish::Act(Act::Steer { queue, mode })
    }
}
