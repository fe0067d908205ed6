//! The runner's address over HTTP.

use std::{net::SocketAddr, time::Duration};

use anyhow::Context as _;
use tokio::task::JoinHandle;

use crate::{
    api::{Ctx, Handle},
    config::Config,
    web::{Guard, Options, Server, TokenError, Tokens},
};

/// How long a stop waits for answers under way.
const GRACE: Duration = Duration::from_secs(2);

/// An address that is open. Whoever connects waits until it is served.
pub(super) struct Bound {
    server: Server,
    handle: Handle,
    /// The tokens that count.
    pub(super) guard: Guard,
}

/// An address that is served.
pub(super) struct Http {
    address: SocketAddr,
    handle: Handle,
    serving: JoinHandle<()>,
}

/// Open the address that the settings name, if they name one.
pub(super) async fn bind(config: &Config) -> anyhow::Result<Option<Bound>> {
    let settings = &config.http;
    let Some(listen) = settings.listen.0 else {
        return Ok(None);
    };
    let guard = Guard::new(tokens(config)?);
    let bound = Server::bind(Options {
        listen,
        guard: guard.clone(),
        hosts: settings.hosts.clone(),
        connections: settings.connections,
        grace: GRACE,
    });
    let (server, handle) = bound.await.context("cannot serve HTTP")?;
    Ok(Some(Bound {
        server,
        handle,
        guard,
    }))
}

/// The tokens that the settings name.
pub(super) fn tokens(config: &Config) -> Result<Tokens, TokenError> {
    let settings = &config.http;
    let mut tokens = match &settings.token_file {
        Some(path) => Tokens::read(path)?,
        None => Tokens::default(),
    };
    if let Some(token) = &settings.token {
        tokens.add_admin("SANDHOG_HTTP_TOKEN", &token.0)?;
    }
    Ok(tokens)
}

impl Bound {
    pub(super) fn serve(self, ctx: &Ctx) -> Http {
        let Self { server, handle, .. } = self;
        Http {
            address: server.address(),
            handle,
            serving: tokio::spawn(server.run(ctx.clone())),
        }
    }
}

impl Http {
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) async fn stop(self) -> anyhow::Result<()> {
        self.handle.stop();
        self.serving.await.context("the task of HTTP broke")
    }
}
