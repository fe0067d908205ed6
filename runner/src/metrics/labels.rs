//! Labels. The values of each are bounded in number and length, whatever jobs are called.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    sync::{PoisonError, RwLock},
};

use prometheus_client::encoding::{EncodeLabel, EncodeLabelSet, LabelSetEncoder};

/// What stands for all names without a label of their own.
const OTHER: &str = "other";
/// Most names that come to have a label by being seen.
const MOST: usize = 200;

/// One label with its value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct One(&'static str, Cow<'static, str>);

impl One {
    pub(super) const fn new(name: &'static str, value: Cow<'static, str>) -> Self {
        Self(name, value)
    }

    /// `state`
    #[must_use]
    pub const fn state(name: &'static str) -> Self {
        Self::new("state", Cow::Borrowed(name))
    }

    /// `reason`
    #[must_use]
    pub const fn reason(name: &'static str) -> Self {
        Self::new("reason", Cow::Borrowed(name))
    }

    /// `outcome`
    #[must_use]
    pub const fn outcome(name: &'static str) -> Self {
        Self::new("outcome", Cow::Borrowed(name))
    }

    /// `failure`
    #[must_use]
    pub const fn failure(name: Cow<'static, str>) -> Self {
        Self::new("failure", name)
    }

    /// `capability`
    #[must_use]
    pub const fn capability(name: &'static str) -> Self {
        Self::new("capability", Cow::Borrowed(name))
    }
}

impl EncodeLabelSet for One {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> Result<(), std::fmt::Error> {
        (self.0, &*self.1).encode(encoder.encode_label())
    }
}

/// Names that have a label of their own.
#[derive(Debug, Default)]
pub struct Names(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    names: BTreeSet<String>,
    /// Only those that were named.
    is_closed: bool,
}

impl Names {
    /// From now on these names alone, and those that had one before.
    pub fn only<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.names.extend(names.into_iter().map(str::to_owned));
        known.is_closed = true;
    }

    /// The value for a name: itself, or `other`.
    #[must_use]
    pub fn value(&self, name: &str) -> Cow<'static, str> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if known.names.contains(name) {
            return Cow::Owned(name.to_owned());
        }
        if known.is_closed || known.names.len() >= MOST {
            return Cow::Borrowed(OTHER);
        }
        drop(known);
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.names.insert(name.to_owned());
        Cow::Owned(name.to_owned())
    }

    /// The label `queue` of a queue.
    #[must_use]
    pub fn queue(&self, name: &str) -> One {
        One::new("queue", self.value(name))
    }

    /// The label `kind` of a kind.
    #[must_use]
    pub fn kind(&self, name: &str) -> One {
        One::new("kind", self.value(name))
    }
}
