//! People who logged in with a token: what their browser holds, and what its forms must say.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use http::{HeaderMap, header};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::token::{Caller, Guard, TokenDigest};
use crate::entropy::Entropy;

/// The cookie's name.
const COOKIE: &str = "sandhog_session";
/// How long a login holds.
const HOLDS: Duration = Duration::from_secs(12 * 60 * 60);
/// Logins that are remembered; of more the oldest go.
const MOST: usize = 1_000;

/// The logins. They do not outlive the process.
pub(super) struct Sessions {
    /// By the digest of what the cookie holds.
    known: Mutex<HashMap<[u8; 32], Session>>,
    /// What the forms' own word is made of.
    secret: [u8; 32],
}

struct Session {
    token: TokenDigest,
    since: Instant,
}

impl Sessions {
    pub(super) fn new(entropy: &dyn Entropy) -> Self {
        Self {
            known: Mutex::default(),
            secret: Sha256::digest(random(entropy)).into(),
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<[u8; 32], Session>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remember who shows this token; what their browser is to hold.
    pub(super) fn begin(&self, token: &str, entropy: &dyn Entropy) -> String {
        let cookie = random(entropy);
        let session = Session {
            token: TokenDigest::of(token),
            since: Instant::now(),
        };
        let mut known = self.known();
        known.retain(|_, session| session.since.elapsed() < HOLDS);
        if known.len() >= MOST {
            let oldest = known
                .iter()
                .max_by_key(|(_, session)| session.since.elapsed());
            let oldest = oldest.map(|(digest, _)| *digest);
            oldest.map(|digest| known.remove(&digest));
        }
        known.insert(Sha256::digest(cookie.as_bytes()).into(), session);
        cookie
    }

    pub(super) fn end(&self, headers: &HeaderMap) {
        if let Some(cookie) = cookie(headers) {
            let digest: [u8; 32] = Sha256::digest(cookie.as_bytes()).into();
            self.known().remove(&digest);
        }
    }

    /// Who logged in, as long as their token counts.
    pub(super) fn caller(&self, headers: &HeaderMap, guard: &Guard) -> Option<Caller> {
        let digest: [u8; 32] = Sha256::digest(cookie(headers)?.as_bytes()).into();
        let known = self.known();
        let session = known.get(&digest)?;
        match session.since.elapsed() < HOLDS {
            true => guard.now().of(&session.token),
            false => None,
        }
    }

    /// The word that a form of this browser says: no page of another site can know it.
    pub(super) fn word(&self, headers: &HeaderMap) -> String {
        let mut hasher = Sha256::new();
        hasher.update(self.secret);
        hasher.update(cookie(headers).unwrap_or_default());
        hex(&hasher.finalize())
    }

    pub(super) fn is_word(&self, headers: &HeaderMap, said: &str) -> bool {
        self.word(headers).as_bytes().ct_eq(said.as_bytes()).into()
    }
}

/// What a browser holds of a login; nothing, to end it.
pub(super) fn set_cookie(value: &str, prefix: &str, is_secure: bool) -> String {
    let age = if value.is_empty() { 0 } else { HOLDS.as_secs() };
    let secure = if is_secure { "; Secure" } else { "" };
    format!("{COOKIE}={value}; Path={prefix}/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}")
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter();
    let mut pairs = cookies
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs
        .find(|(name, _)| *name == COOKIE)
        .map(|(_, value)| value)
}

/// 256 random bits as text.
fn random(entropy: &dyn Entropy) -> String {
    format!("{:032x}{:032x}", entropy.next(), entropy.next())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
