//! What a log cannot be.

use core::fmt;

use crate::{event::RecordAt, id::JobId};

/// An event that no sound log can contain here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsound {
    /// The job.
    pub id: JobId,
    /// What is wrong, for a person.
    pub why: &'static str,
}

/// Records that a log needs and that are not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRecords {
    /// They lay before this place.
    pub before: RecordAt,
    /// A job they were about, when one is known.
    pub job: Option<JobId>,
}

impl fmt::Display for MissingRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the segments before it are missing, and nothing says that they may be")?;
        match self.job {
            Some(job) => write!(f, "; they hold job {job}"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for MissingRecords {}

impl fmt::Display for Unsound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the record about job {} cannot be: {}",
            self.id, self.why
        )
    }
}

impl core::error::Error for Unsound {}
