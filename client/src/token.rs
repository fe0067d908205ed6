//! The bearer token.

use std::{fmt, fs, io::Read as _, path::Path};

/// Longest file a token is read from, in bytes.
const FILE_BYTES: u64 = 4096;

/// A bearer token. It shows itself nowhere but in the header it is for.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// What is wrong with a token. The token is not in it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TokenError(String);

impl Token {
    /// A token as it is written.
    pub fn new(token: &str) -> Result<Self, TokenError> {
        let token = token.trim();
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        if token.is_empty() {
            return Err(TokenError("the token is empty".into()));
        }
        if !token.bytes().all(fits) {
            let why = "the token has other signs than a-z A-Z 0-9 - . _ ~ + / =";
            return Err(TokenError(why.into()));
        }
        Ok(Self(token.to_owned()))
    }

    /// The one token in a file, which has to be closed to others.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, TokenError> {
        let path = path.as_ref();
        let wrong = |why: String| TokenError(format!("token file {}: {why}", path.display()));
        let file = fs::File::open(path).map_err(|error| wrong(error.to_string()))?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            // Of the open file, not of the name, which may lead elsewhere by now.
            let known = file.metadata().map_err(|error| wrong(error.to_string()))?;
            let mode = known.mode() & 0o777;
            if mode & 0o037 != 0 {
                return Err(wrong(format!(
                    "others may read or change it (mode {mode:o}): chmod 600 it"
                )));
            }
        }
        let mut text = String::new();
        file.take(FILE_BYTES)
            .read_to_string(&mut text)
            .map_err(|error| wrong(error.to_string()))?;
        Self::new(&text).map_err(|why| wrong(why.0))
    }

    pub(crate) fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "s3cr3t-s3cr3t-s3cr3t";

    #[test]
    fn a_token_shows_itself_nowhere() {
        let token = Token::new(SECRET).unwrap();
        assert_eq!(format!("{token:?}"), "Token(…)");
        for wrong in [format!("{SECRET} {SECRET}"), format!("{SECRET}\u{e9}")] {
            let error = Token::new(&wrong).unwrap_err();
            assert!(!format!("{error} {error:?}").contains(SECRET));
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_file_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, format!("{SECRET}\n")).unwrap();
        for (mode, taken) in [(0o600, true), (0o640, true), (0o644, false), (0o660, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let read = Token::from_file(&path);
            assert_eq!(read.is_ok(), taken, "{mode:o}");
            match read {
                Ok(token) => assert_eq!(token.header(), format!("Bearer {SECRET}")),
                Err(error) => assert!(error.to_string().contains("chmod 600"), "{error}"),
            }
        }
        let gone = Token::from_file(folder.path().join("none")).unwrap_err();
        assert!(gone.to_string().contains("none"), "{gone}");
    }
}
