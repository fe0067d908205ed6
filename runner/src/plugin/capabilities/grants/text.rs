//! Grants as text: what a person would write into `NAME.toml`.

use std::{collections::BTreeMap, fmt::Write as _};

use super::Grants;
use crate::plugin::bytes::exact_bytes;

/// Grants as the file that asks for them. Empty when there are none.
#[must_use]
pub fn as_toml(grants: &Grants) -> String {
    let mut head = String::new();
    for (key, pairs) in [("env", &grants.env), ("config", &grants.config)] {
        if !pairs.is_empty() {
            let _ = writeln!(head, "{key} = {}", table(pairs));
        }
    }
    if let Some(size) = grants.scratch {
        let _ = writeln!(head, "scratch = \"{}\"", exact_bytes(size));
    }
    if let Some(enqueue) = &grants.enqueue {
        let _ = writeln!(
            head,
            "enqueue = {{ queues = {}, jobs = {}, bytes = \"{}\", depth = {} }}",
            list(&enqueue.queues),
            enqueue.jobs,
            exact_bytes(enqueue.bytes),
            enqueue.depth
        );
    }
    let mut text = match head.is_empty() {
        true => String::new(),
        false => format!("[grants]\n{head}"),
    };
    for grant in &grants.http {
        let methods: Vec<&str> = grant.methods.iter().map(String::as_str).collect();
        push(
            &mut text,
            &snippet::http(&grant.origin.to_string(), &methods, grant.private),
        );
    }
    for grant in &grants.secrets {
        let origin = grant.origin.as_ref().map(ToString::to_string);
        push(
            &mut text,
            &snippet::secret(&grant.name, origin.as_deref(), grant.sign),
        );
    }
    for grant in &grants.mounts {
        let host = quote(&grant.host.to_string_lossy());
        let guest = quote(&grant.guest);
        push(
            &mut text,
            &[
                "[[grants.mounts]]".into(),
                format!("host = {host}"),
                format!("guest = {guest}"),
            ],
        );
    }
    text
}

fn push(text: &mut String, lines: &[String]) {
    if !text.is_empty() {
        text.push('\n');
    }
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
}

fn table(pairs: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(key, value)| format!("{} = {}", quote(key), quote(value)))
        .collect();
    format!("{{ {} }}", pairs.join(", "))
}

fn list<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(|item| quote(item.as_ref())).collect();
    format!("[{}]", items.join(", "))
}

fn quote(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// The lines that would grant one thing.
pub(crate) mod snippet {
    use super::{list, quote};

    pub(crate) fn http(origin: &str, methods: &[&str], private: bool) -> Vec<String> {
        let mut lines = vec![
            "[[grants.http]]".into(),
            format!("origin = {}", quote(origin)),
            format!("methods = {}", list(methods)),
        ];
        if private {
            lines.push("private = true".into());
        }
        lines
    }

    pub(crate) fn secret(name: &str, origin: Option<&str>, sign: bool) -> Vec<String> {
        let mut lines = vec![
            "[[grants.secrets]]".into(),
            format!("name = {}", quote(name)),
        ];
        if let Some(origin) = origin {
            lines.push(format!("origin = {}", quote(origin)));
        }
        if sign {
            lines.push("sign = true".into());
        }
        lines
    }

    pub(crate) fn enqueue(queue: &str) -> Vec<String> {
        vec![
            "[grants]".into(),
            format!("enqueue = {{ queues = {} }}", list(&[queue])),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::capabilities::grants::parse;

    #[test]
    fn what_is_shown_reads_back_as_itself() {
        let text = "[grants]\nenv = { A = \"1\\n\\\"\" }\nconfig = { \"a.b\" = \"c\" }\nscratch = \"1MiB\"\n\
             enqueue = { queues = [\"a\", \"b\"], jobs = 2, bytes = \"7B\", depth = 3 }\n\
             http = [{ origin = \"https://*.b:8443\", methods = [\"GET\", \"POST\"], private = true }]\n\
             secrets = [{ name = \"k\", sign = true }, { name = \"l\", origin = \"http://[::1]:81\" }]\n\
             mounts = [{ host = \"/srv/a b\", guest = \"/a\" }]\n";
        let grants = parse(text).unwrap();
        assert_eq!(parse(&as_toml(&grants)).unwrap(), grants);
        assert_eq!(as_toml(&Grants::default()), "");
        let enqueue = parse(&snippet::enqueue("slow").join("\n")).unwrap();
        assert!(enqueue.enqueue.unwrap().allows("slow"));
    }
}
