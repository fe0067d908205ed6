//! Who may ask: tokens, and the roles they stand for. Only their digests are kept.

use std::{
    fmt, fs,
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Arc, PoisonError, RwLock},
};

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Largest file of tokens, in bytes.
const FILE_BYTES: u64 = 64 << 10;
/// Shortest and longest token, in characters.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=512;
/// Who asks when no token is asked for.
const LOCAL: &str = "local";

/// What someone may do. Each may do what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Looks.
    Viewer,
    /// Also enqueues, cancels, retries, and steers queues and schedules.
    Operator,
    /// Everything.
    Admin,
}

impl Role {
    const ALL: [Self; 3] = [Self::Viewer, Self::Operator, Self::Admin];

    /// Its name in the file of tokens.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|role| role.name() == text);
        found.ok_or_else(|| "the role is none of viewer, operator, admin".to_owned())
    }
}

/// What is kept of a token.
#[derive(Clone, Copy)]
pub(super) struct TokenDigest([u8; 32]);

impl TokenDigest {
    pub(super) fn of(token: &str) -> Self {
        Self(digest(token))
    }
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Caller {
    /// As the token's line names it.
    pub(super) name: String,
    pub(super) role: Role,
}

/// The tokens that are known. Without any, whoever reaches the address may do everything.
#[derive(Clone, Default)]
pub struct Tokens {
    known: Vec<Known>,
}

#[derive(Clone)]
struct Known {
    digest: [u8; 32],
    caller: Caller,
}

/// The tokens that count now; others may be put in their place.
#[derive(Debug, Clone, Default)]
pub struct Guard(Arc<RwLock<Arc<Tokens>>>);

impl Guard {
    /// With these to begin with.
    #[must_use]
    pub fn new(tokens: Tokens) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(tokens))))
    }

    /// Those that count now.
    #[must_use]
    pub fn now(&self) -> Arc<Tokens> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on these count.
    pub fn put(&self, tokens: Tokens) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(tokens);
    }
}

/// What is in it is not to be shown, not even its digests.
impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tokens", self.known.len())
    }
}

/// Why tokens cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("cannot read the tokens in {}: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// Others may read or change it.
    #[error(
        "{} may be read or written by others (mode {mode:03o}): `chmod 600` it, a group that reads it is the most",
        path.display()
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A line is no token, or there is none at all.
    #[error("{place}: {why}")]
    Wrong {
        /// The file and line, or the variable.
        place: String,
        /// What is wrong with it.
        why: String,
    },
}

impl Tokens {
    /// Read a file of them: `ROLE:TOKEN` or `ROLE:NAME:TOKEN` a line; empty lines and those that begin
    /// with `#` say nothing.
    pub fn read(path: &Path) -> Result<Self, TokenError> {
        let text = private_text(path)?;
        let mut tokens = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let place = format!("{}:{number}", path.display());
            let wrong = |why: String| TokenError::Wrong {
                place: place.clone(),
                why,
            };
            let parts: Vec<&str> = line.split(':').collect();
            let (role, name, token) = match parts[..] {
                [role, token] => (role, format!("line {number}"), token),
                [role, name, token] if is_name(name) => (role, name.to_owned(), token),
                [_, _, _] => {
                    return Err(wrong(
                        "the name has other signs than a-z A-Z 0-9 . _ -, or is empty".into(),
                    ));
                }
                _ => return Err(wrong("write ROLE:TOKEN or ROLE:NAME:TOKEN".into())),
            };
            let role = role.parse().map_err(wrong)?;
            tokens.add(Caller { name, role }, token).map_err(wrong)?;
        }
        match tokens.is_empty() {
            false => Ok(tokens),
            true => Err(TokenError::Wrong {
                place: path.display().to_string(),
                why: "there is no token in it".to_owned(),
            }),
        }
    }

    /// One more, for an admin, that stands in a variable of the environment.
    pub fn add_admin(&mut self, variable: &str, token: &str) -> Result<(), TokenError> {
        let caller = Caller {
            name: variable.to_owned(),
            role: Role::Admin,
        };
        self.add(caller, token).map_err(|why| TokenError::Wrong {
            place: format!("environment variable {variable}"),
            why,
        })
    }

    fn add(&mut self, caller: Caller, token: &str) -> Result<(), String> {
        check(token)?;
        let digest = digest(token);
        if self.known.iter().any(|known| known.digest == digest) {
            return Err("the token stands there twice".to_owned());
        }
        self.known.push(Known { digest, caller });
        Ok(())
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// How many of these are not among `others` with the same role.
    #[must_use]
    pub fn beyond(&self, others: &Self) -> usize {
        let is_there = |one: &&Known| {
            let mut others = others.known.iter();
            let role = one.caller.role;
            !others.any(|other| other.digest == one.digest && other.caller.role == role)
        };
        self.known.iter().filter(is_there).count()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Who shows this token; with none to be shown, everyone. It takes as long whichever fits.
    pub(super) fn caller(&self, token: Option<&str>) -> Option<Caller> {
        if self.is_empty() {
            return Some(Caller {
                name: LOCAL.to_owned(),
                role: Role::Admin,
            });
        }
        self.of(&TokenDigest::of(token?))
    }

    /// Whose token this is, if it counts.
    pub(super) fn of(&self, TokenDigest(digest): &TokenDigest) -> Option<Caller> {
        let mut found = None;
        for known in &self.known {
            if bool::from(known.digest.ct_eq(digest)) {
                found = Some(&known.caller);
            }
        }
        found.cloned()
    }
}

/// The one token in a file of a caller's.
pub fn read_token(path: &Path) -> Result<String, TokenError> {
    let text = private_text(path)?;
    let token = text.trim();
    check(token).map_err(|why| TokenError::Wrong {
        place: path.display().to_string(),
        why: match token.contains([':', '\n']) {
            true => format!(
                "{why}: this file holds one token alone, which of a line of the runner's file is what follows the \
                 last colon"
            ),
            false => why,
        },
    })?;
    Ok(token.to_owned())
}

/// What is wrong with a token.
pub fn check(token: &str) -> Result<(), String> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
    if !LENGTHS.contains(&token.len()) {
        let (least, most) = (LENGTHS.start(), LENGTHS.end());
        return Err(format!(
            "the token has {} characters: allowed are {least} to {most}",
            token.len()
        ));
    }
    match token.bytes().all(fits) {
        true => Ok(()),
        false => Err("the token has other signs than a-z A-Z 0-9 - . _ ~ + / =".to_owned()),
    }
}

fn is_name(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// The text of a file that nobody else may read or change.
fn private_text(path: &Path) -> Result<String, TokenError> {
    let unreadable = |cause| TokenError::Unreadable {
        path: path.to_owned(),
        cause,
    };
    let file = fs::File::open(path).map_err(unreadable)?;
    // Of the open file, not of the name, which may lead elsewhere by now.
    let mode = file.metadata().map_err(unreadable)?.mode() & 0o777;
    if mode & 0o037 != 0 {
        let path = path.to_owned();
        return Err(TokenError::Open { path, mode });
    }
    let mut text = String::new();
    file.take(FILE_BYTES)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    fn file(text: &str, mode: u32) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        (folder, path)
    }

    #[test]
    fn a_token_leads_to_its_role_and_nothing_else_does() {
        let text = format!("# ours\n\nviewer:{TOKEN}\nadmin:ci.1:{TOKEN}x\n");
        let (_folder, path) = file(&text, 0o640);
        let tokens = Tokens::read(&path).unwrap();
        let role = |token: &str| tokens.caller(Some(token)).map(|caller| caller.role);
        assert_eq!(role(TOKEN), Some(Role::Viewer));
        assert_eq!(
            tokens.caller(Some(&format!("{TOKEN}x"))).unwrap().name,
            "ci.1"
        );
        for wrong in ["", &TOKEN[1..], &format!("{TOKEN}y"), "viewer"] {
            assert_eq!(role(wrong), None, "{wrong}");
        }
        assert_eq!(tokens.caller(None), None);
        let shown = format!("{tokens:?}");
        assert!(!shown.contains("0123"), "{shown}");
        assert_eq!(
            Tokens::default().caller(None).map(|caller| caller.role),
            Some(Role::Admin)
        );
    }

    #[test]
    fn what_is_no_token_is_named_by_its_line() {
        for (text, says) in [
            (String::new(), "there is no token in it"),
            (format!("root:{TOKEN}"), "tokens:1: the role is none of"),
            (
                "\nviewer:short".to_owned(),
                "tokens:2: the token has 5 characters",
            ),
            (format!("viewer:{TOKEN} x"), "other signs"),
            (TOKEN.to_owned(), "write ROLE:TOKEN"),
            (format!("viewer:a b:{TOKEN}"), "the name has other signs"),
            (
                format!("viewer:{TOKEN}\nadmin:{TOKEN}"),
                "tokens:2: the token stands there twice",
            ),
        ] {
            let (_folder, path) = file(&text, 0o600);
            let said = Tokens::read(&path).unwrap_err().to_string();
            assert!(said.contains(says), "{said}");
            assert!(!said.contains(TOKEN), "{said}");
        }
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        for mode in [0o604, 0o644, 0o660, 0o602] {
            let (_folder, path) = file(&format!("viewer:{TOKEN}"), mode);
            let said = Tokens::read(&path).unwrap_err().to_string();
            assert!(said.contains("chmod 600"), "{mode:o}: {said}");
            assert!(read_token(&path).is_err());
        }
        let (_folder, path) = file(&format!("{TOKEN}\n"), 0o600);
        assert_eq!(read_token(&path).unwrap(), TOKEN);
    }

    #[test]
    fn a_runners_file_is_told_from_the_file_of_one_token() {
        let (_folder, path) = file(&format!("admin:boss:{TOKEN}\n"), 0o600);
        let said = read_token(&path).unwrap_err().to_string();
        assert!(
            said.contains("one token alone") && !said.contains(TOKEN),
            "{said}"
        );
    }
}
