//! The settings as text: `config show`, and the page in `docs/`.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{
    Config, CronSettings, QueueSettings,
    capabilities::{PLUGINS, SECRETS},
    cron::CRON,
    keys::{KIND, Key, Named, TABLES},
    queue::QUEUE,
    reload::Reload,
    value::{Value, quote},
};

/// The settings in force, as a file that gives the same again.
#[must_use]
pub fn show(config: &Config) -> String {
    let mut text = String::new();
    for table in TABLES {
        section(&mut text, table.name, table.keys, config);
    }
    named(&mut text, &KIND, &config.kinds);
    named(&mut text, &QUEUE, &config.queues);
    named(&mut text, &CRON, &config.cron);
    named(&mut text, &PLUGINS, &config.plugin);
    named(&mut text, &SECRETS, &config.secrets);
    text
}

fn named<S>(text: &mut String, tables: &Named<S>, all: &BTreeMap<String, S>) {
    for (name, settings) in all {
        // A name may hold dots, which would be tables of their own.
        let title = format!("{}.{}", tables.name, quote(name));
        section(text, &title, tables.keys, settings);
    }
}

fn section<S>(text: &mut String, name: &str, keys: &[Key<S>], settings: &S) {
    if !text.is_empty() {
        text.push('\n');
    }
    let _ = writeln!(text, "[{name}]");
    for key in keys {
        let value = (key.get)(settings);
        if let Some(value) =
            value.filter(|value| !matches!(value, Value::Pairs(pairs) if pairs.is_empty()))
        {
            let _ = writeln!(text, "{} = {}", key.name, value.as_toml(key.form));
        }
    }
}

const HEAD: &str = "# Configuration

Sandhog reads `sandhog.toml` from the current directory when it is there, or the file that `--config` or
`SANDHOG_CONFIG` names. After the file come the environment (`SANDHOG_DATA`, `SANDHOG_PLUGINS`, `SANDHOG_LISTEN`,
`SANDHOG_HTTP_TOKEN_FILE`), then flags (`--data`, `--plugins`, `--listen`); the later wins. No key is required. An unknown key, a wrong type and a value out of its range
are refused with file, line, key and what is allowed, and so is what values come to together or a file that they name: an address for other machines
without tokens, tokens that others may read. `sandhog config check [FILE]` says so without starting anything, and `sandhog config show` prints what a start here would use; what a runner uses is on its
dashboard under Settings and in `GET /api/v1/config`.

Durations are written as `\"200ms\"`, `\"30s\"`, `\"1m 30s\"`, `\"2h\"`; sizes as `\"64KiB\"`, `\"128MiB\"`, `\"1 GiB\"`, or as a
number of bytes.

A runner reads the file when it starts, and again at a `SIGHUP` or `sandhog config reload`: what differs is said key by key,
with what waits for the next start. Settings that are wrong are refused as a whole, and those in force stay. The
environment and flags are those of the start. A job's queue and the number of attempts shown for it are settled when it is
enqueued; `timeout` and `backoff` are looked up each time it runs. Attempts that run go on with the settings they began with.

This page is written by the program; a test holds it equal to the code.
";

const BACKOFFS: &str = "
A `backoff` is one of:

| backoff | wait after the n-th failure |
|---|---|
| `polynomial` | n^4 + 15 s, and a random 0 to 30 s times n + 1; the default |
| `fixed 1s` | always the same |
| `linear 10s max 1h` | n times 10 s |
| `exponential 1s factor 2 max 1h` | 1 s, doubled each time; `factor` is 2 when left out |
| `list 1s 5s 1m` | as listed, then the last again |

`max` is one day when left out. All but `polynomial` may end in `jitter 0.2`, a part from 0 to 1 by which the wait is
varied at random; 0.1 when left out.
";

/// The page that documents every key.
#[must_use]
pub fn page() -> String {
    let mut text = String::from(HEAD);
    let defaults = Config::default();
    for table in TABLES {
        title(&mut text, table.name, table.says, table.reload);
        rows(&mut text, table.keys, |key| {
            // The only defaults that differ from machine to machine.
            match key.name {
                "workers" => "one per core".into(),
                "memory_budget" => "three quarters of the machine's".into(),
                _ => default_cell((key.get)(&defaults), key),
            }
        });
    }
    title(&mut text, "kind.NAME", KIND.says, KIND.reload);
    rows(&mut text, KIND.keys, |_| "left open".into());
    text.push_str(BACKOFFS);
    title(&mut text, "queue.NAME", QUEUE.says, QUEUE.reload);
    let defaults = QueueSettings::default();
    rows(&mut text, QUEUE.keys, |key| match (key.get)(&defaults) {
        None => "none".into(),
        value => default_cell(value, key),
    });
    title(&mut text, "cron.NAME", CRON.says, CRON.reload);
    let defaults = CronSettings::default();
    rows(&mut text, CRON.keys, |key| {
        match CRON.must.contains(&key.name) {
            true => "none".into(),
            false => default_cell((key.get)(&defaults), key),
        }
    });
    title(&mut text, "plugin.NAME", PLUGINS.says, PLUGINS.reload);
    rows(&mut text, PLUGINS.keys, |_| "left open".into());
    title(&mut text, "secrets.NAME", SECRETS.says, SECRETS.reload);
    rows(&mut text, SECRETS.keys, |_| "none".into());
    text
}

fn title(text: &mut String, name: &str, says: &str, reload: Reload) {
    let _ = write!(text, "\n## `[{name}]`\n\n{says} {}\n", reload.says());
}

fn rows<S>(text: &mut String, keys: &[Key<S>], default: impl Fn(&Key<S>) -> String) {
    text.push_str("\n| key | default | allowed | meaning |\n|---|---|---|---|\n");
    for key in keys {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            key.name,
            default(key),
            key.form.allowed(),
            key.says
        );
    }
}

fn default_cell<S>(value: Option<Value>, key: &Key<S>) -> String {
    value.map_or_else(String::new, |value| {
        format!("`{}`", value.as_toml(key.form))
    })
}
