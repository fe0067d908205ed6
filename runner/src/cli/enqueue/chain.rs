//! The jobs that follow one another.

use sandhog_model::Link;

use super::payload::by_text;

/// Read one of the command line: `KIND` or `KIND=PAYLOAD`.
pub(in crate::cli) fn link(text: &str) -> Result<Link, String> {
    let (kind, payload) = match text.split_once('=') {
        Some((kind, payload)) => (kind, Some(payload)),
        None => (text, None),
    };
    if kind.is_empty() {
        return Err("write KIND or KIND=PAYLOAD".into());
    }
    Ok(Link {
        kind: kind.into(),
        payload: payload.map(|text| text.as_bytes().to_vec()),
        content_type: payload.map(|text| by_text(text).0.into()),
        ..Link::default()
    })
}
