//! `[http]`: where the runner is to be reached over HTTP, and who may ask.

use std::{
    ffi::OsString,
    fmt,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    str::FromStr,
};

use super::keys::Key;
use super::{
    Config, ConfigError, Refusal,
    keys::{Table, count, key},
    origin::Origin,
    read::variable,
    reload::Reload,
    value::{Form, Item, Setting, Value},
};

/// `SAND` on the keys of a telephone; nothing else is known to listen there.
const PORT: u16 = 7263;
/// What a variable or flag says that is to say no address.
const OFF: &str = "off";
const LISTEN: &str = "SANDHOG_LISTEN";
const TOKEN_FILE: &str = "SANDHOG_HTTP_TOKEN_FILE";

/// HTTP.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpSettings {
    /// Where to listen.
    pub listen: Listen,
    /// The file with the tokens.
    pub token_file: Option<PathBuf>,
    /// One more token, for an admin, from the environment.
    pub token: Option<Hidden>,
    /// Names the runner answers to beside its address.
    pub hosts: Vec<String>,
    /// Connections at a time.
    pub connections: usize,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            listen: Listen(Some((Ipv4Addr::LOCALHOST, PORT).into())),
            token_file: None,
            token: None,
            hosts: Vec::new(),
            connections: 256,
        }
    }
}

/// An address to listen on, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listen(pub Option<SocketAddr>);

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => address.fmt(f),
            None => f.write_str(OFF),
        }
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == OFF {
            return Ok(Self(None));
        }
        let address = text.parse().map(Some).map(Self);
        address.map_err(|_| format!("is {text:?}, no address with a port"))
    }
}

impl Setting for Listen {
    fn take(value: Value) -> Option<Self> {
        match value {
            Value::Word(word) => word.parse().ok(),
            _ => None,
        }
    }

    fn give(&self) -> Option<Value> {
        Some(Value::Word(self.to_string()))
    }
}

/// A text that is not to be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden(pub String);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hidden")
    }
}

/// The table.
pub(super) const HTTP: Table = Table {
    name: "http",
    says: "The runner over HTTP ([http.md](http.md)).",
    reload: Reload::Only(&["token_file"]),
    keys: &[
        key!(
            Config,
            http.listen,
            "listen",
            Form::Listen,
            "Where to listen; port 0 is any free one, and the log says which. An address that other machines reach needs tokens. `SANDHOG_LISTEN` and `sandhog start --listen` override it."
        ),
        key!(
            Config,
            http.token_file,
            "token_file",
            Form::Path,
            "The file with the tokens that may ask, `ROLE:TOKEN` or `ROLE:NAME:TOKEN` a line, with viewer, operator or admin as the role; nobody else may be able to read it. A reload reads it again. Relative to this file. `SANDHOG_HTTP_TOKEN_FILE` overrides it, and `SANDHOG_HTTP_TOKEN` is one more token, for an admin. Without any, whoever reaches the address may do everything."
        ),
        key!(
            Config,
            http.hosts,
            "hosts",
            Form::List(Item::Host),
            "Names the runner answers to beside the address it is reached at: those that a proxy or a name of your own gives it. One without a port counts with the port that is listened on and without any."
        ),
        key!(
            Config,
            http.connections,
            "connections",
            count(65_536),
            "Connections at a time, at most a quarter of the files that may be open. One more is told so and closed."
        ),
    ],
};

/// What the environment and flags say.
pub(super) fn overrides(
    config: &mut Config,
    listen: Option<&str>,
    environment: &impl Fn(&str) -> Option<OsString>,
) -> Result<(), ConfigError> {
    let given = match listen {
        Some(text) => Some((
            Origin::Flag("--listen"),
            "--listen".to_owned(),
            text.to_owned(),
        )),
        None => text(environment, LISTEN)?.map(|text| {
            let place = format!("environment variable {LISTEN}");
            (Origin::Environment(LISTEN), place, text)
        }),
    };
    let (settings, origins) = (&mut config.http, &mut config.origins);
    if let Some((origin, place, text)) = given {
        settings.listen = text.parse().map_err(|why| {
            let allowed = Form::Listen.allowed();
            refused(place, format!("{why}: allowed is {allowed}"))
        })?;
        origins.put("http.listen", origin);
    }
    if let Some(path) = variable(environment, TOKEN_FILE)? {
        settings.token_file = Some(path);
        origins.put("http.token_file", Origin::Environment(TOKEN_FILE));
    }
    if let Some(token) = text(environment, "SANDHOG_HTTP_TOKEN")? {
        settings.token = Some(Hidden(token));
    }
    Ok(())
}

fn text(
    environment: &impl Fn(&str) -> Option<OsString>,
    name: &str,
) -> Result<Option<String>, ConfigError> {
    let value = variable(environment, name)?.map(PathBuf::into_os_string);
    let value = value.map(OsString::into_string).transpose();
    value.map_err(|_| {
        refused(
            format!("environment variable {name}"),
            "is not UTF-8".into(),
        )
    })
}

fn refused(place: String, why: String) -> ConfigError {
    ConfigError::Refused {
        refusals: vec![Refusal { place, why }],
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{Overrides, load, parse, show};

    #[test]
    fn what_is_no_address_no_host_and_no_number_is_refused() {
        for (text, says) in [
            (
                "[http]\nlisten = \"localhost:80\"",
                "is \"localhost:80\", no address with a port",
            ),
            ("[http]\nlisten = \"127.0.0.1\"", "no address with a port"),
            ("[http]\nlisten = 7263", "`http.listen` is the number 7263"),
            ("[http]\nhosts = [\"http://a\"]", "is no name of a machine"),
            ("[http]\nhosts = [\"a:99999\"]", "is no name of a machine"),
            ("[http]\nconnections = 0", "out of range"),
            ("[http]\ntokens = \"x\"", "unknown key `http.tokens`"),
        ] {
            let said = parse(Path::new("s.toml"), text).unwrap_err().to_string();
            assert!(said.contains(says), "{text}: {said}");
        }
        let text = "[http]\nlisten = \"[::1]:0\"\nhosts = [\"a.b:1\", \"[::1]\"]\n";
        let read = parse(Path::new("s.toml"), text).unwrap();
        assert_eq!(parse(Path::new("s.toml"), &show(&read)).unwrap(), read);
    }

    #[test]
    fn flags_come_before_the_environment_and_no_token_is_shown() {
        let environment = |name: &str| match name {
            "SANDHOG_LISTEN" => Some("off".into()),
            "SANDHOG_HTTP_TOKEN" => Some("0123456789abcdef0123".into()),
            _ => None,
        };
        let config = load(&Overrides::default(), environment).unwrap();
        assert_eq!(config.http.listen, Listen(None));
        assert!(config.http.token.is_some());
        assert!(!format!("{config:?}{}", show(&config)).contains("0123456789"));
        let flags = |listen: &str| Overrides {
            listen: Some(listen.to_owned()),
            ..Overrides::default()
        };
        let config = load(&flags("127.0.0.1:0"), environment).unwrap();
        assert_eq!(config.http.listen.to_string(), "127.0.0.1:0");
        let said = load(&flags("nowhere"), environment)
            .unwrap_err()
            .to_string();
        assert!(said.contains("--listen: is \"nowhere\""), "{said}");
        let empty = |name: &str| (name == "SANDHOG_LISTEN").then(OsString::new);
        assert!(load(&Overrides::default(), empty).is_err());
    }
}
