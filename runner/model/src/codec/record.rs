//! A record's bytes: a [head](super::head) of fixed fields, then [the rest](super::rest) as
//! MessagePack.
//!
//! Records of formats 1 and 2 are MessagePack as a whole; their first byte is no kind of a head.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

use serde::{Deserialize, Serialize};

use super::{
    fields::Lost,
    head, parts,
    rest::{self, Rest},
};
use crate::{
    event::Record,
    fact::{Accepted, Fact, Slim},
    job::Job,
    limits::BODY_BYTES,
};

/// How deep values may lie in each other. A record needs under a dozen; a depth of its own keeps the stack
/// of whoever reads a damaged file small.
const DEPTH: usize = 32;
/// What a record of format 1 or 2 begins with: an array of two values.
const WHOLE: u8 = 0x92;

/// Bytes that are no record, or a record that cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadRecord {
    /// Longer than a frame's body may be.
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// Not what a record looks like.
    Unreadable {
        /// What the reader met, for a person.
        why: String,
    },
}

impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { length } => {
                write!(
                    f,
                    "a record of {length} bytes: at most {BODY_BYTES} are kept"
                )
            }
            Self::Unreadable { why } => write!(f, "not a record: {why}"),
        }
    }
}

impl core::error::Error for BadRecord {}

impl From<Lost> for BadRecord {
    fn from(Lost(why): Lost) -> Self {
        let why = why.to_string();
        Self::Unreadable { why }
    }
}

/// Append a record's bytes to `out`.
///
/// # Errors
/// The record is longer than a frame's body may be; `out` is unchanged.
pub fn encode_record(record: &Record, out: &mut Vec<u8>) -> Result<(), BadRecord> {
    bounded(out, |out| {
        put(&Slim::from(record), &Rest::from(&record.event), out)
    })
}

/// Append the bytes of the record that accepts a job; the first of that job.
///
/// # Errors
/// As [`encode_record`].
pub fn encode_job(job: &Job, out: &mut Vec<u8>) -> Result<(), BadRecord> {
    let slim = Slim {
        previous: None,
        fact: Fact::Enqueued(Accepted::from(job)),
    };
    bounded(out, |out| put(&slim, &Rest::Enqueued(job.into()), out))
}

fn bounded(
    out: &mut Vec<u8>,
    put: impl FnOnce(&mut Vec<u8>) -> Result<(), BadRecord>,
) -> Result<(), BadRecord> {
    let start = out.len();
    let written = put(out).and_then(|()| {
        let length = out.len() - start;
        if length > BODY_BYTES {
            return Err(BadRecord::TooLong { length });
        }
        Ok(())
    });
    if written.is_err() {
        out.truncate(start);
    }
    written
}

fn put(slim: &Slim<'_>, rest: &Rest<'_>, out: &mut Vec<u8>) -> Result<(), BadRecord> {
    head::put(slim, out)?;
    match rest {
        Rest::Nothing => Ok(()),
        Rest::Checkpointed(bytes) => {
            out.extend_from_slice(bytes);
            Ok(())
        }
        Rest::Enqueued(job) => write(job, out),
        Rest::Settled(settled) => write(settled, out),
        Rest::Buried(attempt) => write(*attempt, out),
        Rest::Carried(carried) => write(carried, out),
        Rest::Cancelled(cancel) => write(cancel, out),
        Rest::Dropped(reason) => write(reason, out),
        Rest::Jobs(jobs) => write(jobs, out),
    }
}

fn write<T: Serialize>(value: &T, out: &mut Vec<u8>) -> Result<(), BadRecord> {
    rmp_serde::encode::write(out, value).map_err(|error| BadRecord::Unreadable {
        why: error.to_string(),
    })
}

/// The record that `bytes` begin with, of any format. The frame's checksum vouches for their end.
///
/// # Errors
/// They are no record.
pub fn decode_record(bytes: &[u8]) -> Result<Record, BadRecord> {
    within(bytes)?;
    if bytes.first() == Some(&WHOLE) {
        return read(bytes);
    }
    head::with(bytes, |slim, rest| {
        let record = Record {
            previous: slim.previous,
            event: rest::join(slim.fact.clone(), rest)?,
        };
        if Slim::from(&record) != *slim {
            return Err(Lost("its head says otherwise than what follows it").into());
        }
        Ok(record)
    })?
}

/// Hand on what the ledger needs of the record that `bytes` begin with, of any format. What comes after a head is not
/// looked at, so less is found wrong than by [`decode_record`].
///
/// # Errors
/// They are no record, and nothing is handed on.
#[inline]
pub fn with_slim<T>(bytes: &[u8], to: impl FnOnce(&Slim<'_>) -> T) -> Result<T, BadRecord> {
    within(bytes)?;
    if bytes.first() == Some(&WHOLE) {
        let record: Record = read(bytes)?;
        return Ok(to(&Slim::from(&record)));
    }
    Ok(head::with(bytes, |slim, _| to(slim))?)
}

/// What a record says of a job that it accepts, when no record of it comes before: what has a fixed place, and the
/// bytes of its names and of what only few jobs say. `None` for every other record, and for what is none.
#[inline]
pub(crate) fn first_job(bytes: &[u8]) -> Option<(parts::Fixed, &[u8])> {
    within(bytes).ok()?;
    parts::split_job(head::of_first(bytes)?)
}

/// The names of a job's kind and queue, when nothing comes after them.
pub(crate) fn sole_names(bytes: &[u8]) -> Option<[&str; 2]> {
    parts::sole_names(bytes)
}

/// As much of a record as [`with_slim`] reads, for whoever gathers it. Of bytes that are no record it may
/// be anything.
#[inline]
#[must_use]
pub fn slim_part(bytes: &[u8]) -> &[u8] {
    if bytes.first() == Some(&WHOLE) {
        return bytes;
    }
    head::extent(bytes)
}

fn within(bytes: &[u8]) -> Result<(), BadRecord> {
    if bytes.len() > BODY_BYTES {
        let length = bytes.len();
        return Err(BadRecord::TooLong { length });
    }
    Ok(())
}

/// A value in MessagePack.
pub(super) fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, BadRecord> {
    let mut reader = rmp_serde::Deserializer::from_read_ref(bytes);
    reader.set_max_depth(DEPTH);
    T::deserialize(&mut reader).map_err(|error| BadRecord::Unreadable {
        why: error.to_string(),
    })
}

#[cfg(test)]
mod tests;
