//! The runner's address over HTTP.

use std::{net::SocketAddr, time::Duration};

use anyhow::Context as _;
use tokio::task::JoinHandle;

use crate::{
    api::{Ctx, Handle},
    config::{Config, Refusal},
    web::{Guard, Options, Server, TokenError, Tokens, guarded},
};

/// The variable with one more token.
const TOKEN: &str = "SANDHOG_HTTP_TOKEN";
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
    with_own(of_file(config)?, config)
}

fn of_file(config: &Config) -> Result<Tokens, TokenError> {
    let file = config.http.token_file.as_deref();
    Ok(file.map(Tokens::read).transpose()?.unwrap_or_default())
}

/// With the one of the environment.
fn with_own(mut tokens: Tokens, config: &Config) -> Result<Tokens, TokenError> {
    if let Some(token) = &config.http.token {
        tokens.add_admin(TOKEN, &token.0)?;
    }
    Ok(tokens)
}

/// What keeps the settings' address from being served, before it is tried: its tokens, or that there are none.
pub(super) fn refused(config: &Config) -> Option<Refusal> {
    let listen = config.http.listen.0?;
    let tokens = match of_file(config) {
        Ok(tokens) => tokens,
        Err(error) => return Some(config.refusal("http.token_file", error)),
    };
    match with_own(tokens, config) {
        Ok(tokens) => guarded(listen, &tokens)
            .err()
            .map(|error| config.refusal("http.listen", error)),
        Err(TokenError::Wrong { place, why }) => Some(Refusal { place, why }),
        Err(error) => Some(config.refusal("http.token_file", error)),
    }
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
