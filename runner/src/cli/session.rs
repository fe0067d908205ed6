//! One command: its settings, its door and where it writes.

use std::{
    io::{Read, Write},
    time::{SystemTime, UNIX_EPOCH},
};

use sandhog_model::UnixMs;
use serde_json::Value;

use super::{
    door::{Door, Link, Need},
    exit::Outcome,
    remote::Remote,
    rooms::Rooms,
    text,
};
use crate::{
    api::{Request, Response},
    config::Config,
};

/// Where a command reads and writes.
pub struct Io<'a> {
    /// The answer, and nothing else.
    pub out: &'a mut dyn Write,
    /// Everything else.
    pub err: &'a mut dyn Write,
    /// For `--stdin`.
    pub input: &'a mut dyn Read,
    /// Whether a person looks at `out`.
    pub out_is_terminal: bool,
    /// Whether a person looks at `err`.
    pub err_is_terminal: bool,
}

/// How answers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// One JSON value.
    Json,
}

pub(super) struct Session<'a, 'io> {
    pub(super) config: Config,
    pub(super) rooms: &'a dyn Rooms,
    pub(super) io: &'a mut Io<'io>,
    pub(super) format: Format,
    remote: Option<Remote>,
    door: Option<Door>,
}

impl<'a, 'io> Session<'a, 'io> {
    pub(super) fn new(
        config: Config,
        rooms: &'a dyn Rooms,
        io: &'a mut Io<'io>,
        format: Format,
    ) -> Self {
        Self {
            config,
            rooms,
            io,
            format,
            remote: None,
            door: None,
        }
    }

    /// The same on a runner that is reached over HTTP.
    /// Whether a runner over HTTP is meant, whose files are elsewhere.
    pub(super) fn is_far(&self) -> bool {
        self.remote.is_some()
    }

    pub(super) fn at(mut self, remote: Option<Remote>) -> Self {
        self.remote = remote;
        self
    }

    /// The door, opened at the first call.
    pub(super) fn door(&mut self, need: Need) -> Outcome<&mut Door> {
        let door = match self.door.take() {
            Some(door) => door,
            None => {
                let err = &mut self.io.err;
                let mut tell = |text: &str| {
                    // Nothing can be done for someone who closed their standard error.
                    let _ = writeln!(err, "{text}");
                };
                match &self.remote {
                    Some(remote) => Door::far(remote, &self.config, &mut tell)?,
                    None => Door::open(&self.config, self.rooms, need, &mut tell)?,
                }
            }
        };
        Ok(self.door.insert(door))
    }

    /// Ask whoever has the jobs.
    pub(super) fn call(&mut self, request: Request) -> Outcome<Response> {
        self.door(Need::Jobs)?.call(request)
    }

    /// Where the runner is, for someone who keeps asking.
    pub(super) fn link(&self) -> Link {
        match &self.remote {
            Some(remote) => Link::Far(remote.clone(), self.config.ca_file.clone()),
            None => Link::Here(self.config.runner.data.clone()),
        }
    }

    /// Let the directory go, if it was opened.
    pub(super) fn close(&mut self) -> Outcome<()> {
        self.door.take().map_or(Ok(()), Door::close)
    }

    /// Whether a person looks at the answer.
    pub(super) fn is_terminal(&self) -> bool {
        self.io.out_is_terminal
    }

    pub(super) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// The answer for programs.
    pub(super) fn json(&mut self, value: &Value) -> Outcome<()> {
        let text = text::json(value);
        Ok(writeln!(self.io.out, "{text}")?)
    }

    /// The answer for people. The text is shown as it is: what a guest wrote was made plain before.
    pub(super) fn say(&mut self, text: &str) -> Outcome<()> {
        self.io.out.write_all(text.as_bytes())?;
        if !text.is_empty() && !text.ends_with('\n') {
            self.io.out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// A word beside the answer, after what was said of it so far.
    pub(super) fn note(&mut self, text: &str) {
        // An answer that nobody reads is found out at the end.
        let _ = self.io.out.flush();
        // Nothing can be done for someone who closed their standard error.
        let _ = writeln!(self.io.err, "{text}");
    }
}

/// The wall clock, for what a person reads and writes.
pub(super) fn wall() -> UnixMs {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    UnixMs(since.map_or(0, |since| since.as_millis() as u64))
}

/// Ask, and take the answer of that name.
macro_rules! ask {
    ($session:expr, $request:expr, $answer:ident) => {
        match $session.call($request)? {
            $crate::api::Response::$answer(answer) => answer,
            _ => return Err($crate::cli::exit::Fault::mismatch()),
        }
    };
}
pub(super) use ask;
