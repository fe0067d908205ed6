//! From the file, the environment and flags to checked settings.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    Config, ConfigError, Refusal,
    capabilities::{PLUGINS, SECRETS},
    cron::{CRON, CronSettings},
    difference::plain,
    http,
    keys::{KIND, Key, Named, TABLES},
    near::unknown,
    origin::{Origin, Origins},
    queue::QUEUE,
    value::{Form, is_name, quote},
    written::checked,
};
use crate::plugin::toml_fault;

/// The file that is read when none is named, if it is there.
pub const DEFAULT_FILE: &str = "sandhog.toml";

/// The variable that names the file to read.
pub const FILE_VARIABLE: &str = "SANDHOG_CONFIG";

/// What holds tables with names.
const NAMED: [&str; 5] = [KIND.name, QUEUE.name, CRON.name, PLUGINS.name, SECRETS.name];

/// What flags say; they win over the environment, which wins over the file.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `--config`: the file to read.
    pub config: Option<PathBuf>,
    /// `--data`.
    pub data: Option<PathBuf>,
    /// `--plugins`.
    pub plugins: Option<PathBuf>,
    /// `--listen`.
    pub listen: Option<String>,
}

/// Read the settings. `environment` looks a variable up.
pub fn load(
    flags: &Overrides,
    environment: impl Fn(&str) -> Option<OsString>,
) -> Result<Config, ConfigError> {
    let named = match &flags.config {
        Some(path) => Some(path.clone()),
        None => variable(&environment, FILE_VARIABLE)?,
    };
    let mut config = match named {
        Some(path) => read(&path)?,
        None if Path::new(DEFAULT_FILE).exists() => read(Path::new(DEFAULT_FILE))?,
        None => Config::default(),
    };
    let (runner, origins) = (&mut config.runner, &mut config.origins);
    for (field, key, given, flag, name) in [
        (
            &mut runner.data,
            "runner.data",
            &flags.data,
            "--data",
            "SANDHOG_DATA",
        ),
        (
            &mut runner.plugins,
            "runner.plugins",
            &flags.plugins,
            "--plugins",
            "SANDHOG_PLUGINS",
        ),
    ] {
        let said = match given {
            Some(path) => Some((path.clone(), Origin::Flag(flag))),
            None => variable(&environment, name)?.map(|path| (path, Origin::Environment(name))),
        };
        if let Some((path, origin)) = said {
            *field = path;
            origins.put(key, origin);
        }
    }
    http::overrides(&mut config, flags.listen.as_deref(), &environment)?;
    Ok(config)
}

/// A variable with a path.
pub(super) fn variable(
    environment: &impl Fn(&str) -> Option<OsString>,
    name: &str,
) -> Result<Option<PathBuf>, ConfigError> {
    match environment(name) {
        Some(value) if value.is_empty() => Err(ConfigError::Refused {
            refusals: vec![Refusal {
                place: format!("environment variable {name}"),
                why: "is set but empty: unset it, or give it a value".into(),
            }],
        }),
        value => Ok(value.map(PathBuf::from)),
    }
}

fn read(path: &Path) -> Result<Config, ConfigError> {
    let unreadable = |source: io::Error| ConfigError::Unreadable {
        path: path.into(),
        source,
    };
    let bytes = fs::read(path).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|error| ConfigError::NotText {
        path: path.into(),
        offset: error.utf8_error().valid_up_to(),
    })?;
    let mut config = parse(path, &text)?;
    let base = path.parent().unwrap_or(Path::new(""));
    let secrets = config
        .secrets
        .values_mut()
        .filter_map(|one| one.file.as_mut());
    for field in [&mut config.runner.data, &mut config.runner.plugins]
        .into_iter()
        .chain(&mut config.ca_file)
        .chain(&mut config.http.token_file)
        .chain(secrets)
    {
        if field.is_relative() {
            *field = base.join(&*field);
        }
    }
    Ok(config)
}

/// Read the text of a file named `path`. Relative paths in it are left as they are.
pub fn parse(path: &Path, text: &str) -> Result<Config, ConfigError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader {
        path,
        text,
        refusals: Vec::new(),
        origins: Origins::default(),
    };
    let mut config = Config {
        file: Some(path.into()),
        ..Config::default()
    };
    match DeTable::parse(text) {
        Ok(table) => reader.root(&mut config, table.get_ref()),
        Err(error) => {
            let (span, why) = toml_fault(text, &error);
            reader.refuse(span, why);
        }
    }
    if reader.refusals.is_empty() {
        config.origins = reader.origins;
        return Ok(config);
    }
    reader.refusals.sort_by_key(|(line, _)| *line);
    Err(ConfigError::Refused {
        refusals: reader.refusals.into_iter().map(|(_, one)| one).collect(),
    })
}

/// Read the entry of one schedule, as its table has it. What is wrong is said without a place: nobody wrote it
/// into a file.
pub fn parse_cron(name: &str, entry: &str) -> Result<CronSettings, String> {
    if !is_name(name) {
        let allowed = unquoted(Form::Name.allowed());
        return Err(format!(
            "{name:?} is no name of a schedule: allowed is {allowed}"
        ));
    }
    let text = format!("[cron.{}] {entry}", quote(name));
    match parse(Path::new(name), &text) {
        Ok(mut config) => Ok(config.cron.remove(name).unwrap_or_default()),
        Err(ConfigError::Refused { refusals }) => {
            let table = format!("`cron.{name}.");
            let told = refusals.into_iter();
            let told: Vec<String> = told
                .map(|refusal| unquoted(refusal.why.replace(&table, "`")))
                .collect();
            Err(told.join("; "))
        }
        Err(other) => Err(other.to_string()),
    }
}

/// What is allowed, for those who write no file: without the quotes that one needs, and without an example where what
/// is wrong says what to write.
fn unquoted(why: String) -> String {
    let said = match why.split_once(": allowed is ") {
        Some((refused, _)) if refused.contains("` is refused: ") => refused.to_owned(),
        _ => why,
    };
    said.replace(", in quotes", "").replace(" in quotes", "")
}

/// Walks a parsed file and notes what is wrong.
struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    refusals: Vec<(usize, Refusal)>,
    origins: Origins,
}

type Entry<'t, 'i> = (
    &'t Spanned<std::borrow::Cow<'i, str>>,
    &'t Spanned<DeValue<'i>>,
);

impl Reader<'_> {
    fn line(&self, span: &Range<usize>) -> usize {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }

    fn refuse(&mut self, span: Range<usize>, why: String) {
        let line = self.line(&span);
        let place = format!("{}:{line}", self.path.display());
        self.refusals.push((line, Refusal { place, why }));
    }

    fn root(&mut self, config: &mut Config, root: &DeTable<'_>) {
        for (name, value) in root {
            let of = name.get_ref().as_ref();
            let known = TABLES.iter().find(|table| table.name == of);
            let Some(inner) = value.get_ref().as_table() else {
                self.stray((name, value));
                continue;
            };
            match known {
                Some(table) => {
                    for entry in inner {
                        self.entry(config, table.keys, &format!("{}.", table.name), entry);
                    }
                }
                None if of == KIND.name => self.named(&KIND, &mut config.kinds, inner),
                None if of == QUEUE.name => self.named(&QUEUE, &mut config.queues, inner),
                None if of == CRON.name => self.named(&CRON, &mut config.cron, inner),
                None if of == PLUGINS.name => self.named(&PLUGINS, &mut config.plugin, inner),
                None if of == SECRETS.name => self.secrets(config, inner),
                None => {
                    let tables = TABLES.iter().map(|table| table.name).chain(NAMED);
                    let why = unknown(
                        "table",
                        &format!("[{}]", name.get_ref()),
                        name.get_ref(),
                        tables,
                    );
                    self.refuse(name.span(), why);
                }
            }
        }
    }

    /// A key outside any table.
    fn stray(&mut self, (name, _): Entry<'_, '_>) {
        let key = name.get_ref();
        let home = TABLES
            .iter()
            .find(|table| table.keys.iter().any(|one| one.name == key));
        let why = match home {
            Some(table) => format!(
                "`{key}` stands outside a table: put it under [{}]",
                table.name
            ),
            None if NAMED.contains(&key.as_ref()) => {
                format!("`{key}` holds tables with names: write [{key}.NAME] and its keys below")
            }
            None if TABLES.iter().any(|table| table.name == key) => {
                format!("`{key}` is a table: write [{key}] and its keys below")
            }
            None => {
                let keys = TABLES
                    .iter()
                    .flat_map(|table| table.keys)
                    .map(|one| one.name);
                unknown("key", &format!("`{key}`"), key, keys)
            }
        };
        self.refuse(name.span(), why);
    }

    /// The tables that the operator names.
    fn named<S: Default>(
        &mut self,
        tables: &Named<S>,
        all: &mut BTreeMap<String, S>,
        found: &DeTable<'_>,
    ) {
        let of = tables.name;
        for (name, value) in found {
            let one = name.get_ref();
            if !is_name(one) {
                let allowed = Form::Name.allowed();
                let why = format!("[{of}.{one:?}] names no {of}: allowed is {allowed}");
                self.refuse(name.span(), why);
                continue;
            }
            let Some(inner) = value.get_ref().as_table() else {
                let why = format!("`{of}.{one}` is a table: write [{of}.{one}] and its keys below");
                self.refuse(name.span(), why);
                continue;
            };
            let mut settings = S::default();
            for entry in inner {
                self.entry(
                    &mut settings,
                    tables.keys,
                    &format!("{of}.{}.", plain(one)),
                    entry,
                );
            }
            for key in tables
                .keys
                .iter()
                .filter(|key| tables.must.contains(&key.name))
            {
                if !inner.contains_key(key.name) {
                    let (key, allowed) = (key.name, key.form.allowed());
                    let why = format!("[{of}.{one}] has no `{key}`: write one, {allowed}");
                    self.refuse(name.span(), why);
                }
            }
            all.insert(one.to_string(), settings);
        }
    }

    /// The secrets, each as a whole once its keys are right.
    fn secrets(&mut self, config: &mut Config, found: &DeTable<'_>) {
        let before = self.refusals.len();
        self.named(&SECRETS, &mut config.secrets, found);
        if self.refusals.len() > before {
            return;
        }
        for (name, _) in found {
            let one = name.get_ref();
            let fault = config.secrets.get(&**one).and_then(|secret| secret.fault());
            if let Some(why) = fault {
                self.refuse(name.span(), format!("`{}.{one}` {why}", SECRETS.name));
            }
        }
    }

    fn entry<S>(
        &mut self,
        settings: &mut S,
        keys: &[Key<S>],
        table: &str,
        (name, value): Entry<'_, '_>,
    ) {
        let Some(key) = keys.iter().find(|key| key.name == name.get_ref()) else {
            let shown = format!("`{table}{}`", name.get_ref());
            let why = unknown(
                "key",
                &shown,
                name.get_ref(),
                keys.iter().map(|key| key.name),
            );
            self.refuse(name.span(), why);
            return;
        };
        let taken = checked(key.form, value.get_ref());
        let Err(refused) = taken.and_then(|value| (key.set)(settings, value)) else {
            let name = format!("{table}{}", key.name);
            let line = self.line(&value.span());
            self.origins.put(&name, Origin::File(line));
            return;
        };
        let allowed = key.form.allowed();
        let why = format!("`{table}{}` {refused}: allowed is {allowed}", key.name);
        self.refuse(value.span(), why);
    }
}
