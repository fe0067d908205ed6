//! What can be asked of batches, and what is answered.

use sandhog_model::{JobId, Link};
use serde::{Deserialize, Serialize};

use crate::store::{BatchRow, Page, PageRequest};

/// A request about batches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum BatchRequest {
    /// Open one.
    Open(Box<NewBatch>),
    /// One of them.
    Show {
        /// Which.
        id: JobId,
    },
    /// All of them, newest first.
    List {
        /// Which part.
        page: PageRequest,
    },
    /// Take in no more jobs from outside.
    Seal {
        /// Which.
        id: JobId,
    },
    /// Call one off: what waits in it ends, what runs is asked to, and no more is taken in.
    Cancel {
        /// Which.
        id: JobId,
        /// Who asks, as they call themselves.
        by: String,
        /// Why.
        reason: Option<String>,
    },
}

/// A batch someone wishes to open.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NewBatch {
    /// What it is, for people.
    pub name: Option<String>,
    /// What follows when all of its jobs completed. A payload is JSON.
    pub on_success: Option<Link>,
    /// What follows when all of its jobs ended, however. A payload is JSON.
    pub on_complete: Option<Link>,
}

/// An answer about batches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum BatchResponse {
    /// The batch.
    One(Box<BatchRow>),
    /// The batch, as it is after a change. Durable.
    Changed {
        /// The batch.
        row: Box<BatchRow>,
        /// Whether it was otherwise before.
        is_new: bool,
    },
    /// Batches.
    Page(Page<BatchRow>),
}
