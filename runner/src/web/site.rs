//! What every resource works on, and the one way from a resource to the jobs.

use std::{net::SocketAddr, sync::Arc};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::{
    audit::{self, Change},
    gate::Gate,
    problem::{Code, Problem},
    session::Sessions,
    token::{Caller, Role},
};
use crate::api::{ApiError, Ctx, ErrorCode, Reply, Request, Response, handle};
use crate::entropy::SystemEntropy;

/// Bytes of bodies that may be in memory at a time, in KiB, over all connections.
const BODIES_KIB: usize = 128 << 10;
/// Feeds, exports and waits that may be under way at a time.
const LONG: usize = 64;

/// What every resource works on.
pub(super) struct Site {
    pub(super) ctx: Ctx,
    pub(super) gate: Gate,
    /// Who logged in.
    pub(super) sessions: Sessions,
    /// Room for bodies, one permit a KiB.
    pub(super) bodies: Arc<Semaphore>,
    /// Room for answers that take long.
    pub(super) long: Arc<Semaphore>,
    /// Told to stop.
    pub(super) stop: watch::Receiver<bool>,
}

impl Site {
    pub(super) fn new(ctx: Ctx, gate: Gate, stop: watch::Receiver<bool>) -> Self {
        Self {
            ctx,
            gate,
            sessions: Sessions::new(&SystemEntropy),
            bodies: Arc::new(Semaphore::new(BODIES_KIB)),
            long: Arc::new(Semaphore::new(LONG)),
            stop,
        }
    }

    /// Ask for someone, if their role lets them. What changes something leaves its line.
    pub(super) async fn ask(&self, request: Request, who: &Asking) -> Reply {
        let (needed, change) = Change::of(&request, &who.caller, who.peer);
        if who.caller.role < needed {
            if let Some(change) = change {
                change.refused();
            }
            return Err(ApiError::new(ErrorCode::Forbidden, forbidden(who, needed)));
        }
        let reply = handle(&self.ctx, request).await;
        if let Some(change) = change {
            change.ended(&reply);
        }
        reply
    }

    /// The same for a piece of a change that leaves lines of its own.
    pub(super) async fn ask_piece(&self, request: Request, who: &Asking) -> Reply {
        let needed = audit::needed(&request);
        match who.caller.role < needed {
            true => Err(ApiError::new(ErrorCode::Forbidden, forbidden(who, needed))),
            false => handle(&self.ctx, request).await,
        }
    }

    /// A place for an answer that takes long.
    pub(super) fn place(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let place = Arc::clone(&self.long).try_acquire_owned();
        place.map_err(|_| {
            let why = format!("{LONG} feeds, exports and waits are under way: try again shortly");
            Problem::new(Code::Busy, why)
        })
    }

    /// Resolves when the server is to stop.
    pub(super) async fn stopped(&self) {
        let mut stop = self.stop.clone();
        // Without a handle nobody can say so, and nobody waits for an end any more either.
        let _ = stop.wait_for(|stop| *stop).await;
    }
}

/// Who asks, and from where.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    pub(super) caller: Caller,
    pub(super) peer: SocketAddr,
}

impl Asking {
    /// Refused when the role is not enough.
    pub(super) fn may(&self, needed: Role) -> Result<(), Problem> {
        match self.caller.role >= needed {
            true => Ok(()),
            false => Err(Problem::new(Code::Forbidden, forbidden(self, needed))),
        }
    }
}

fn forbidden(who: &Asking, needed: Role) -> String {
    let has = who.caller.role;
    format!("the token's role is {has}: this needs {needed}")
}

/// Ask, and take the answer of that name.
macro_rules! ask {
    ($site:expr, $call:expr, $request:expr, $answer:ident) => {
        match $site.ask($request, &$call.asking).await? {
            $crate::api::Response::$answer(answer) => answer,
            other => return Err($crate::web::site::mismatch(&other)),
        }
    };
}
pub(super) use ask;

/// An answer to another question.
pub(super) fn mismatch(_: &Response) -> Problem {
    Problem::new(
        Code::Internal,
        "the runner gave an answer to another question",
    )
}
