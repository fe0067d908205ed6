//! Instants as someone at a keyboard writes them.

use sandhog_model::UnixMs;

pub(super) use crate::json::when::{instant, millis, rfc3339, span};

/// Read an instant of the past: a span before now, or an instant.
pub(super) fn past(text: &str) -> Result<UnixMs, String> {
    match span(text) {
        Ok(span) => Ok(UnixMs(
            super::session::wall().0.saturating_sub(millis(span)),
        )),
        Err(_) => instant(text).map_err(|why| format!("{why}; or a span before now such as 2h")),
    }
}
