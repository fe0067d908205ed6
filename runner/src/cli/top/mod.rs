//! `sandhog top`: what goes on, in a terminal, for as long as someone looks.

mod columns;
mod draw;
mod gather;
mod once;
mod rates;
mod rows;
mod screen;
mod terminal;
mod watcher;

#[cfg(test)]
mod tests;

use std::{
    sync::mpsc::TryRecvError,
    time::{Duration, Instant},
};

use clap::Args;
use ratatui::crossterm::event::{self, Event};

use super::{
    exit::{Exit, Fault, Outcome},
    interrupt::Interrupt,
    session::{Session, wall},
    when,
};
use screen::{Screen, Wish};
use terminal::Held;
use watcher::Watcher;

/// How long a key, a signal or a new look may wait to be noticed.
const TICK: Duration = Duration::from_millis(50);
/// How often ages are drawn anew.
const AGES: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(super) struct TopArgs {
    /// How long after a look the next one comes, 100ms to 1h
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    interval: Duration,
    /// Print what there is once, as text or JSON, for scripts; needs no terminal
    #[arg(long)]
    once: bool,
}

fn interval(text: &str) -> Result<Duration, String> {
    let span = when::span(text)?;
    match (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(&span) {
        true => Ok(span),
        false => Err(format!("{text:?} is out of range: allowed are 100ms to 1h")),
    }
}

pub(super) fn run(session: &mut Session<'_, '_>, args: &TopArgs) -> Outcome<Exit> {
    if args.once {
        return once::run(session);
    }
    if session.is_json() || !session.is_terminal() {
        return Err(Fault::usage(
            "`sandhog top` draws on a terminal, and standard output is none or JSON is asked for: \
             add --once to have it printed once",
        ));
    }
    watch(session, args.interval)
}

/// Until someone has seen enough.
fn watch(session: &mut Session<'_, '_>, interval: Duration) -> Outcome<Exit> {
    let unusable = |what: &str, error: std::io::Error| {
        Fault::failed(format!("cannot {what} the terminal: {error}"))
    };
    let interrupt = Interrupt::listen();
    let link = session.link();
    let mut screen = Screen::new(link.place(), interval);
    let mut watcher = Watcher::start(link, interval);
    let mut held = Held::take().map_err(|error| unusable("draw on", error))?;
    let mut drawn: Option<Instant> = None;
    let mut is_new = true;
    while !interrupt.came() {
        if is_new || drawn.is_none_or(|at| at.elapsed() >= AGES) {
            held.draw(|frame| draw::draw(&mut screen, frame, wall()))
                .map_err(|error| unusable("draw on", error))?;
            (drawn, is_new) = (Some(Instant::now()), false);
        }
        if event::poll(TICK).map_err(|error| unusable("read", error))? {
            is_new = true;
            if let Event::Key(key) = event::read().map_err(|error| unusable("read", error))? {
                match screen.press(key) {
                    Wish::Nothing => {}
                    Wish::Quit => break,
                    Wish::Act(act) => {
                        if !watcher.ask(act) {
                            screen.say("the one before is still under way: try again");
                        }
                    }
                }
            }
        }
        loop {
            match watcher.told() {
                Ok(told) => screen.take(told),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    return Err(Fault::failed("the thread that asks the runner ended"));
                }
            }
            is_new = true;
        }
    }
    Ok(Exit::Done)
}
