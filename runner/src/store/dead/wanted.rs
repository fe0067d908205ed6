//! What a filter wants, in the index's terms.

use sandhog_model::FailureKind;

use super::{
    index::{Facts, Index, Order},
    names::Name,
    view::DeadFilter,
};

/// A cursor that no list gave, or a filter that fits nothing there can be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadList {
    /// The cursor.
    #[error("{0:?} is no cursor: use the `next` of an earlier page")]
    Cursor(String),
    /// The failure.
    #[error(
        "{0:?} is no kind of failure: use one of {known}, or `trap` for all traps",
        known = known_failures()
    )]
    Failure(String),
    /// The digest.
    #[error("{0:?} is no beginning of a digest: use up to 64 of the characters 0-9 and a-f")]
    Digest(String),
}

fn known_failures() -> String {
    let names: Vec<&str> = FailureKind::ALL.iter().map(|kind| kind.name()).collect();
    names.join(", ")
}

/// A filter, with the numbers of its names. Taken anew for each part: names come with letters.
pub(super) struct Wanted {
    queue: Option<Option<Name>>,
    kind: Option<Option<Name>>,
    digests: Option<Vec<Name>>,
    failures: Option<Vec<FailureKind>>,
    since: Option<u64>,
    until: Option<u64>,
}

impl Wanted {
    pub(super) fn new(filter: &DeadFilter, index: &Index) -> Self {
        let known = |name: &String| index.names.known(name);
        Self {
            queue: filter.queue.as_ref().map(known),
            kind: filter.kind.as_ref().map(known),
            digests: filter
                .digest
                .as_ref()
                .map(|digest| index.names.beginning(&digest.to_ascii_lowercase())),
            failures: filter.failure.as_deref().map(family),
            since: filter.since.map(|at| at.0),
            until: filter.until.map(|at| at.0),
        }
    }

    pub(super) fn fits(&self, order: Order, facts: &Facts) -> bool {
        let died_at = order.died_at().0;
        self.since.is_none_or(|since| died_at >= since)
            && self.until.is_none_or(|until| died_at < until)
            && self.queue.is_none_or(|queue| queue == Some(facts.queue))
            && self.kind.is_none_or(|kind| kind == Some(facts.kind))
            && self
                .digests
                .as_ref()
                .is_none_or(|all| all.contains(&facts.digest))
            && self
                .failures
                .as_ref()
                .is_none_or(|all| facts.failure.is_some_and(|failure| all.contains(&failure)))
    }
}

/// The kinds of failure that a name, or the name of a family, stands for.
fn family(name: &str) -> Vec<FailureKind> {
    let fits = |kind: &FailureKind| {
        let rest = kind.name().strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':') || name.ends_with(':'))
    };
    FailureKind::ALL.into_iter().filter(fits).collect()
}

/// Check what a filter says; the text to look for, in lower case.
pub(super) fn check(filter: &DeadFilter) -> Result<Option<String>, BadList> {
    let short = |text: &str| text.chars().take(64).collect();
    if let Some(failure) = filter
        .failure
        .as_deref()
        .filter(|name| family(name).is_empty())
    {
        return Err(BadList::Failure(short(failure)));
    }
    let is_digest = |text: &str| text.len() <= 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
    if let Some(digest) = filter.digest.as_deref().filter(|digest| !is_digest(digest)) {
        return Err(BadList::Digest(short(digest)));
    }
    let text = filter.text.as_ref().filter(|text| !text.is_empty());
    Ok(text.map(|text| text.to_lowercase()))
}
