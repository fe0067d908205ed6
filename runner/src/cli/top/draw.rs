//! The screen as it is drawn.

use ratatui::{
    Frame,
    layout::{Alignment, Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Span},
    widgets::{Block, Cell, Clear, Paragraph, Row, Table, TableState, Wrap},
};
use sandhog_model::{State, UnixMs};

use super::{
    super::text::{self, plain},
    columns::Column,
    gather::Seen,
    rows,
    screen::{Mode, Screen, Tab},
};
use crate::engine;

/// Smallest terminal that is drawn on.
const LEAST: (u16, u16) = (40, 8);

const KEYS: [(&str, &str); 9] = [
    ("Tab  1-4", "another list"),
    ("Up  Down  PgUp  PgDn  Home  End", "another row"),
    ("/", "show only rows with a text; Esc shows all again"),
    ("p", "Queues: pause the queue, or open it again"),
    ("k", "Running: kill the job, after a question"),
    ("?", "these keys"),
    ("q  Ctrl-C", "end"),
    (
        "DUE  LATER",
        "jobs that wait for a worker, and for their time",
    ),
    (
        "LATENCY",
        "from due to begun, of the jobs begun in the last 10 s",
    ),
];

const BAD: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
const SOFT: Style = Style::new().add_modifier(Modifier::DIM);
const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);

pub(super) fn draw(screen: &mut Screen, frame: &mut Frame<'_>, now: UnixMs) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let wanted = format!("larger than {}x{}, please", LEAST.0 - 1, LEAST.1 - 1);
        frame.render_widget(Paragraph::new(wanted).wrap(Wrap { trim: true }), area);
        return;
    }
    let alarms = alarms(screen, now);
    let [head, alarm, tabs, list, foot] = Layout::vertical([
        Constraint::Length(3),
        Constraint::Length(alarms.len() as u16),
        Constraint::Length(1),
        Constraint::Min(2),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(header(screen)), head);
    frame.render_widget(Paragraph::new(alarms), alarm);
    frame.render_widget(tab_line(screen), tabs);
    draw_list(screen, frame, list, now);
    frame.render_widget(Paragraph::new(footer(screen)), foot);
    match &screen.mode {
        Mode::Helping => draw_box(frame, " Keys ", help()),
        Mode::Killing(id, kind) => {
            let question = format!("Kill job {id} of kind {kind}? Its attempt ends at once.");
            let lines = vec![
                Line::from(question),
                Line::default(),
                Line::styled("y kills it, any other key does not", STRONG),
            ];
            draw_box(frame, " Kill ", lines);
        }
        Mode::Looking | Mode::Filtering => {}
    }
}

/// What the runner is and has, in three lines.
fn header(screen: &Screen) -> Vec<Line<'static>> {
    let place = plain(&screen.place).into_owned();
    let Some(seen) = &screen.seen else {
        return vec![Line::styled(format!("sandhog top  {place}"), STRONG)];
    };
    let stats = &seen.stats;
    let mut first = vec![Span::styled(
        format!("sandhog {}", plain(&stats.version)),
        STRONG,
    )];
    first.push(Span::raw(format!("  {place}")));
    if let Some(runner) = &stats.runner {
        first.push(Span::raw(format!("  pid {}", runner.pid)));
        let mode = format!("  {}", runner.mode.name());
        let style = match runner.mode {
            engine::Mode::Running => Style::new(),
            engine::Mode::Quiet | engine::Mode::Stopping => BAD,
        };
        first.push(Span::styled(mode, style));
    }
    vec![Line::from(first), jobs(seen), work(screen, seen)]
}

fn jobs(seen: &Seen) -> Line<'static> {
    let store = &seen.stats.store;
    let of = |state: State| {
        let found = store.jobs.iter().find(|(one, _)| *one == state);
        found.map_or(0, |(_, count)| *count)
    };
    let shown = [
        (of(State::Available), "due"),
        (of(State::Running), "running"),
        (of(State::Scheduled), "later"),
        (of(State::Retryable), "to retry"),
        (of(State::Completed), "completed"),
    ];
    let dead = text::count(store.dead_letters, "dead letter");
    let dead = match store.dead_letters {
        0 => Span::raw(dead),
        _ => Span::styled(dead, BAD),
    };
    // Few words first: a narrow screen loses the others.
    let mut spans = vec![dead, Span::raw("  ")];
    let told = shown.map(|(count, what)| format!("{count} {what}"));
    spans.push(Span::raw(told.join("  ")));
    Line::from(spans)
}

fn work(screen: &Screen, seen: &Seen) -> Line<'static> {
    let mut parts = Vec::new();
    if let Some(runner) = &seen.stats.runner {
        let (busy, slots) = runner.busy_of_slots();
        parts.push(format!("{busy}/{slots} slots"));
        let memory = &runner.memory;
        let (held, budget) = (text::size(memory.held), text::size(memory.budget));
        let short = if memory.short { ", short" } else { "" };
        parts.push(format!("memory {held} of {budget}{short}"));
    }
    if let Some([enqueued, ended, failed]) = screen.rates.all() {
        let rates = format!("{enqueued:.1} in/s  {ended:.1} attempts/s  {failed:.1} failed/s");
        parts.insert(parts.len().min(1), rates);
    }
    let every = text::span(screen.interval.as_millis() as u64);
    parts.push(format!("every {every}"));
    Line::from(parts.join("  "))
}

/// What has to be known before anything else.
fn alarms(screen: &Screen, now: UnixMs) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let loud = BAD.add_modifier(Modifier::REVERSED);
    if let Some(why) = &screen.away {
        let since = match &screen.seen {
            Some(seen) => format!("AWAY, what is shown is from {}", text::ago(seen.wall, now)),
            None => "AWAY, waiting for it".to_owned(),
        };
        lines.push(Line::styled(format!("{since}: {}", plain(why)), loud));
    }
    let poisoned = screen
        .seen
        .as_ref()
        .and_then(|seen| seen.stats.store.poisoned.as_ref());
    if let Some(why) = poisoned {
        lines.push(Line::styled(
            format!("the store takes nothing more: {}", plain(why)),
            loud,
        ));
    }
    lines
}

fn tab_line(screen: &Screen) -> Line<'static> {
    let tabs = Tab::ALL.into_iter().zip(1..).flat_map(|(tab, number)| {
        let style = match tab == screen.tab {
            true => STRONG.add_modifier(Modifier::REVERSED),
            false => SOFT,
        };
        let name = format!("{number} {}", tab.name());
        [Span::styled(name, style), Span::raw(" ")]
    });
    Line::from(tabs.collect::<Vec<_>>())
}

fn draw_list(screen: &mut Screen, frame: &mut Frame<'_>, area: Rect, now: UnixMs) {
    let rows = screen.rows(now);
    screen.room = usize::from(area.height.saturating_sub(1)).max(1);
    let place = screen.place_in(&rows);
    let columns: Vec<(usize, &Column)> = rows::columns(screen.tab)
        .iter()
        .enumerate()
        .filter(|(_, column)| column.is_shown(area.width))
        .collect();
    let title = |(_, column): &(usize, &Column)| aligned(column, column.title.to_owned());
    let header = Row::new(columns.iter().map(title)).style(SOFT);
    let body = rows.iter().map(|row| {
        let cells = columns.iter().map(|(place, column)| {
            let text = row.cells.get(*place).cloned().unwrap_or_default();
            aligned(column, text)
        });
        let style = if row.is_bad {
            Style::new().fg(Color::Red)
        } else {
            Style::new()
        };
        Row::new(cells).style(style)
    });
    let table = Table::new(body, columns.iter().map(|(_, column)| column.constraint()))
        .header(header)
        .column_spacing(1)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::new().with_selected(place);
    frame.render_stateful_widget(table, area, &mut state);
    if rows.is_empty() && area.height > 1 {
        let nothing = match (&screen.seen, screen.filter.is_empty()) {
            (None, _) => "",
            (Some(_), true) => "nothing",
            (Some(_), false) => "nothing with that text",
        };
        let under = Rect {
            y: area.y + 1,
            height: 1,
            ..area
        };
        frame.render_widget(Line::styled(nothing, SOFT), under);
    }
}

fn aligned(column: &Column, text: String) -> Cell<'static> {
    let alignment = match column.is_right {
        true => Alignment::Right,
        false => Alignment::Left,
    };
    Cell::from(Line::from(text).alignment(alignment))
}

fn footer(screen: &Screen) -> Line<'static> {
    if screen.mode == Mode::Filtering {
        return Line::from(format!("/{}_", plain(&screen.filter)));
    }
    if let Some(word) = &screen.word {
        return Line::styled(plain(word).into_owned(), STRONG);
    }
    let mut keys = vec!["q end", "? keys", "Tab list", "/ filter"];
    keys.push(match screen.tab {
        Tab::Queues => "p pause",
        Tab::Running => "k kill",
        Tab::Workers | Tab::Failures => "",
    });
    let mut spans = Vec::new();
    if !screen.filter.is_empty() {
        let shown = format!("only with {:?}  ", plain(&screen.filter));
        spans.push(Span::styled(shown, STRONG));
    }
    spans.push(Span::styled(keys.join("  "), SOFT));
    Line::from(spans)
}

fn help() -> Vec<Line<'static>> {
    let width = KEYS.iter().map(|(keys, _)| keys.len()).max().unwrap_or(0);
    let line = |(keys, what): (&str, &str)| Line::from(format!("{keys:width$}  {what}"));
    KEYS.map(line).to_vec()
}

/// A box in the middle, as large as its text and the screen let it be.
fn draw_box(frame: &mut Frame<'_>, title: &'static str, lines: Vec<Line<'static>>) {
    let area = frame.area();
    let wanted = lines.iter().map(Line::width).max().unwrap_or(0) as u16 + 4;
    let width = wanted.min(area.width);
    let inside = usize::from(width.saturating_sub(4)).max(1);
    let tall: usize = lines
        .iter()
        .map(|line| line.width().div_ceil(inside).max(1))
        .sum();
    let height = (tall as u16 + 2).min(area.height);
    let place = Rect {
        x: (area.width - width) / 2,
        y: (area.height - height) / 2,
        width,
        height,
    };
    frame.render_widget(Clear, place);
    let block = Block::bordered()
        .title(title)
        .padding(ratatui::widgets::Padding::horizontal(1));
    let text = Paragraph::new(lines)
        .wrap(Wrap { trim: false })
        .block(block);
    frame.render_widget(text, place);
}
