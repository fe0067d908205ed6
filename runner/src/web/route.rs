//! What a resource is: where it lies, what it takes and gives, and what it does. The router, the checks
//! and the OpenAPI document are all made of this.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use super::{answer::Outcome, call::Call, form::Param, problem::Code, site::Site, token::Role};

/// What a resource does.
pub(super) type Run = fn(Arc<Site>, Call) -> Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Get,
    Post,
    Put,
    Delete,
}

impl Verb {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Put => "put",
            Self::Delete => "delete",
        }
    }
}

/// A resource and one method of it.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) method: Verb,
    /// With `{name}` for what is filled in.
    pub(super) path: &'static str,
    /// What programs call it.
    pub(super) name: &'static str,
    /// What it does, in a line.
    pub(super) says: &'static str,
    /// Who may; `None` when it asks for no token.
    pub(super) role: Option<Role>,
    /// What is filled into the path.
    pub(super) path_params: &'static [Param],
    pub(super) query: &'static [Param],
    pub(super) takes: Takes,
    pub(super) gives: Gives,
    /// What may go wrong, beside what may go wrong everywhere.
    pub(super) may: &'static [Code],
    pub(super) run: Run,
}

/// The body that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    /// JSON of the schema of this name; it may be left out.
    Maybe(&'static str),
    /// JSON of the schema of this name.
    Json(&'static str, Size),
    /// A form of a page.
    Form,
    /// A request of the command line.
    Call,
}

/// What becomes of a request that is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeats {
    /// Nothing more than of the first.
    Same,
    /// Nothing more when it names its wish by `Idempotency-Key`.
    ByName,
    /// The same once more, whatever it is named: what to do instead.
    Anew(&'static str),
}

/// How large a body may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Small,
    /// A job with its payload.
    Job,
    /// Many of them.
    Jobs,
}

/// What it gives when all goes well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gives {
    /// JSON of the schema of this name, with these statuses.
    Json(&'static [u16], &'static str),
    /// Something else: its media type.
    Other(&'static str),
    /// A page for people.
    Page,
    /// What pages are made with.
    Asset,
}

/// Largest small body, in bytes; and what a body with payloads may have beside them.
pub(super) const SMALL: usize = 256 << 10;
/// Most bytes of a body with many jobs, their payloads aside.
const JOBS: usize = 8 << 20;

impl Takes {
    /// Most bytes of the body, given the largest payload of a job. In JSON one may take twice its size.
    pub(super) fn bytes(self, payload: usize) -> usize {
        match self {
            Self::Nothing | Self::Maybe(_) | Self::Json(_, Size::Small) | Self::Form => SMALL,
            Self::Json(_, Size::Job) => SMALL + payload.saturating_mul(2),
            Self::Json(_, Size::Jobs) => JOBS + payload.saturating_mul(2),
            Self::Call => crate::api::FRAME_BYTES,
        }
    }

    /// How long it may take to arrive.
    pub(super) fn time(self) -> Duration {
        Duration::from_secs(match self {
            Self::Nothing | Self::Maybe(_) | Self::Json(_, Size::Small) | Self::Form => 10,
            Self::Json(_, Size::Job) => 20,
            Self::Json(_, Size::Jobs) | Self::Call => 60,
        })
    }

    /// The schema of the body.
    pub(super) fn schema(self) -> Option<&'static str> {
        match self {
            Self::Maybe(schema) | Self::Json(schema, _) => Some(schema),
            Self::Nothing | Self::Form | Self::Call => None,
        }
    }
}

const fn route(
    method: Verb,
    role: Option<Role>,
    path: &'static str,
    name: &'static str,
    says: &'static str,
    gives: Gives,
    run: Run,
) -> Route {
    Route {
        method,
        path,
        name,
        says,
        role,
        path_params: &[],
        query: &[],
        takes: Takes::Nothing,
        gives,
        may: &[],
        run,
    }
}

impl Route {
    /// One that only looks.
    pub(super) const fn get(
        path: &'static str,
        name: &'static str,
        says: &'static str,
        gives: Gives,
        run: Run,
    ) -> Self {
        route(Verb::Get, Some(Role::Viewer), path, name, says, gives, run)
    }

    /// One that changes something, and takes a body if it is asked to.
    pub(super) const fn write(
        (method, role): (Verb, Role),
        path: &'static str,
        name: &'static str,
        says: &'static str,
        gives: Gives,
        run: Run,
    ) -> Self {
        route(method, Some(role), path, name, says, gives, run)
    }

    /// For everyone who reaches the address.
    pub(super) const fn open(mut self) -> Self {
        self.role = None;
        self
    }

    /// What becomes of it when it is sent again.
    pub(super) fn repeats(&self) -> Repeats {
        let each = "give each job an `idempotency_key` of its own, and leave the header out";
        match (self.takes, self.name) {
            (Takes::Json("NewJob", _), _) => Repeats::ByName,
            (Takes::Json("NewJobs", _), _) => Repeats::Anew(each),
            (Takes::Json("NewBatch", _), _) => Repeats::Anew(
                "leave it out; a batch that was opened twice stays empty, and `batch cancel` or \
                 `/api/v1/batches/{id}/cancel` ends it",
            ),
            (_, "triggerSchedule") => {
                Repeats::Anew("leave it out; `/api/v1/jobs?cron=NAME` lists the jobs there are")
            }
            _ => Repeats::Same,
        }
    }

    pub(super) const fn at(mut self, params: &'static [Param]) -> Self {
        self.path_params = params;
        self
    }

    pub(super) const fn query(mut self, params: &'static [Param]) -> Self {
        self.query = params;
        self
    }

    pub(super) const fn takes(mut self, takes: Takes) -> Self {
        self.takes = takes;
        self
    }

    pub(super) const fn may(mut self, codes: &'static [Code]) -> Self {
        self.may = codes;
        self
    }
}

/// An async function as what a resource does.
macro_rules! run {
    ($run:path) => {
        |site, call| Box::pin($run(site, call))
    };
}
pub(super) use run;
