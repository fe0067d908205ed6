//! A request as a resource sees it: checked parameters, a checked body, who asks.

use std::{fmt, str::FromStr};

use bytes::Bytes;
use http::{HeaderMap, request::Parts};
use sandhog_model::UnixMs;
use serde::de::DeserializeOwned;

use super::{
    form::Param,
    gate::Ends,
    problem::Problem,
    route::{Gives, Route},
    site::Asking,
    token::{Caller, Role},
};
use crate::{
    json::{sound, when},
    store::PageRequest,
    traces,
};

/// Rows of a page that says no number.
const ROWS: usize = 50;

/// A request that was let in.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) asking: Asking,
    /// What stands in the path and behind it, each of its form.
    pub(super) given: Vec<(&'static str, String)>,
    /// The body, as it came.
    pub(super) body: Bytes,
    pub(super) idempotency_key: Option<String>,
    /// The trace that it is part of.
    pub(super) traceparent: Option<String>,
    pub(super) headers: HeaderMap,
    /// The path that a proxy serves the runner under.
    pub(super) prefix: String,
    /// Whether who asks came in with a login.
    pub(super) is_logged_in: bool,
    /// Whether a proxy was asked over TLS.
    pub(super) is_secure: bool,
}

impl Call {
    /// What its head says alone. Who asks is not known yet.
    pub(super) fn begin(head: &Parts, route: &Route) -> Self {
        let headers = &head.headers;
        let ends = head.extensions.get::<Ends>();
        Self {
            asking: Asking {
                caller: Caller {
                    name: "anyone".to_owned(),
                    role: Role::Viewer,
                },
                peer: ends.map_or(([0, 0, 0, 0], 0).into(), |ends| ends.peer),
            },
            given: Vec::new(),
            body: Bytes::new(),
            idempotency_key: None,
            traceparent: traceparent(headers),
            prefix: prefix(headers),
            is_logged_in: false,
            is_secure: headers
                .get("x-forwarded-proto")
                .is_some_and(|proto| proto == "https"),
            headers: match route.gives {
                Gives::Page => headers.clone(),
                _ => HeaderMap::new(),
            },
        }
    }

    /// What stands in the path.
    pub(super) fn path<T: FromStr>(&self, name: &str) -> Result<T, Problem>
    where
        T::Err: fmt::Display,
    {
        let value = self.given(name)?;
        value.ok_or_else(|| Problem::malformed(format!("`{name}` is missing")))
    }

    /// What stands behind the path, read; `None` when it is not there.
    pub(super) fn given<T: FromStr>(&self, name: &str) -> Result<Option<T>, Problem>
    where
        T::Err: fmt::Display,
    {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let read = text.parse();
        read.map(Some)
            .map_err(|why| Problem::malformed(format!("`{name}`: {why}")))
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let found = self.given.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    pub(super) fn instant(&self, name: &str) -> Result<Option<UnixMs>, Problem> {
        let read = self.text(name).map(when::instant).transpose();
        read.map_err(|why| Problem::malformed(format!("`{name}`: {why}")))
    }

    /// Which part of a list.
    pub(super) fn page(&self) -> Result<PageRequest, Problem> {
        Ok(PageRequest {
            limit: self.given("limit")?.unwrap_or(ROWS),
            cursor: self.owned("cursor"),
        })
    }

    /// The body; one that says nothing when there is none.
    pub(super) fn body<T: DeserializeOwned + Default>(&self) -> Result<T, Problem> {
        match self.body.is_empty() {
            true => Ok(T::default()),
            false => self.whole_body(),
        }
    }

    /// The body, which must be there.
    pub(super) fn whole_body<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let text = self.sound_body()?;
        serde_json::from_str(text).map_err(|error| Problem::malformed(format!("the body: {error}")))
    }

    /// The text of the body, JSON that means one thing.
    pub(super) fn sound_body(&self) -> Result<&str, Problem> {
        sound::check(&self.body).map_err(|why| Problem::malformed(format!("the body: {why}")))
    }

    /// The fields of a form.
    pub(super) fn form(&self) -> Result<Vec<(String, String)>, Problem> {
        let text = str::from_utf8(&self.body);
        let text = text.map_err(|_| Problem::malformed("the form is not UTF-8"))?;
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        pairs
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                Ok((decoded(name)?, decoded(value)?))
            })
            .collect()
    }

    /// Who asks, for what is kept of a change.
    pub(super) fn by(&self) -> String {
        let caller = &self.asking.caller;
        format!("{} ({} over HTTP)", caller.name, caller.role)
    }
}

/// What is no context is passed over, as the standard wants it.
fn traceparent(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(traces::HEADER)?.to_str().ok()?;
    traces::is_context(text).then(|| text.to_owned())
}

/// The path that a proxy says it serves the runner under, when it can be one.
fn prefix(headers: &HeaderMap) -> String {
    let said = headers
        .get("x-forwarded-prefix")
        .and_then(|value| value.to_str().ok());
    let said = said.unwrap_or_default().trim_end_matches('/');
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"/._-".contains(&b);
    let is_path = said.starts_with('/') && !said.contains("//") && said.bytes().all(fits);
    match is_path && said.len() <= 128 {
        true => said.to_owned(),
        false => String::new(),
    }
}

/// The same of a form: what was left empty was not said.
pub(super) fn form_query(
    query: Option<&str>,
    known: &[Param],
) -> Result<Vec<(&'static str, String)>, Problem> {
    let pairs = query.unwrap_or_default().split('&');
    let said: Vec<&str> = pairs.filter(|pair| !pair.ends_with('=')).collect();
    self::query(Some(&said.join("&")), known)
}

/// What stands behind a path, each parameter known, once, and of its form.
pub(super) fn query(
    query: Option<&str>,
    known: &[Param],
) -> Result<Vec<(&'static str, String)>, Problem> {
    let mut given: Vec<(&'static str, String)> = Vec::new();
    for pair in query.unwrap_or_default().split('&') {
        if pair.is_empty() {
            continue;
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decoded(name)?, decoded(value)?);
        let Some(param) = known.iter().find(|param| param.name == name) else {
            let names: Vec<&str> = known.iter().map(|param| param.name).collect();
            let shown: String = name.chars().take(64).collect();
            return Err(Problem::malformed(format!(
                "the parameter {shown:?} is unknown: known are {}",
                names.join(", ")
            )));
        };
        if given.iter().any(|(name, _)| *name == param.name) {
            let name = param.name;
            return Err(Problem::malformed(format!("`{name}` stands there twice")));
        }
        checked(param, &value)?;
        given.push((param.name, value));
    }
    Ok(given)
}

/// A value of its form.
pub(super) fn checked(param: &Param, value: &str) -> Result<(), Problem> {
    let name = param.name;
    let checked = param.form.check(value);
    checked.map_err(|why| Problem::malformed(format!("`{name}` {why}")))
}

/// Text without its `%` and `+`.
fn decoded(text: &str) -> Result<String, Problem> {
    let spaced = text.replace('+', " ");
    let mut bytes = Vec::with_capacity(spaced.len());
    let mut rest = spaced.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first != b'%' {
            bytes.push(*first);
            rest = after;
            continue;
        }
        let digits = after
            .get(..2)
            .filter(|two| two.iter().all(u8::is_ascii_hexdigit));
        let byte = digits
            .and_then(|two| str::from_utf8(two).ok())
            .and_then(|two| u8::from_str_radix(two, 16).ok());
        let Some(byte) = byte else {
            return Err(Problem::malformed(
                "a `%` in the address is not followed by two hex digits",
            ));
        };
        bytes.push(byte);
        rest = &after[2..];
    }
    String::from_utf8(bytes)
        .map_err(|_| Problem::malformed("the address is not UTF-8 once its `%` are read"))
}

#[cfg(test)]
mod tests {
    use super::{
        super::form::{CURSOR, Form, LIMIT, param},
        *,
    };

    #[test]
    fn parameters_are_known_once_and_of_their_form() {
        let known = [LIMIT, CURSOR, param("state", Form::OneOf(&["dead"]), "")];
        assert_eq!(
            query(Some("limit=10&cursor=a%2Fb+c"), &known).unwrap(),
            [("limit", "10".to_owned()), ("cursor", "a/b c".to_owned())]
        );
        assert_eq!(query(None, &known).unwrap(), []);
        for (text, says) in [
            (
                "limits=1",
                "\"limits\" is unknown: known are limit, cursor, state",
            ),
            ("limit=1&limit=2", "`limit` stands there twice"),
            ("limit=1&%6cimit=2", "`limit` stands there twice"),
            ("limit=0", "`limit` is no whole number from 1 to 1000"),
            ("limit=+1", "`limit` is no whole number"),
            ("limit=-1", "`limit` is no whole number"),
            ("limit=99999999999999999999", "`limit` is no whole number"),
            ("cursor=", "`cursor` has 0 bytes"),
            ("state=DEAD", "`state` is none of dead"),
            ("cursor=%ff", "not UTF-8"),
            ("cursor=%f", "two hex digits"),
            ("cursor=%+1", "two hex digits"),
        ] {
            let said = query(Some(text), &known).unwrap_err().detail;
            assert!(said.contains(says), "{text}: {said}");
        }
    }
}
