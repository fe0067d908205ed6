//! What a producer asks of a runner.

use std::{env, sync::Arc, time::Duration};

use bytes::Bytes;
use http::Method;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;
use tokio::time::Instant;

use crate::{
    answer::{self, Answered},
    connection::{Connections, Request},
    error::Error,
    job::{self, Enqueued, Job, State, Waited},
    new_job::{NewJob, span},
    options::Options,
    patience::Patience,
    token::Token,
};

/// How long one request waits for a job's end: shorter than the patience of most proxies.
const WAIT: Duration = Duration::from_secs(25);

/// A way to a runner. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    options: Options,
    connections: Connections,
}

/// Whether a request may be sent again when it is not known whether it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Twice {
    /// Doing it twice is the same as doing it once.
    Fine,
    Never,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Client({})", self.inner.connections.address)
    }
}

impl Client {
    /// A client with the usual [`Options`]. Nothing is sent yet.
    pub fn new(address: &str) -> Result<Self, Error> {
        Self::with(Options::new(address))
    }

    /// A client with these options. Nothing is sent yet.
    pub fn with(options: Options) -> Result<Self, Error> {
        let connections = Connections::new(&options)?;
        let inner = Inner {
            options,
            connections,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// A client of the runner that the command line would speak to: at `SANDHOG_URL`, with the token in the file
    /// `SANDHOG_TOKEN_FILE` or that in `SANDHOG_TOKEN`; at `http://127.0.0.1:7263` without any.
    pub fn from_env() -> Result<Self, Error> {
        let variable = |name: &str| match env::var(name) {
            Ok(value) if value.is_empty() => {
                Err(Error::Unusable(format!("{name} is set but empty")))
            }
            Ok(value) => Ok(Some(value)),
            Err(env::VarError::NotPresent) => Ok(None),
            Err(env::VarError::NotUnicode(_)) => {
                Err(Error::Unusable(format!("{name} is not UTF-8")))
            }
        };
        let address = variable("SANDHOG_URL")?;
        let token = match (variable("SANDHOG_TOKEN_FILE")?, variable("SANDHOG_TOKEN")?) {
            (Some(file), _) => Some(Token::from_file(file)),
            (None, Some(token)) => Some(Token::new(&token)),
            (None, None) => None,
        };
        let token = token.transpose();
        Self::with(Options {
            token: token.map_err(|error| Error::Unusable(error.to_string()))?,
            ..Options::new(address.unwrap_or_else(|| "http://127.0.0.1:7263".to_owned()))
        })
    }

    /// Enqueue a job. It is on disk when this returns, and it is one job however often it was sent.
    ///
    /// # Errors
    ///
    /// [`Code::Invalid`](crate::Code::Invalid) for a value out of its range, which the detail names,
    /// [`Code::Duplicate`](crate::Code::Duplicate) when a unique job stands in the way,
    /// [`Code::QueueFull`](crate::Code::QueueFull) when its queue took nothing in for as long as was tried,
    /// [`Code::BatchClosed`](crate::Code::BatchClosed) and [`Code::NotFound`](crate::Code::NotFound) for a batch that is
    /// sealed and one that is not there. [`Error::Gone`] when it is not known whether it is there: tell it again under the
    /// same key.
    pub async fn enqueue(&self, job: &NewJob) -> Result<Enqueued, Error> {
        // The key is made here, once for all tries.
        let request = self.post("/api/v1/jobs", job.line()?);
        self.json(request, Twice::Fine).await
    }

    /// A job as it is now.
    ///
    /// # Errors
    ///
    /// [`Code::NotFound`](crate::Code::NotFound) when there is none, or none any more.
    pub async fn get(&self, id: &str) -> Result<Job, Error> {
        let answered = self.ask(&self.read(&path(id, "")?), Twice::Fine).await?;
        self.parse(&answered, job::read)
    }

    /// Wait until a job ended, for this long at most. A runner that is away meanwhile may come back within that
    /// time.
    ///
    /// # Errors
    ///
    /// [`Code::NotFound`](crate::Code::NotFound) when there is none, or none any more.
    pub async fn wait(&self, id: &str, limit: Duration) -> Result<Waited, Error> {
        let start = Instant::now();
        loop {
            let left = limit.saturating_sub(start.elapsed());
            let wait = left.min(WAIT);
            let mut request = self.read(&path(
                id,
                &format!("/wait?timeout_ms={}", wait.as_millis()),
            )?);
            request.within += wait;
            let answered = self.persist(&request, Twice::Fine, self.patience_for(left));
            let answered = answered.await?;
            let waited = self.parse(&answered, job::read_waited)?;
            if matches!(waited, Waited::Ended(_)) || start.elapsed() >= limit {
                return Ok(waited);
            }
        }
    }

    /// Call a job off: one that waits ends now, one that runs may finish up within the runner's
    /// `runner.cancel_grace`. Gives the state it is in then.
    ///
    /// # Errors
    ///
    /// [`Code::NotFound`](crate::Code::NotFound) when there is none, [`Code::WrongState`](crate::Code::WrongState) when it
    /// ended, and [`Error::Gone`] when it is not known whether it was done.
    pub async fn cancel(&self, id: &str, reason: Option<&str>) -> Result<State, Error> {
        self.act(id, "/cancel", &json!({ "reason": reason })).await
    }

    /// Call a job off, and stop it at once if it runs.
    ///
    /// # Errors
    ///
    /// As [`cancel`](Self::cancel).
    pub async fn kill(&self, id: &str, reason: Option<&str>) -> Result<State, Error> {
        self.act(id, "/kill", &json!({ "reason": reason })).await
    }

    /// Run a waiting job now, or one that ended again, a dead one with fresh attempts.
    ///
    /// # Errors
    ///
    /// As [`cancel`](Self::cancel), with [`Code::WrongState`](crate::Code::WrongState) for a job that runs,
    /// [`Code::Duplicate`](crate::Code::Duplicate) when another unique job has its place by now, and
    /// [`Code::BatchClosed`](crate::Code::BatchClosed) when its batch was called off.
    pub async fn retry(&self, id: &str) -> Result<State, Error> {
        self.act(id, "/retry", &json!({})).await
    }

    /// Have a waiting job wait this long from now on; no attempt is used.
    ///
    /// # Errors
    ///
    /// As [`cancel`](Self::cancel), with [`Code::WrongState`](crate::Code::WrongState) for a job that does not wait.
    pub async fn snooze(&self, id: &str, time: Duration) -> Result<State, Error> {
        self.act(id, "/snooze", &json!({ "for": span(time) })).await
    }

    /// Drop a waiting job.
    ///
    /// # Errors
    ///
    /// As [`cancel`](Self::cancel), with [`Code::WrongState`](crate::Code::WrongState) for a job that does not wait.
    pub async fn discard(&self, id: &str, reason: Option<&str>) -> Result<State, Error> {
        self.act(id, "/discard", &json!({ "reason": reason })).await
    }

    async fn act(&self, id: &str, what: &str, body: &serde_json::Value) -> Result<State, Error> {
        #[derive(Deserialize)]
        struct Changed {
            state: State,
        }
        let request = self.post(&path(id, what)?, body.to_string());
        let changed: Changed = self.json(request, Twice::Never).await?;
        Ok(changed.state)
    }

    pub(crate) fn read(&self, path: &str) -> Request {
        Request {
            method: Method::GET,
            path: path.to_owned(),
            body: None,
            within: self.inner.options.answer_within,
        }
    }

    pub(crate) fn post(&self, path: &str, body: String) -> Request {
        Request {
            method: Method::POST,
            body: Some(Bytes::from(body)),
            ..self.read(path)
        }
    }

    pub(crate) fn patience(&self) -> Patience {
        self.patience_for(self.inner.options.retry_for)
    }

    pub(crate) fn patience_for(&self, time: Duration) -> Patience {
        Patience::new(&self.inner.options, time)
    }

    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        request: Request,
        twice: Twice,
    ) -> Result<T, Error> {
        self.parse_json(&self.ask(&request, twice).await?)
    }

    pub(crate) fn parse_json<T: DeserializeOwned>(&self, answered: &Answered) -> Result<T, Error> {
        let read = |text: &str| serde_json::from_str(text).map_err(|error| error.to_string());
        self.parse(answered, read)
    }

    fn parse<T>(
        &self,
        answered: &Answered,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, Error> {
        read(&answered.text).map_err(|why| self.not_a_runner(answered.status, why))
    }

    pub(crate) fn not_a_runner(&self, status: u16, why: String) -> Error {
        Error::NotARunner {
            address: self.inner.connections.address.to_string(),
            status,
            why,
        }
    }

    async fn ask(&self, request: &Request, twice: Twice) -> Result<Answered, Error> {
        self.persist(request, twice, self.patience()).await
    }

    /// Send a request until it is answered for good, or patience is at its end.
    pub(crate) async fn persist(
        &self,
        request: &Request,
        twice: Twice,
        mut patience: Patience,
    ) -> Result<Answered, Error> {
        let Inner { connections, .. } = &*self.inner;
        let mut may_be_done = false;
        loop {
            patience.tries += 1;
            let (error, again, after) = match connections.exchange(request).await {
                Ok(answer) => match answer::read(answer) {
                    Ok(answered) => return Ok(answered),
                    Err(refusal) => {
                        let again = refusal.passes && (twice == Twice::Fine || refusal.undone);
                        let after = refusal.retry_after;
                        (refusal.error(&connections.address), again, after)
                    }
                },
                Err(failed) => {
                    may_be_done |= failed.sent;
                    let (address, why) = (connections.address.to_string(), failed.why);
                    let tries = patience.tries;
                    let error = match may_be_done {
                        true => Error::Gone {
                            address,
                            why,
                            tries,
                        },
                        false => Error::Unreachable {
                            address,
                            why,
                            tries,
                        },
                    };
                    (error, twice == Twice::Fine || !failed.sent, None)
                }
            };
            if !again || !patience.wait(after).await {
                return Err(error);
            }
        }
    }
}

/// The path of a job. What is no id is not sent: it might lead elsewhere.
pub(crate) fn path(id: &str, rest: &str) -> Result<String, Error> {
    if !is_id(id) {
        return Err(Error::Unusable(format!("{id:?} is no id of a job")));
    }
    Ok(format!("/api/v1/jobs/{id}{rest}"))
}

pub(crate) fn is_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_id_is_not_sent() {
        for wrong in ["", "../queues", "a/b", "a?b", "a b"] {
            assert!(path(wrong, "").is_err(), "{wrong}");
        }
    }
}
