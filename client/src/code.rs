//! The stable codes of the runner's problems.

use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])+ $variant:ident, $name:literal;)+) => {
        /// The stable code of a problem. Each has a page in the runner's `docs/errors`.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[$doc])+ $variant,)+
            /// One that this version does not know.
            Unknown(String),
        }

        impl Code {
            /// Every one that is known.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// As the runner writes it.
            #[must_use]
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant => $name,)+
                    Self::Unknown(name) => name,
                }
            }

            pub(crate) fn of(name: &str) -> Self {
                match name {
                    $($name => Self::$variant,)+
                    name => Self::Unknown(name.to_owned()),
                }
            }
        }
    };
}

codes! {
    /// The request cannot be read.
    BadRequest, "bad-request";
    /// A token is needed, or the one that was sent is not known.
    Unauthorized, "unauthorized";
    /// The token's role is not enough.
    Forbidden, "forbidden";
    /// A page of another site asks.
    ForeignOrigin, "foreign-origin";
    /// There is none of that name.
    NotFound, "not-found";
    /// Nothing is at this path: an older runner, or none.
    NoSuchPath, "no-such-path";
    /// The resource does not know this method.
    MethodNotAllowed, "method-not-allowed";
    /// The request did not arrive in time.
    Timeout, "timeout";
    /// The job's state does not allow it.
    WrongState, "wrong-state";
    /// A unique job stands in the way.
    Duplicate, "duplicate";
    /// The batch takes nothing in: it is sealed or was called off.
    BatchClosed, "batch-closed";
    /// It is not what was meant any more.
    Changed, "changed";
    /// The body is too large.
    TooLarge, "too-large";
    /// The address is too long.
    UriTooLong, "uri-too-long";
    /// The body is of another type.
    UnsupportedMediaType, "unsupported-media-type";
    /// The runner is not known by this name: add it to its `http.hosts`.
    Misdirected, "misdirected";
    /// A value is out of its range; the detail names it and what is allowed.
    Invalid, "invalid";
    /// The queue takes nothing in.
    QueueFull, "queue-full";
    /// The headers are too large.
    HeadersTooLarge, "headers-too-large";
    /// The runner has a fault.
    Internal, "internal";
    /// A record on disk cannot be read.
    Damaged, "damaged";
    /// No runner is up to do it.
    NoRunner, "no-runner";
    /// Too much is under way.
    Busy, "busy";
    /// The store failed and takes nothing more.
    Poisoned, "poisoned";
    /// The runner is stopping.
    Stopping, "stopping";
    /// The disk is full.
    Full, "full";
}

impl Code {
    /// Whether the same wish may be taken a while later.
    pub(crate) fn passes(&self) -> bool {
        match self {
            Self::QueueFull | Self::NoRunner | Self::Busy | Self::Poisoned | Self::Stopping => true,
            Self::BadRequest
            | Self::Unauthorized
            | Self::Forbidden
            | Self::ForeignOrigin
            | Self::NotFound
            | Self::NoSuchPath
            | Self::MethodNotAllowed
            | Self::Timeout
            | Self::WrongState
            | Self::Duplicate
            | Self::BatchClosed
            | Self::Changed
            | Self::TooLarge
            | Self::UriTooLong
            | Self::UnsupportedMediaType
            | Self::Misdirected
            | Self::Invalid
            | Self::HeadersTooLarge
            | Self::Internal
            | Self::Damaged
            | Self::Full
            | Self::Unknown(_) => false,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    #[test]
    fn the_codes_are_those_of_the_runners_pages() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/errors");
        let pages: BTreeSet<String> = fs::read_dir(folder)
            .unwrap()
            .map(|page| page.unwrap().file_name().into_string().unwrap())
            .collect();
        let known = Code::ALL.iter().map(|code| format!("{}.md", code.name()));
        assert_eq!(pages, known.collect());
        for code in Code::ALL {
            assert_eq!(&Code::of(code.name()), code);
        }
    }
}
