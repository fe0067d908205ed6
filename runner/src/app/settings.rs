//! The configuration, as the engine looks things up in it.

use crate::{
    config::Config,
    engine::{KindRule, Settings},
};

/// The operator's settings.
pub(super) struct Operator(pub(super) Config);

impl Settings for Operator {
    fn rule(&self, kind: &str) -> KindRule {
        let defaults = self.0.defaults_for(kind);
        let mut limits = self.0.limits_for(kind);
        // The kind's own wall time comes before the handler's, the general one after it.
        limits.timeout_ms = self.0.limits.timeout.as_millis() as u64;
        KindRule {
            queue: defaults.queue,
            timeout_ms: defaults.timeout_ms,
            retry: defaults.retry,
            limits,
            config: self.0.handler_config(kind),
        }
    }
}
