//! Kinds that reach for what lies outside of the sandbox.

use std::fs;
use std::io::{Read, Write};

use sandhog_sdk::http::Request;
use sandhog_sdk::{Bytes, Context, Error};
use serde_json::{Value, json};

use crate::number;

fn needed<'a>(ctx: &'a Context, key: &str) -> Result<&'a str, Error> {
    ctx.header(key)
        .ok_or_else(|| Error::permanent(format!("header `{key}` is missing")))
}

/// Writes header `files` (1) files of header `bytes` (10) bytes below `/tmp`, each removed again when
/// header `remove` is 1, and tells how many it could write and what the first error was.
#[sandhog_sdk::job]
pub(crate) fn scratch(_: Bytes, ctx: &Context) -> Value {
    let bytes = number(ctx, "bytes", 10);
    let part = vec![b'x'; usize::try_from(bytes.min(64 << 10)).unwrap_or_default()];
    let write = |path: &str| -> std::io::Result<()> {
        let mut file = fs::File::create(path)?;
        let mut left = bytes;
        while left > 0 {
            let more = left.min(part.len() as u64);
            file.write_all(&part[..usize::try_from(more).unwrap_or_default()])?;
            left -= more;
        }
        drop(file);
        if number(ctx, "remove", 0) == 1 {
            fs::remove_file(path)?;
        }
        Ok(())
    };
    let mut written = 0;
    for n in 0..number(ctx, "files", 1) {
        if let Err(error) = write(&format!("/tmp/file-{n}")) {
            return json!({ "written": written, "error": error.kind().to_string() });
        }
        written += 1;
    }
    json!({ "written": written })
}

/// Makes a file of header `bytes` (10) bytes without writing them, and tells what the error was.
#[sandhog_sdk::job]
pub(crate) fn stretch(_: Bytes, ctx: &Context) -> Value {
    let stretched = fs::File::create("/tmp/sparse")
        .and_then(|file| file.set_len(number(ctx, "bytes", 10)))
        .map_err(|error| error.kind().to_string());
    json!({ "error": stretched.err() })
}

/// Keeps header `files` (1) files of header `bytes` (10) bytes open after it took away their names,
/// and tells how many it could write.
#[sandhog_sdk::job]
pub(crate) fn hoard(_: Bytes, ctx: &Context) -> Value {
    let bytes = vec![b'x'; usize::try_from(number(ctx, "bytes", 10)).unwrap_or_default()];
    let mut open = Vec::new();
    for n in 0..number(ctx, "files", 1) {
        let path = format!("/tmp/file-{n}");
        let made = fs::File::create(&path).and_then(|mut file| {
            file.write_all(&bytes)?;
            fs::remove_file(&path)?;
            Ok(file)
        });
        match made {
            Ok(file) => open.push(file),
            Err(_) => break,
        }
    }
    json!({ "written": open.len() })
}

/// Gives back the text of the file in header `path`, or what the error was; with header `write` the
/// error of writing it.
#[sandhog_sdk::job]
pub(crate) fn read(_: Bytes, ctx: &Context) -> Result<Value, Error> {
    let path = needed(ctx, "path")?;
    if ctx.header("write").is_some() {
        let error = fs::write(path, "mine")
            .err()
            .map(|error| error.kind().to_string());
        return Ok(json!({ "error": error }));
    }
    let mut text = String::new();
    let read = fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text));
    Ok(match read {
        Ok(_) => json!({ "text": text }),
        Err(error) => json!({ "error": error.kind().to_string() }),
    })
}

/// Gives back the variable in header `name`.
#[sandhog_sdk::job]
pub(crate) fn variable(_: Bytes, ctx: &Context) -> Result<Option<String>, Error> {
    Ok(std::env::var(needed(ctx, "name")?).ok())
}

/// Sends a request with header `method` (GET) to header `url`, the payload as its body, and tells
/// what came: status and body, or what the error was.
#[sandhog_sdk::job]
pub(crate) fn fetch(input: Bytes, ctx: &Context) -> Result<Value, Error> {
    let method = ctx.header("method").unwrap_or("GET");
    let mut request = Request::new(method, needed(ctx, "url")?).body("text/plain", input.bytes);
    if let Some(value) = ctx.header("authorization") {
        request = request.header("authorization", value);
    }
    Ok(match request.send(ctx) {
        Ok(answer) => json!({
            "status": answer.status(),
            "body": String::from_utf8_lossy(answer.body()),
        }),
        Err(error) => json!({ "error": error.kind().code(), "why": error.to_string() }),
    })
}

/// Has the payload signed with the secret in header `secret`.
#[sandhog_sdk::job]
pub(crate) fn sign(input: Bytes, ctx: &Context) -> Result<String, Error> {
    let mac = ctx.hmac_sha256(needed(ctx, "secret")?, &input.bytes)?;
    Ok(mac.iter().map(|byte| format!("{byte:02x}")).collect())
}
