//! Where a payload comes from, and what it is.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::Args;
use serde::de::IgnoredAny;

use crate::cli::exit::{Exit, Fault, Outcome};

/// A payload as the command line names it.
#[derive(Debug, Args)]
pub(in crate::cli) struct Given {
    /// The payload itself
    #[arg(group = "source", allow_hyphen_values = false)]
    pub(in crate::cli) payload: Option<String>,
    /// The payload is the content of this file
    #[arg(long, value_name = "FILE", group = "source")]
    pub(in crate::cli) file: Option<PathBuf>,
    /// The payload is what comes on standard input
    #[arg(long, group = "source")]
    stdin: bool,
    /// Media type of the payload [default: by the file's ending; JSON or text for an argument]
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,
    /// A header for the handler; may be given several times
    #[arg(long = "header", value_name = "KEY=VALUE", value_parser = header)]
    pub(in crate::cli) headers: Vec<(String, String)>,
}

/// A payload with its media type; `None` leaves it to the handler.
pub(in crate::cli) struct Payload {
    pub(in crate::cli) bytes: Vec<u8>,
    pub(in crate::cli) content_type: Option<String>,
    /// What to tell who may have meant something else.
    pub(in crate::cli) doubt: Option<String>,
}

/// Read a header, `KEY=VALUE`.
pub(in crate::cli) fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().into(), value.into())),
        _ => Err("a header is written KEY=VALUE".into()),
    }
}

/// Get the payload. None named is an empty one.
pub(in crate::cli) fn read_payload(input: &mut dyn Read, given: &Given) -> Outcome<Payload> {
    let mut doubt = None;
    let (bytes, guessed) = match given {
        Given {
            payload: Some(text),
            ..
        } => {
            let (guessed, why) = by_text(text);
            let why = why.filter(|_| given.content_type.is_none());
            doubt = why.and_then(|why| doubtful(text, &why));
            (text.clone().into_bytes(), Some(guessed))
        }
        Given {
            file: Some(path), ..
        } => {
            let bytes = fs::read(path)
                .with_context(|| format!("cannot read {}", path.display()))
                .map_err(|error| Fault::new(Exit::Usage, error))?;
            (bytes, by_ending(path))
        }
        Given { stdin: true, .. } => {
            let mut bytes = Vec::new();
            input
                .read_to_end(&mut bytes)
                .context("cannot read standard input")?;
            (bytes, None)
        }
        _ => (Vec::new(), None),
    };
    Ok(Payload {
        bytes,
        content_type: given
            .content_type
            .clone()
            .or_else(|| guessed.map(String::from)),
        doubt,
    })
}

/// The media type of a text, and why it is not JSON.
pub(super) fn by_text(text: &str) -> (&'static str, Option<serde_json::Error>) {
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => ("application/json", None),
        Err(why) => ("text/plain; charset=utf-8", Some(why)),
    }
}

/// Text that begins as JSON does was most likely meant to be JSON.
fn doubtful(text: &str, why: &serde_json::Error) -> Option<String> {
    text.starts_with(['{', '[', '"']).then(|| {
        format!(
            "the payload is no valid JSON ({why}) and goes as text/plain; say --content-type to choose"
        )
    })
}

/// The media type of a file with a known ending.
pub(in crate::cli) fn by_ending(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match ending.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "csv" => "text/csv",
        "md" | "markdown" => "text/markdown",
        "json" => "application/json",
        "txt" => "text/plain",
        "html" | "htm" => "text/html",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given() -> Given {
        Given {
            payload: None,
            file: None,
            stdin: false,
            content_type: None,
            headers: Vec::new(),
        }
    }

    fn content_type(given: &Given) -> Option<String> {
        let payload = read_payload(&mut &b"in"[..], given).ok().unwrap();
        payload.content_type
    }

    #[test]
    fn an_argument_is_json_or_text() {
        for (text, expected) in [
            ("{\"a\":1}", "application/json"),
            ("3", "application/json"),
            ("{a:1}", "text/plain; charset=utf-8"),
            ("", "text/plain; charset=utf-8"),
        ] {
            let given = Given {
                payload: Some(text.into()),
                ..given()
            };
            assert_eq!(content_type(&given).as_deref(), Some(expected), "{text}");
        }
        let said = Given {
            payload: Some("3".into()),
            content_type: Some("text/csv".into()),
            ..given()
        };
        assert_eq!(content_type(&said).as_deref(), Some("text/csv"));
        let piped = Given {
            stdin: true,
            ..given()
        };
        assert_eq!(content_type(&piped), None);
        assert_eq!(
            read_payload(&mut &b"in"[..], &piped).ok().unwrap().bytes,
            b"in"
        );
    }

    #[test]
    fn text_that_begins_as_json_is_doubted() {
        let doubt = |text: &str, content_type: Option<&str>| {
            let given = Given {
                payload: Some(text.into()),
                content_type: content_type.map(String::from),
                ..given()
            };
            read_payload(&mut &b""[..], &given).ok().unwrap().doubt
        };
        for text in ["{a:1}", "[1", "\"Ada"] {
            let doubt = doubt(text, None).unwrap();
            assert!(doubt.contains("no valid JSON") && doubt.contains("column"));
        }
        assert_eq!(doubt("{\"a\":1}", None), None);
        assert_eq!(doubt("Ada", None), None);
        assert_eq!(doubt("{a:1}", Some("text/plain")), None);
    }

    #[test]
    fn a_file_is_what_its_ending_says() {
        assert_eq!(by_ending(Path::new("a/photo.JPG")), Some("image/jpeg"));
        assert_eq!(by_ending(Path::new("x.tar.gz")), None);
        assert_eq!(by_ending(Path::new("png")), None);
        let missing = Given {
            file: Some("/none/here.png".into()),
            ..given()
        };
        let fault = read_payload(&mut &b""[..], &missing).err().unwrap();
        assert_eq!(fault.exit, Exit::Usage);
        assert!(fault.error.unwrap().to_string().contains("/none/here.png"));
    }

    #[test]
    fn a_header_needs_a_key() {
        assert_eq!(header("width=320=x"), Ok(("width".into(), "320=x".into())));
        assert_eq!(header("empty="), Ok(("empty".into(), String::new())));
        assert!(header("width").is_err() && header("=3").is_err());
    }
}
