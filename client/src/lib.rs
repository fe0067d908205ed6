//! Enqueue Sandhog jobs from Rust and wait for their results.
//!
//! A complete program: one job, a job that must not be there twice, many at once, and a result.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use sandhog_client::{Client, Code, Error, NewJob, Options, Token, Unique, Waited};
//! use serde::{Deserialize, Serialize};
//!
//! /// What the handler `order.charge` takes, as JSON.
//! #[derive(Serialize)]
//! struct Order {
//!     id: u32,
//!     items: Vec<u32>,
//! }
//!
//! /// What it gives.
//! #[derive(Deserialize)]
//! struct Receipt {
//!     total: u32,
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let client = Client::with(Options {
//!         token: Some(Token::from_file("sandhog-token")?),
//!         ..Options::new("https://jobs.example.com")
//!     })?;
//!
//!     // On disk when this returns. However often it had to be sent, it is one job.
//!     let order = Order { id: 17, items: vec![250, 999] };
//!     let job = NewJob::new("order.charge", &order).queue("orders").tag("shop");
//!     let charge = client.enqueue(&job).await?.id;
//!
//!     // One report a customer at a time; whoever asks while one waits gets that one.
//!     let report = NewJob::new("report", 4711).unique(Unique::payload().keep());
//!     match client.enqueue(&report).await {
//!         Ok(enqueued) => println!("{} existing={}", enqueued.id, enqueued.existing),
//!         Err(Error::Refused(problem)) if problem.code == Code::QueueFull => {
//!             println!("the queue is full, for as long as we tried: {problem}");
//!         }
//!         Err(error) => return Err(error.into()),
//!     }
//!
//!     // Each is answered for itself.
//!     let mails: Vec<NewJob> = (1..=1000)
//!         .map(|customer| NewJob::new("mail", customer).delay(Duration::from_secs(60)))
//!         .collect();
//!     for (mail, answer) in client.enqueue_many(&mails).await.into_iter().enumerate() {
//!         if let Err(error) = answer {
//!             eprintln!("mail {mail}: {error}");
//!         }
//!     }
//!
//!     match client.wait(&charge, Duration::from_secs(60)).await? {
//!         Waited::Ended(job) => match job.result {
//!             Some(result) => println!("charged {}", result.json::<Receipt>()?.total),
//!             None => println!("{}: {:?}", job.state, job.failure),
//!         },
//!         Waited::NotYet(waiting) => {
//!             println!("still {}, called off", waiting.state);
//!             client.cancel(&charge, Some("took too long")).await?;
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # Looking around
//!
//! [`Client::list`] walks over jobs by what they are, a page at a time, while others come and go; [`Client::logs`] gives
//! what an attempt logged and printed.
//!
//! # Batches
//!
//! [`Client::open_batch`] opens a batch, [`Client::enqueue_into`] puts jobs in, and [`Client::seal_batch`] says that no
//! more come; what [`NewBatch`] says follows then, and [`Client::wait_for_batch`] waits for the end of its jobs.
//!
//! # What is sent again
//!
//! A request that got no answer, and one that was answered with 429, 502, 503 or 504, is sent again after a wait that
//! grows and is drawn by chance, as long as [`Options::retry_for`] lets; a `Retry-After` is obeyed. Every enqueue
//! carries an idempotency key, one of its own unless [`NewJob::idempotency_key`] gave it one, so that it is one job
//! however often it was sent. What is not the same when done twice ([`Client::cancel`], [`Client::retry`] and the
//! like, [`Client::open_batch`]) is sent again only when nothing was done for certain; otherwise the error is [`Error::Gone`].
//!
//! A key is made for each call. To enqueue the same wish again after an error, or after a crash of your own program,
//! without making two jobs, give it a key yourself: the number of the order, say.
//!
//! # TLS
//!
//! `https` is spoken with rustls (its provider is `ring`) and checked against the certificate authorities of the
//! system and of [`Options::ca_file`]; no setting turns the check off. Without TLS a token is sent to this machine
//! only, unless [`Options::token_in_the_open`] says otherwise. Redirects are not followed, so that a token goes
//! nowhere else. There is no proxy support: a runner is close by.
//!
//! # Runtime
//!
//! Async, on tokio with its time and IO enabled. A [`Client`] is cheap to clone and keeps connections for the
//! next call.

mod address;
mod answer;
mod batch;
mod client;
mod code;
mod connection;
mod error;
mod job;
mod list;
mod logs;
mod many;
mod new_batch;
mod new_job;
mod options;
mod pages;
mod patience;
mod tls;
mod token;
mod unique;

pub use batch::{Batch, BatchJobs, BatchStatus, BatchWaited, CalledOff, Follows};
pub use client::Client;
pub use code::Code;
pub use error::{Error, Problem};
pub use job::{Body, Enqueued, Failure, Job, JobRow, Progress, State, Waited, Waiting};
pub use list::JobFilter;
pub use logs::{LogLevel, LogLine, LogSource, Logs};
pub use new_batch::NewBatch;
pub use new_job::NewJob;
pub use options::Options;
pub use pages::Pages;
pub use token::{Token, TokenError};
pub use unique::{Unique, While};
