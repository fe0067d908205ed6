//! A handler as the macros describe it, and the choice among several.

use crate::{Bytes, Context, Error};

/// One kind of job and what its author proposes for it.
#[derive(Debug)]
pub struct Kind {
    /// Its name.
    pub kind: &'static str,
    /// One line for a person.
    pub summary: Option<&'static str>,
    /// Wall time of one attempt, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Attempts in all.
    pub max_attempts: Option<u32>,
    /// Attempts when the handler traps each time.
    pub trap_attempts: Option<u32>,
    /// The wait between attempts, as a text.
    pub backoff: Option<&'static str>,
    /// The queue of jobs that name none.
    pub queue: Option<&'static str>,
    /// Media type of the payload.
    pub content_type: Option<&'static str>,
}

impl Kind {
    /// A kind of which nothing is said but its name.
    pub const fn named(kind: &'static str) -> Self {
        Self {
            kind,
            summary: None,
            timeout_ms: None,
            max_attempts: None,
            trap_attempts: None,
            backoff: None,
            queue: None,
            content_type: None,
        }
    }
}

/// Implemented by the hidden type beside each function with `#[job]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no handler",
    label = "no function with `#[sandhog_sdk::job]`",
    note = "name the function that carries `#[sandhog_sdk::job]`, or put the attribute on it"
)]
pub trait Handler {
    /// Its kind.
    const KIND: Kind;

    /// The handler as one of its component's.
    const ENTRY: Entry = Entry {
        kind: Self::KIND,
        run: Self::run,
    };

    /// Runs one attempt from payload to payload.
    fn run(payload: Bytes, context: &Context) -> Result<Bytes, Error>;
}

/// One handler of a component.
#[derive(Debug)]
pub struct Entry {
    pub(crate) kind: Kind,
    pub(crate) run: fn(Bytes, &Context) -> Result<Bytes, Error>,
}

/// Stops the build when an earlier handler has the same kind as the one at this place.
#[track_caller]
pub const fn assert_new(entries: &[Entry], at: usize) {
    let mut i = 0;
    while i < at {
        assert!(
            !same(
                entries[i].kind.kind.as_bytes(),
                entries[at].kind.kind.as_bytes()
            ),
            "an earlier handler has the same kind: give this one its own by `kind = \"..\"`"
        );
        i += 1;
    }
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Runs the handler of the job's kind.
pub fn dispatch(entries: &[Entry], payload: Bytes, context: &Context) -> Result<Bytes, Error> {
    match entries
        .iter()
        .find(|entry| entry.kind.kind == context.kind())
    {
        Some(entry) => (entry.run)(payload, context),
        None => {
            let known: Vec<&str> = entries.iter().map(|entry| entry.kind.kind).collect();
            Err(Error::permanent(format!(
                "this component has no kind `{}`; it has {}",
                context.kind(),
                known.join(", ")
            ))
            .with_code("unknown-kind"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Handler, Kind, assert_new, dispatch};
    use crate::testing::FakeContext;
    use crate::{Bytes, Context, Error};

    struct Upper;

    impl Handler for Upper {
        const KIND: Kind = Kind::named("upper");

        fn run(payload: Bytes, _: &Context) -> Result<Bytes, Error> {
            Ok(Bytes::new("text/plain", payload.bytes.to_ascii_uppercase()))
        }
    }

    const ENTRIES: &[Entry] = &[Upper::ENTRY];

    #[test]
    fn the_kind_chooses_the_handler() {
        let ctx = FakeContext::new().with_kind("upper");
        let out = dispatch(ENTRIES, Bytes::new("text/plain", "abc"), &ctx);
        assert_eq!(out, Ok(Bytes::new("text/plain", "ABC")));
    }

    #[test]
    fn an_unknown_kind_is_permanent_and_names_the_known() {
        let ctx = FakeContext::new().with_kind("lower");
        let error = dispatch(ENTRIES, Bytes::default(), &ctx).unwrap_err();
        assert!(error.is_permanent());
        assert_eq!(error.code(), "unknown-kind");
        assert_eq!(
            error.message(),
            "this component has no kind `lower`; it has upper"
        );
    }

    #[test]
    #[should_panic(expected = "same kind")]
    fn one_kind_twice_is_refused() {
        let twice = [Upper::ENTRY, Upper::ENTRY];
        assert_new(&twice, 0);
        assert_new(&twice, 1);
    }
}
