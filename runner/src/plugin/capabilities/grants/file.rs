//! Reading `NAME.toml`: strictly, and what is wrong with its line and key.

use std::{collections::BTreeMap, ops::Range, path::PathBuf};

use sandhog_model::limits::NAME_BYTES;
use serde::Deserialize;
use toml::Spanned;

use super::{EnqueueGrant, Grants, HttpGrant, MountGrant, SCRATCH, SecretGrant};
use crate::plugin::{bytes::parse_size, twice::fault};

/// Generations of jobs when the file says nothing: a job may enqueue, and what it enqueued may not.
const DEPTH: u32 = 1;
/// Entries of any list.
const ENTRIES: usize = 256;
/// Methods a grant may name.
const METHODS: [&str; 8] = [
    "*", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    grants: RawGrants,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawGrants {
    #[serde(default)]
    env: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    config: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    http: Vec<RawHttp>,
    #[serde(default)]
    secrets: Vec<RawSecret>,
    #[serde(default)]
    mounts: Vec<RawMount>,
    scratch: Option<Spanned<String>>,
    enqueue: Option<RawEnqueue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHttp {
    origin: Spanned<String>,
    methods: Spanned<Vec<String>>,
    #[serde(default)]
    private: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSecret {
    name: Spanned<String>,
    origin: Option<Spanned<String>>,
    #[serde(default)]
    sign: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMount {
    host: Spanned<String>,
    guest: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEnqueue {
    queues: Spanned<Vec<String>>,
    jobs: Option<Spanned<u64>>,
    bytes: Option<Spanned<String>>,
    depth: Option<Spanned<u32>>,
}

/// Where something is wrong, and what.
type Wrong = (Range<usize>, String);

/// Read the text of a `NAME.toml`. The error names line and key, and is for a person.
pub fn parse(text: &str) -> Result<Grants, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let read = toml::from_str::<File>(text).map_err(|error| fault(text, &error));
    read.and_then(|file| grants(file.grants))
        .map_err(|(span, why)| placed(text, &span, &why))
}

fn grants(raw: RawGrants) -> Result<Grants, Wrong> {
    let defaults = crate::plugin::Limits::default();
    let scratch = match raw.scratch {
        Some(text) => Some(size(&text)?),
        None => None,
    };
    let enqueue = match raw.enqueue {
        None => None,
        Some(raw) => Some(EnqueueGrant {
            queues: names(&raw.queues)?,
            jobs: raw.jobs.map_or(defaults.children, Spanned::into_inner),
            bytes: match &raw.bytes {
                Some(text) => size(text)?,
                None => defaults.children_bytes,
            },
            depth: raw.depth.map_or(DEPTH, Spanned::into_inner),
        }),
    };
    let grants = Grants {
        env: pairs(raw.env, true)?,
        config: pairs(raw.config, false)?,
        http: all(raw.http, http)?,
        secrets: all(raw.secrets, secret)?,
        mounts: all(raw.mounts, mount)?,
        scratch,
        enqueue,
        ..Grants::default()
    };
    Ok(grants)
}

fn all<R, T>(raw: Vec<R>, each: fn(R) -> Result<T, Wrong>) -> Result<Vec<T>, Wrong> {
    if raw.len() > ENTRIES {
        return Err((0..0, format!("a list has more than {ENTRIES} entries")));
    }
    raw.into_iter().map(each).collect()
}

fn pairs(
    raw: BTreeMap<String, Spanned<String>>,
    env: bool,
) -> Result<BTreeMap<String, String>, Wrong> {
    raw.into_iter()
        .map(|(key, value)| {
            let bad = key.is_empty() || key.contains('\0') || env && key.contains('=');
            if bad || value.get_ref().contains('\0') {
                let why = format!("`{key}` cannot be set: no NUL, and no = in a variable's name");
                return Err((value.span(), why));
            }
            Ok((key, value.into_inner()))
        })
        .collect()
}

fn http(raw: RawHttp) -> Result<HttpGrant, Wrong> {
    let origin = parsed(&raw.origin)?;
    let methods = raw.methods.get_ref();
    if methods.is_empty() {
        let why = "`methods` is empty: name those it may use, such as [\"POST\"]";
        return Err((raw.methods.span(), why.into()));
    }
    if let Some(unknown) = methods.iter().find(|one| !METHODS.contains(&one.as_str())) {
        let why = format!("{unknown:?} is none of {}", METHODS.join(", "));
        return Err((raw.methods.span(), why));
    }
    Ok(HttpGrant {
        origin,
        methods: methods.clone(),
        private: raw.private,
    })
}

fn secret(raw: RawSecret) -> Result<SecretGrant, Wrong> {
    let name = raw.name.get_ref().clone();
    if !is_name(&name) {
        return Err((raw.name.span(), format!("{name:?} names no secret")));
    }
    let origin = match &raw.origin {
        Some(text) => {
            let origin: super::OriginPattern = parsed(text)?;
            if !origin.is_exact() {
                let why = format!("a secret goes to one origin only, not to {origin}");
                return Err((text.span(), why));
            }
            Some(origin)
        }
        None => None,
    };
    if origin.is_none() && !raw.sign {
        let why = format!(
            "secret {name:?} is granted for nothing: add `origin = \"https://…\"` or `sign = true`"
        );
        return Err((raw.name.span(), why));
    }
    Ok(SecretGrant {
        name,
        origin,
        sign: raw.sign,
    })
}

fn mount(raw: RawMount) -> Result<MountGrant, Wrong> {
    let host = PathBuf::from(raw.host.get_ref());
    if !host.is_absolute() {
        let why = format!("{:?} is no absolute path", raw.host.get_ref());
        return Err((raw.host.span(), why));
    }
    let guest = raw.guest.get_ref().clone();
    let fits = guest.starts_with('/')
        && guest.len() > 1
        && guest[1..]
            .split('/')
            .all(|part| !part.is_empty() && part != "." && part != "..");
    if !fits || guest == SCRATCH {
        let why =
            format!("{guest:?} is no place such as \"/data\" ({SCRATCH} is the scratch directory)");
        return Err((raw.guest.span(), why));
    }
    Ok(MountGrant { host, guest })
}

fn names(raw: &Spanned<Vec<String>>) -> Result<Vec<String>, Wrong> {
    let names = raw.get_ref();
    match names.iter().find(|name| *name != "*" && !is_name(name)) {
        Some(bad) => Err((raw.span(), format!("{bad:?} names no queue"))),
        None if names.is_empty() => Err((raw.span(), "`queues` is empty".into())),
        None => Ok(names.clone()),
    }
}

fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
    (1..=NAME_BYTES).contains(&text.len()) && text.bytes().all(plain)
}

fn size(text: &Spanned<String>) -> Result<u64, Wrong> {
    parse_size(text.get_ref()).map_err(|why| (text.span(), format!("the value {why}")))
}

fn parsed<T: std::str::FromStr<Err = String>>(text: &Spanned<String>) -> Result<T, Wrong> {
    text.get_ref().parse().map_err(|why| (text.span(), why))
}

/// What is wrong, with the line and the key that stands on it.
fn placed(text: &str, span: &Range<usize>, why: &str) -> String {
    let start = span.start.min(text.len());
    let before = text.get(..start).unwrap_or_default();
    let line = 1 + before.matches('\n').count();
    let from = before.rfind('\n').map_or(0, |at| at + 1);
    let whole = text[from..].lines().next().unwrap_or_default();
    let key = whole.split('=').next().unwrap_or_default().trim();
    let why = why.lines().next().unwrap_or_default();
    match whole.contains('=') && !key.is_empty() {
        true => format!("line {line}, `{key}`: {why}"),
        false => format!("line {line}: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_grant_is_read() {
        let grants = parse(
            r#"
            [grants]
            env = { LANG = "C" }
            config = { url = "https://a.b/hook" }
            scratch = "64MiB"
            enqueue = { queues = ["slow"], jobs = 10, bytes = "1MiB", depth = 2 }
            [[grants.http]]
            origin = "https://A.b"
            methods = ["POST", "GET"]
            private = true
            [[grants.secrets]]
            name = "key"
            sign = true
            [[grants.secrets]]
            name = "token"
            origin = "https://a.b"
            [[grants.mounts]]
            host = "/srv/fonts"
            guest = "/fonts"
            "#,
        )
        .unwrap();
        assert_eq!(grants.env["LANG"], "C");
        assert_eq!(grants.config["url"], "https://a.b/hook");
        assert_eq!(grants.scratch, Some(64 << 20));
        let enqueue = grants.enqueue.unwrap();
        assert_eq!(
            (enqueue.jobs, enqueue.bytes, enqueue.depth),
            (10, 1 << 20, 2)
        );
        assert_eq!(grants.http[0].origin.to_string(), "https://a.b");
        assert!(grants.http[0].private);
        assert!(grants.secrets[0].sign && grants.secrets[0].origin.is_none());
        assert!(!grants.secrets[1].sign && grants.secrets[1].origin.is_some());
        assert_eq!(grants.mounts[0].guest, "/fonts");
    }

    #[test]
    fn an_empty_file_grants_nothing() {
        assert_eq!(parse("").unwrap(), Grants::default());
        assert_eq!(parse("[grants]\n").unwrap(), Grants::default());
    }

    #[test]
    fn what_is_wrong_has_its_line_and_key() {
        for (text, says) in [
            ("[grant]\n", "line 1"),
            ("[grant]\n", "unknown field `grant`"),
            (
                "[grants]\nhtpp = []\n",
                "line 2, `htpp`: unknown field `htpp`",
            ),
            ("[grants]\nscratch = 5\n", "line 2, `scratch`: invalid type"),
            (
                "[grants]\nscratch = \"much\"\n",
                "line 2, `scratch`: the value is \"much\", no size",
            ),
            ("[grants.enqueue]\njobs = 1\n", "missing field `queues`"),
            ("[grants.enqueue]\nqueues = []\n", "`queues` is empty"),
            (
                "[grants.enqueue]\nqueues = [\"a b\"]\n",
                "line 2, `queues`: \"a b\" names no queue",
            ),
            (
                "[grants.enqueue]\nqueues = [\"a\"]\njobs = -1\n",
                "line 3, `jobs`",
            ),
            (
                "[[grants.http]]\norigin = \"a.b\"\nmethods = [\"GET\"]\n",
                "line 2, `origin`: \"a.b\" is no origin",
            ),
            (
                "[[grants.http]]\norigin = \"https://a.b\"\n",
                "missing field `methods`",
            ),
            (
                "[[grants.http]]\norigin = \"https://a.b\"\nmethods = [\"get\"]\n",
                "line 3, `methods`: \"get\" is none of",
            ),
            (
                "[[grants.http]]\norigin = \"https://a.b\"\nmethods = []\n",
                "`methods` is empty",
            ),
            (
                "[[grants.secrets]]\nname = \"key\"\n",
                "granted for nothing",
            ),
            (
                "[[grants.secrets]]\nname = \"key\"\norigin = \"https://*.b\"\n",
                "line 3, `origin`: a secret goes to one origin",
            ),
            (
                "[[grants.mounts]]\nhost = \"srv\"\nguest = \"/a\"\n",
                "line 2, `host`: \"srv\" is no absolute path",
            ),
            (
                "[[grants.mounts]]\nhost = \"/srv\"\nguest = \"/a/../b\"\n",
                "line 3, `guest`",
            ),
            (
                "[[grants.mounts]]\nhost = \"/srv\"\nguest = \"/tmp\"\n",
                "line 3, `guest`",
            ),
            ("[grants.env]\n\"A=B\" = \"\"\n", "`A=B` cannot be set"),
            ("[grants\n", "line 1"),
            (
                "[grants]\nscratch = \"1MiB\"\nscratch = \"1MiB\"\n",
                "line 3, `scratch`: `scratch` is there twice",
            ),
        ] {
            let said = parse(text).unwrap_err();
            assert!(said.contains(says), "{text}: {said}");
        }
    }
}
