//! Secrets: read where the operator says, used for guests, never shown to them.

use std::{
    collections::BTreeMap,
    env, fmt,
    fs::File,
    io::Read,
    os::unix::ffi::OsStringExt,
    path::Path,
    sync::{PoisonError, RwLock},
};

use super::grants::{SecretRule, SecretSource};
use crate::plugin::bytes::human_bytes;

/// Largest value, in bytes.
const VALUE_BYTES: u64 = 64 << 10;
/// What stands in a header for a secret, before its name and after it.
const OPEN: &str = "{{secret:";
const CLOSE: &str = "}}";

/// Where each secret's value is found.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    sources: RwLock<BTreeMap<String, SecretSource>>,
}

/// A secret's value. Neither shown nor kept longer than it is used.
pub(crate) struct Secret(Vec<u8>);

impl Secret {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secrets {
    pub(crate) fn new(rules: &BTreeMap<String, SecretRule>) -> Self {
        let secrets = Self::default();
        secrets.follow(rules);
        secrets
    }

    /// Find them there from now on.
    pub(crate) fn follow(&self, rules: &BTreeMap<String, SecretRule>) {
        let source = |(name, rule): (&String, &SecretRule)| (name.clone(), rule.source.clone());
        let mut sources = self.sources.write().unwrap_or_else(PoisonError::into_inner);
        *sources = rules.iter().map(source).collect();
    }

    /// The value as it is now, so that a file may be replaced while the runner runs. The error says
    /// nothing of the value.
    pub(crate) fn value(&self, name: &str) -> Result<Secret, String> {
        let wrong = |why: String| format!("secret {name} cannot be had: {why}");
        let sources = self.sources.read().unwrap_or_else(PoisonError::into_inner);
        let source = sources.get(name).cloned();
        drop(sources);
        let mut value = match source {
            None => return Err(wrong(format!("sandhog.toml has no [secrets.{name}]"))),
            Some(SecretSource::Env(variable)) => env::var_os(&variable)
                .ok_or_else(|| wrong(format!("environment variable {variable} is not set")))?
                .into_vec(),
            Some(SecretSource::File(path)) => {
                read(&path).map_err(|why| wrong(format!("{}: {why}", path.display())))?
            }
        };
        if value.ends_with(b"\n") {
            value.pop();
            if value.ends_with(b"\r") {
                value.pop();
            }
        }
        match value.is_empty() {
            true => Err(wrong("it is empty".into())),
            false => Ok(Secret(value)),
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err("not a regular file".into());
    }
    let mut value = Vec::new();
    file.take(VALUE_BYTES + 1)
        .read_to_end(&mut value)
        .map_err(|error| error.to_string())?;
    if value.len() as u64 > VALUE_BYTES {
        return Err(format!("it has more than {}", human_bytes(VALUE_BYTES)));
    }
    Ok(value)
}

/// A text with secrets' names in it, in pieces.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Plain(&'a [u8]),
    Secret(&'a str),
}

/// Take a header's value apart at its placeholders. `None` when it has none.
pub(crate) fn pieces(value: &[u8]) -> Option<Vec<Piece<'_>>> {
    let mut pieces = Vec::new();
    let mut rest = value;
    let mut any = false;
    while let Some(at) = find(rest, OPEN.as_bytes()) {
        let after = &rest[at + OPEN.len()..];
        let Some(end) = find(after, CLOSE.as_bytes()) else {
            break;
        };
        let Ok(name) = str::from_utf8(&after[..end]) else {
            break;
        };
        pieces.push(Piece::Plain(&rest[..at]));
        pieces.push(Piece::Secret(name));
        any = true;
        rest = &after[end + CLOSE.len()..];
    }
    pieces.push(Piece::Plain(rest));
    any.then_some(pieces)
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(source: SecretSource) -> Secrets {
        Secrets {
            sources: RwLock::new(BTreeMap::from([("key".to_owned(), source)])),
        }
    }

    #[test]
    fn a_file_is_read_anew_and_its_line_end_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let secrets = secrets(SecretSource::File(path.clone()));
        for (bytes, value) in [
            (&b"one\n"[..], &b"one"[..]),
            (b"two\r\n", b"two"),
            (b"three\n\n", b"three\n"),
            (b"\xff\0", b"\xff\0"),
        ] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(secrets.value("key").unwrap().bytes(), value);
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_the_value() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let of_file = secrets(SecretSource::File(path.clone()));
        assert!(of_file.value("key").unwrap_err().contains("No such file"));
        std::fs::write(&path, "\n").unwrap();
        assert!(of_file.value("key").unwrap_err().contains("empty"));
        std::fs::write(&path, vec![b'k'; 70_000]).unwrap();
        let said = of_file.value("key").unwrap_err();
        assert!(said.contains("64 KiB") && !said.contains("kkk"), "{said}");
        let of_folder = secrets(SecretSource::File(dir.path().into()));
        assert!(of_folder.value("key").unwrap_err().contains("regular"));
        let of_env = secrets(SecretSource::Env("SANDHOG_NOT_SET".into()));
        assert!(of_env.value("key").unwrap_err().contains("SANDHOG_NOT_SET"));
        assert!(
            of_env
                .value("other")
                .unwrap_err()
                .contains("[secrets.other]")
        );
        assert_eq!(format!("{:?}", Secret(b"value".to_vec())), "Secret(…)");
    }

    #[test]
    fn placeholders_are_found_anywhere_in_a_value() {
        assert_eq!(pieces(b"Bearer x"), None);
        assert_eq!(pieces(b"{{secret:a"), None);
        assert_eq!(
            pieces(b"Bearer {{secret:a}}-{{secret:b.c}}!"),
            Some(vec![
                Piece::Plain(b"Bearer "),
                Piece::Secret("a"),
                Piece::Plain(b"-"),
                Piece::Secret("b.c"),
                Piece::Plain(b"!"),
            ])
        );
    }
}
