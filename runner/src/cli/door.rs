//! The way to the jobs: the runner that holds the data directory, or, with none, the directory.

use std::{
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use anyhow::anyhow;
use tokio::runtime::{Builder, Runtime};

use super::{
    exit::{Exit, Fault, Outcome},
    remote::Remote,
    rooms::{OpenError, Rooms},
};
use crate::{
    api::{Client, ConnectError, Ctx, Request, Response, handle},
    config::Config,
    web,
};

/// After this long a person hears whom the command waits for.
const QUIET_WAIT: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// A runner.
    Runner,
    /// A runner, or a directory that is there.
    Jobs,
    /// A runner, or a directory, made when it is not there.
    Anything,
}

/// No runner is up.
#[derive(Debug, thiserror::Error)]
#[error("no runner is up on {}: start one with `sandhog start`", data.display())]
struct NoRunner {
    data: PathBuf,
}

/// What there is where nobody listens.
enum Without {
    Door(Door),
    /// Someone holds the directory, and may listen soon or let it go.
    Held(OpenError),
}

pub(super) enum Door {
    Runner(Client),
    /// A runner that is reached over HTTP.
    Far(Box<web::Client>),
    // Boxed with its runtime: futures of the store may need one.
    Directory(Box<(Ctx, Runtime)>),
}

/// Where a runner is, for someone who asks it again and again, whether it is there or not.
#[derive(Clone)]
pub(super) enum Link {
    /// The one of this data directory.
    Here(PathBuf),
    /// One that is reached over HTTP, with certificate authorities beside those of the system.
    Far(Remote, Option<PathBuf>),
}

impl Link {
    /// For a person.
    pub(super) fn place(&self) -> String {
        match self {
            Self::Here(data) => data.display().to_string(),
            Self::Far(remote, _) => remote.place(),
        }
    }

    /// `tell` hears what is worth a thought.
    pub(super) fn open(&self, tell: &mut dyn FnMut(&str)) -> Outcome<Door> {
        match self {
            Self::Here(data) => match Client::connect(data) {
                Ok(client) => Ok(Door::Runner(client)),
                Err(ConnectError::Nobody { .. }) => {
                    let data = data.clone();
                    Err(Fault::new(Exit::NoRunner, NoRunner { data }))
                }
                Err(error) => Err(Fault::new(Exit::NoRunner, error)),
            },
            Self::Far(remote, ca_file) => {
                let client = remote.connect(ca_file.as_ref(), tell)?;
                Ok(Door::Far(Box::new(client)))
            }
        }
    }
}

impl Door {
    /// Waits for a holder that does not listen, up to the rooms' patience; `tell` hears of it.
    pub(super) fn open(
        config: &Config,
        rooms: &dyn Rooms,
        need: Need,
        tell: &mut dyn FnMut(&str),
    ) -> Outcome<Self> {
        let data = &config.runner.data;
        let start = Instant::now();
        let mut told = false;
        loop {
            match Client::connect(data) {
                Ok(client) => return Ok(Self::Runner(client)),
                Err(ConnectError::Nobody { .. }) => {}
                Err(error) => return Err(Fault::new(Exit::NoRunner, error)),
            }
            let held = match Self::without_runner(config, rooms, need)? {
                Without::Door(door) => return Ok(door),
                Without::Held(error) => error,
            };
            if start.elapsed() >= rooms.patience() {
                let why = anyhow!("{held}, which does not listen on its socket");
                return Err(Fault::new(Exit::NoRunner, why));
            }
            if !told && start.elapsed() > QUIET_WAIT {
                tell(&format!(
                    "{held} and does not listen yet (it may be compiling plugins): waiting"
                ));
                told = true;
            }
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// The runner that is reached over HTTP; there is no directory to open in its place.
    pub(super) fn far(
        remote: &Remote,
        config: &Config,
        tell: &mut dyn FnMut(&str),
    ) -> Outcome<Self> {
        Link::Far(remote.clone(), config.ca_file.clone()).open(tell)
    }

    /// Nobody listens: the directory itself, if that is enough and free.
    fn without_runner(config: &Config, rooms: &dyn Rooms, need: Need) -> Outcome<Without> {
        let data = &config.runner.data;
        match need {
            Need::Runner => {
                let data = data.clone();
                return match rooms.holder(config) {
                    Some(holder) => Ok(Without::Held(OpenError::Held { data, holder })),
                    None => Err(Fault::new(Exit::NoRunner, NoRunner { data })),
                };
            }
            Need::Jobs if !data.exists() => {
                let why = anyhow!(
                    "there is no data directory {}: start a runner, or name the directory with --data",
                    data.display()
                );
                return Err(Fault::new(Exit::NoRunner, why));
            }
            Need::Jobs | Need::Anything => {}
        }
        match rooms.open(config) {
            Ok(ctx) => {
                let runtime = Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .map_err(anyhow::Error::new)?;
                Ok(Without::Door(Self::Directory(Box::new((ctx, runtime)))))
            }
            Err(error @ OpenError::Held { .. }) => Ok(Without::Held(error)),
            Err(OpenError::Failed(error)) => Err(error.into()),
        }
    }

    /// Whether the fault is that no runner is up, and nothing worse.
    pub(super) fn is_nobody(fault: &Fault) -> bool {
        let nobody = fault.error.as_ref().and_then(|error| error.downcast_ref());
        matches!(nobody, Some(NoRunner { .. }))
    }

    pub(super) fn is_runner(&self) -> bool {
        matches!(self, Self::Runner(_) | Self::Far(_))
    }

    pub(super) fn call(&mut self, request: Request) -> Outcome<Response> {
        match self {
            Self::Runner(client) => Ok(client.call(&request)?),
            Self::Far(client) => Ok(client.call(&request)?),
            Self::Directory(inner) => {
                let (ctx, runtime) = &**inner;
                Ok(runtime.block_on(handle(ctx, request))?)
            }
        }
    }

    /// Let the directory go.
    pub(super) fn close(self) -> Outcome<()> {
        if let Self::Directory(inner) = self {
            let (ctx, runtime) = *inner;
            runtime.block_on(ctx.store.close()).map_err(|error| {
                Fault::new(
                    Exit::Failed,
                    anyhow::Error::new(error).context("cannot close the data directory"),
                )
            })?;
        }
        Ok(())
    }
}
