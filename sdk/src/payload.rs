//! What goes into a handler and what comes out: JSON through serde, or bytes as they are.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;

/// Media type of what serde writes.
pub(crate) const JSON: &str = "application/json";

/// Bytes as they are, with their media type. As a handler's input: the payload unread. As its
/// output or a new job's payload: written unchanged.
///
/// A plain `Vec<u8>` or `String` is a JSON array or string, as in any other place serde is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Media type, such as `image/png`.
    pub content_type: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Bytes {
    /// Bytes of the given media type.
    pub fn new(content_type: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            content_type: content_type.into(),
            bytes: bytes.into(),
        }
    }
}

/// What a handler can take: [`Bytes`], or anything serde can read from JSON.
#[diagnostic::on_unimplemented(
    message = "a handler cannot take `{Self}`",
    label = "neither `Bytes` nor readable by serde",
    note = "put `#[derive(serde::Deserialize)]` on it, or take `sandhog_sdk::Bytes` for the payload as it is"
)]
pub trait Input: Sized {
    /// Reads the payload. A payload that does not fit is a permanent failure: it will not change.
    fn read(payload: Bytes) -> Result<Self, Error>;
}

// `Bytes` must never gain serde's traits: the implementations below would overlap.
impl Input for Bytes {
    fn read(payload: Bytes) -> Result<Self, Error> {
        Ok(payload)
    }
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned> Input for T {
    fn read(payload: Bytes) -> Result<Self, Error> {
        // No payload at all is JSON's nothing, so that `()` and `Option` can be asked for.
        let text: &[u8] = if payload.bytes.is_empty() {
            b"null"
        } else {
            &payload.bytes
        };
        let mut json = serde_json::Deserializer::from_slice(text);
        let input = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let path = error.path().to_string();
            bad_input(&payload, error.inner(), &path)
        })?;
        json.end()
            .map_err(|error| bad_input(&payload, &error, "."))?;
        Ok(input)
    }
}

/// `path` is serde's, such as `items[2].price`; `.` stands for the whole.
fn bad_input(payload: &Bytes, error: &serde_json::Error, path: &str) -> Error {
    let message = match (payload.bytes.is_empty(), path) {
        (true, _) => "the payload is empty, JSON was expected".to_owned(),
        (false, ".") => format!("the payload is not the expected JSON: {error}"),
        (false, path) => format!("the payload is not the expected JSON, at `{path}`: {error}"),
    };
    Error::permanent(message)
        .with_code("bad-input")
        .with_detail("path", path)
        .with_detail("line", error.line())
        .with_detail("column", error.column())
        .with_detail("content-type", &payload.content_type)
}

/// What a handler can give back: [`Bytes`], or anything serde can write as JSON. `()` and other
/// types without content give an empty payload.
#[diagnostic::on_unimplemented(
    message = "a handler cannot give back `{Self}`",
    label = "neither `Bytes` nor writable by serde",
    note = "put `#[derive(serde::Serialize)]` on it, or give back `sandhog_sdk::Bytes`",
    note = "a `Result` is known by its name: write `Result<..>` out where an alias of it stands"
)]
pub trait Output {
    /// Writes the payload; the error is serde's text.
    fn write(self) -> Result<Bytes, String>;
}

impl Output for Bytes {
    fn write(self) -> Result<Bytes, String> {
        Ok(self)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> Output for T {
    fn write(self) -> Result<Bytes, String> {
        let bytes = serde_json::to_vec(&self).map_err(|error| error.to_string())?;
        if size_of::<T>() == 0 && bytes == b"null" {
            return Ok(Bytes::default());
        }
        Ok(Bytes::new(JSON, bytes))
    }
}

/// A handler's result as payload. What cannot be written (a map with keys that are no strings) is
/// a fault of the handler that no further attempt mends.
#[doc(hidden)]
pub fn write(output: impl Output) -> Result<Bytes, Error> {
    output.write().map_err(|why| {
        Error::permanent(format!("the result cannot be written as JSON: {why}"))
            .with_code("bad-output")
    })
}
