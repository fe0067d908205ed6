//! `[traces]`: where spans go.

use super::{
    Config,
    keys::{Key, Table, key},
    reload::Reload,
    value::{Form, Setting},
};

/// Traces.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceSettings {
    /// The collector; spans go nowhere without one.
    pub endpoint: Option<String>,
    /// What the runner is called there.
    pub service: String,
}

impl Default for TraceSettings {
    fn default() -> Self {
        Self {
            endpoint: None,
            service: "sandhog".into(),
        }
    }
}

/// The table.
pub(super) const TRACES: Table = Table {
    name: "traces",
    says: "Spans of jobs, for OpenTelemetry ([operations.md](operations.md#traces)).",
    reload: Reload::Only(&[]),
    keys: &[
        key!(
            Config,
            traces.endpoint,
            "endpoint",
            Form::Url,
            "The collector that takes spans as OTLP over HTTP, without `/v1/traces`, such as `http://127.0.0.1:4318`. None are made when not given. With `https` the authorities of `capabilities.ca_file` count too."
        ),
        key!(
            Config,
            traces.service,
            "service",
            Form::Text { max: 256 },
            "What the runner is called there: `service.name`."
        ),
    ],
};

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::{parse, show};

    #[test]
    fn what_is_no_address_of_a_collector_is_refused() {
        for (text, says) in [
            (
                "endpoint = \"127.0.0.1:4318\"",
                "no address that begins with http:// or https://",
            ),
            ("endpoint = \"http://\"", "no address that begins with"),
            ("endpoint = \"http://a/?b\"", "no address that begins with"),
            ("endpoint = 4318", "is the number 4318"),
        ] {
            let said = parse(Path::new("s.toml"), &format!("[traces]\n{text}")).unwrap_err();
            assert!(said.to_string().contains(says), "{text}: {said}");
        }
        let text = "[traces]\nendpoint = \"https://a.example:4318/x\"\nservice = \"s\"\n";
        let read = parse(Path::new("s.toml"), text).unwrap();
        assert_eq!(parse(Path::new("s.toml"), &show(&read)).unwrap(), read);
    }
}
