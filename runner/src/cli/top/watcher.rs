//! The thread that asks the runner, so that a slow answer holds up no key.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel},
    thread,
    time::Duration,
};

use sandhog_model::{Asked, JobId, QueueMode};

use super::{
    super::{
        door::{Door, Link},
        exit::{Fault, Outcome},
        who::this_user,
    },
    gather::{self, Seen},
};
use crate::{
    api::{Request, Response},
    store::Steer,
};

/// What someone wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    Kill(JobId),
    Steer { queue: String, mode: QueueMode },
}

/// What the thread tells.
#[derive(Debug)]
pub(super) enum Told {
    Seen(Box<Seen>),
    /// Nobody answers, or not as they should, and why.
    Away(String),
    /// What became of an act, or a word beside it.
    Said(String),
}

pub(super) struct Watcher {
    /// One at a time: what is pressed meanwhile is refused.
    acts: SyncSender<Act>,
    /// The thread waits while nobody reads.
    told: Receiver<Told>,
}

impl Watcher {
    pub(super) fn start(link: Link, interval: Duration) -> Self {
        let (acts, wanted) = sync_channel(1);
        let (tell, told) = sync_channel(2);
        // It ends with this value: at its next word nobody listens any more.
        thread::spawn(move || watch(&link, interval, &wanted, &tell));
        Self { acts, told }
    }

    /// Whether it will be done.
    pub(super) fn ask(&mut self, act: Act) -> bool {
        self.acts.try_send(act).is_ok()
    }

    pub(super) fn told(&mut self) -> Result<Told, TryRecvError> {
        self.told.try_recv()
    }
}

/// Look, do what is wanted, and look again, until nobody listens.
fn watch(link: &Link, interval: Duration, wanted: &Receiver<Act>, tell: &SyncSender<Told>) {
    let mut door: Option<Door> = None;
    loop {
        let told = match once(link, &mut door, tell, gather::look) {
            Ok(seen) => Told::Seen(Box::new(seen)),
            Err(fault) => Told::Away(said(&fault)),
        };
        if tell.send(told).is_err() {
            return;
        }
        match wanted.recv_timeout(interval) {
            Ok(act) => {
                let done = once(link, &mut door, tell, |door| perform(door, &act));
                let told = done.unwrap_or_else(|fault| said(&fault));
                if tell.send(Told::Said(told)).is_err() {
                    return;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Ask on the door, opened when it is not. One that broke is not asked again.
fn once<T>(
    link: &Link,
    door: &mut Option<Door>,
    tell: &SyncSender<Told>,
    ask: impl FnOnce(&mut Door) -> Outcome<T>,
) -> Outcome<T> {
    let mut open = match door.take() {
        Some(open) => open,
        None => link.open(&mut |text| {
            // Who does not listen needs no word.
            let _ = tell.send(Told::Said(text.to_owned()));
        })?,
    };
    let asked = ask(&mut open);
    let broke = asked.as_ref().is_err_and(|fault| fault.code().is_none());
    if !broke {
        *door = Some(open);
    }
    asked
}

fn perform(door: &mut Door, act: &Act) -> Outcome<String> {
    let by = this_user();
    match act {
        Act::Kill(id) => {
            let request = Request::CallOff {
                ids: vec![*id],
                how: Asked::Kill,
                by,
                reason: None,
                dry_run: false,
            };
            match door.call(request)? {
                Response::CalledOff(mut answers) => match answers.pop() {
                    Some(Ok(state)) => Ok(format!("killed {id}: {state}")),
                    Some(Err(error)) => Err(error.into()),
                    None => Err(Fault::mismatch()),
                },
                _ => Err(Fault::mismatch()),
            }
        }
        Act::Steer { queue, mode } => {
            let request = Request::Steer(Steer {
                queue: queue.clone(),
                mode: Some(*mode),
                limits: None,
                by,
            });
            match door.call(request)? {
                Response::Steered => Ok(format!("{queue} {}", mode.name())),
                _ => Err(Fault::mismatch()),
            }
        }
    }
}

fn said(fault: &Fault) -> String {
    match &fault.error {
        Some(error) => format!("{error:#}"),
        None => "the runner does not answer".to_owned(),
    }
}
