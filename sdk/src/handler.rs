//! A handler as the macros describe it, and the choice among several.

use crate::{Bytes, Context, Error};

/// One kind of job and what its author proposes for it.
#[derive(Debug)]
pub struct Kind {
    pub kind: &'static str,
    pub summary: Option<&'static str>,
    pub timeout_ms: Option<u64>,
    pub max_attempts: Option<u32>,
    pub trap_attempts: Option<u32>,
    pub backoff: Option<&'static str>,
    pub queue: Option<&'static str>,
    pub content_type: Option<&'static str>,
}

/// Implemented by the hidden type beside each function with `#[job]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no handler",
    note = "put `#[sandhog_sdk::job]` on the function"
)]
pub trait Handler {
    const KIND: Kind;

    fn run(payload: Bytes, context: &Context) -> Result<Bytes, Error>;
}

/// One handler of a component.
#[derive(Debug)]
pub struct Entry {
    pub(crate) kind: Kind,
    pub(crate) run: fn(Bytes, &Context) -> Result<Bytes, Error>,
}

pub const fn entry<H: Handler>() -> Entry {
    Entry {
        kind: H::KIND,
        run: H::run,
    }
}

/// Stops the build when two handlers have the same kind.
pub const fn assert_distinct(entries: &[Entry]) {
    let mut i = 0;
    while i < entries.len() {
        let mut j = 0;
        while j < i {
            assert!(
                !same(
                    entries[i].kind.kind.as_bytes(),
                    entries[j].kind.kind.as_bytes()
                ),
                "two handlers of this export have the same kind"
            );
            j += 1;
        }
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
    use super::{Entry, Handler, Kind, assert_distinct, dispatch, entry};
    use crate::testing::FakeContext;
    use crate::{Bytes, Context, Error};

    struct Upper;

    impl Handler for Upper {
        const KIND: Kind = Kind {
            kind: "upper",
            summary: None,
            timeout_ms: None,
            max_attempts: None,
            trap_attempts: None,
            backoff: None,
            queue: None,
            content_type: None,
        };

        fn run(payload: Bytes, _: &Context) -> Result<Bytes, Error> {
            Ok(Bytes::new("text/plain", payload.bytes.to_ascii_uppercase()))
        }
    }

    const ENTRIES: &[Entry] = &[entry::<Upper>()];

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
        assert_distinct(&[entry::<Upper>(), entry::<Upper>()]);
    }
}
