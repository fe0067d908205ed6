//! How a client is set up.

use std::{path::PathBuf, time::Duration};

use crate::token::Token;

/// How a client is set up.
///
/// ```
/// # use sandhog_client::Options;
/// # use std::time::Duration;
/// let options = Options {
///     retry_for: Duration::from_secs(5),
///     ..Options::new("http://127.0.0.1:7263")
/// };
/// ```
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the runner is: `http://HOST:PORT` or `https://HOST`, with a path when a proxy serves it under one.
    pub address: String,
    /// What is shown there; nothing when `None`.
    pub token: Option<Token>,
    /// Send the token without TLS to another machine, where whoever is on the way can read it. Off.
    pub token_in_the_open: bool,
    /// A file of certificate authorities in PEM form, beside those of the system.
    pub ca_file: Option<PathBuf>,
    /// How long a connection may take. 5 s.
    pub connect_within: Duration,
    /// How long one answer may take, not counting what [`Client::wait`](crate::Client::wait) waits for. 30 s.
    pub answer_within: Duration,
    /// How long a call goes on trying; zero tries once. A minute, which is longer than a restart of a runner.
    pub retry_for: Duration,
    /// The wait after the first try, 1 ms at least; it doubles up to 5 s, and half of it is drawn by chance. 100 ms.
    pub first_wait: Duration,
}

impl Options {
    /// The usual ones, for a runner at this address.
    pub fn new(address: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            token: None,
            token_in_the_open: false,
            ca_file: None,
            connect_within: Duration::from_secs(5),
            answer_within: Duration::from_secs(30),
            retry_for: Duration::from_secs(60),
            first_wait: Duration::from_millis(100),
        }
    }
}
