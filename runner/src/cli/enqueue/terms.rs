//! What a job says beside its payload.

use std::time::Duration;

use clap::Args;
use sandhog_model::{
    Backoff, JobId, Link, NewJob, NewUnique, OnConflict, RetryPolicy, Scope, UniqueBy, UnixMs,
};

use super::chain;
use crate::{
    cli::{exit::Fault, exit::Outcome, session::wall, when},
    json::new_job::scope_of,
};

/// What a job says beside its payload. With --bulk these hold for lines that do not say it.
#[derive(Debug, Args)]
pub(super) struct Terms {
    /// The queue [default: what the operator or the handler says of the kind]
    #[arg(long)]
    queue: Option<String>,
    /// Higher runs first within a queue [default: 0]
    #[arg(long, allow_negative_numbers = true)]
    priority: Option<i16>,
    /// Attempts in all, 1 to 1000
    #[arg(long, value_name = "N", value_parser = attempts)]
    max_attempts: Option<u32>,
    /// The wait between attempts, such as "exponential 1s max 1h"
    #[arg(long)]
    backoff: Option<Backoff>,
    /// Wall time of one attempt
    #[arg(long, value_name = "TIME", value_parser = when::span)]
    attempt_timeout: Option<Duration>,
    /// How long it may go on failing, from its first failure on
    #[arg(long, value_name = "TIME", value_parser = when::span)]
    retry_for: Option<Duration>,
    /// Not to be begun once this time has passed: then it expires
    #[arg(long, value_name = "TIME", value_parser = when::span, conflicts_with = "expires_at")]
    expires_in: Option<Duration>,
    /// Not to be begun from this instant on
    #[arg(long, value_name = "INSTANT", value_parser = when::instant)]
    expires_at: Option<UnixMs>,
    /// Whom it takes turns with in its queue, and shares limits with, such as a customer
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// A word to find it by; may be given several times
    #[arg(long = "tag", value_name = "WORD")]
    tags: Vec<String>,
    #[command(flatten)]
    unique: Unique,
    /// A name for this wish: told again, it gives the same job, as long as that is known
    #[arg(long, value_name = "TEXT")]
    idempotency_key: Option<String>,
    /// The batch it belongs to, as long as that is open
    #[arg(long, value_name = "ID")]
    batch: Option<JobId>,
    /// The job that follows when this one completes, with this payload or with the result of the one before; given
    /// several times, they follow each other
    #[arg(long, value_name = "KIND[=PAYLOAD]", value_parser = chain::link)]
    then: Vec<Link>,
}

/// What it must not be twice.
#[derive(Debug, Args)]
struct Unique {
    /// Not to be there twice: no other job of its kind with the same payload
    #[arg(long, conflicts_with_all = ["unique_by", "unique_key"])]
    unique: bool,
    /// The same, by these fields of its JSON payload, with commas in between
    #[arg(
        long,
        value_name = "FIELDS",
        value_delimiter = ',',
        conflicts_with = "unique_key"
    )]
    unique_by: Option<Vec<String>>,
    /// The same, by this text
    #[arg(long, value_name = "TEXT")]
    unique_key: Option<String>,
    /// For how long at most it stands in the way of others [default: as long as its state says]
    #[arg(long, value_name = "TIME", value_parser = when::span)]
    unique_for: Option<Duration>,
    /// In which states it does [default: unfinished; waiting,retryable with replace and debounce]
    #[arg(long, value_name = "STATES")]
    unique_while: Option<Scope>,
    /// When another one is in its way: reject, keep (that one is the answer), replace, debounce
    #[arg(long, value_name = "WHAT")]
    on_conflict: Option<OnConflict>,
}

fn attempts(text: &str) -> Result<u32, String> {
    let attempts = text.parse().ok().filter(|count| (1..=1000).contains(count));
    attempts.ok_or_else(|| "allowed is from 1 to 1000".into())
}

impl Terms {
    pub(super) fn job(&self, kind: String) -> Outcome<NewJob> {
        let in_ms = |span: Duration| wall().plus(when::millis(span));
        Ok(NewJob {
            kind,
            queue: self.queue.clone(),
            priority: self.priority,
            retry: RetryPolicy {
                max_attempts: self.max_attempts,
                trap_attempts: None,
                backoff: self.backoff.clone(),
            },
            timeout_ms: self.attempt_timeout.map(when::millis),
            retry_for_ms: self.retry_for.map(when::millis),
            expires: self.expires_at.or(self.expires_in.map(in_ms)),
            group: self.group.clone(),
            tags: self.tags.clone(),
            unique: self.unique.wish()?,
            idempotency_key: self.idempotency_key.clone(),
            then: self.then.clone(),
            batch: self.batch,
            ..NewJob::default()
        })
    }
}

impl Unique {
    fn wish(&self) -> Outcome<Option<NewUnique>> {
        let by = match (&self.unique_by, &self.unique_key) {
            (Some(fields), _) => UniqueBy::Fields(fields.clone()),
            (None, Some(text)) => UniqueBy::Key(text.clone()),
            (None, None) if self.unique => UniqueBy::Payload,
            (None, None) => {
                let asks_more = self.unique_for.is_some()
                    || self.unique_while.is_some()
                    || self.on_conflict.is_some();
                if asks_more {
                    return Err(Fault::usage(
                        "--unique-for, --unique-while and --on-conflict go with --unique, --unique-by or \
                         --unique-key",
                    ));
                }
                return Ok(None);
            }
        };
        let on_conflict = self.on_conflict.unwrap_or_default();
        Ok(Some(NewUnique {
            by,
            period_ms: self.unique_for.map(when::millis),
            scope: self.unique_while.unwrap_or(scope_of(on_conflict)),
            on_conflict,
        }))
    }
}
