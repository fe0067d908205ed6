//! `sandhog config`.

use std::{fs, path::PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::{
    args::ConfigCommand,
    door::Need,
    exit::{Exit, Fault, Outcome},
    session::{Session, ask},
};
use crate::api::Request;
use crate::config::{self, Config};

pub(super) fn run(session: &mut Session<'_, '_>, command: ConfigCommand) -> Outcome<Exit> {
    match command {
        // The settings that would be used were read before this is called.
        ConfigCommand::Check { file: None } => right(session, session.config.file.clone()),
        ConfigCommand::Check { file: Some(file) } => {
            let text = fs::read_to_string(&file)
                .with_context(|| format!("cannot read {}", file.display()))
                .map_err(|error| Fault::new(Exit::Usage, error))?;
            config::parse(&file, &text)?;
            right(session, Some(file))
        }
        ConfigCommand::Show => {
            let text = config::show(&session.config);
            if session.is_json() {
                session.json(&shape(&session.config, &text)?)?;
            } else {
                session.say(&text)?;
            }
            Ok(Exit::Done)
        }
        ConfigCommand::Reload => reload(session),
    }
}

fn reload(session: &mut Session<'_, '_>) -> Outcome<Exit> {
    session.door(Need::Runner)?;
    let found = ask!(session, Request::Reload, Reloaded);
    if session.is_json() {
        session.json(&json!({ "differs": found }))?;
    } else if found.is_empty() {
        session.say("nothing differs")?;
    } else {
        for one in found {
            session.say(&one.to_string())?;
        }
    }
    Ok(Exit::Done)
}

fn right(session: &mut Session<'_, '_>, file: Option<PathBuf>) -> Outcome<Exit> {
    let shown = file.as_ref().map(|file| file.display().to_string());
    if session.is_json() {
        session.json(&json!({ "file": shown, "right": true }))?;
    } else {
        let what = shown.unwrap_or_else(|| "no settings file, the defaults hold".into());
        session.say(&format!("{what}: nothing wrong"))?;
    }
    Ok(Exit::Done)
}

fn shape(config: &Config, text: &str) -> Outcome<Value> {
    let settings: Value = toml::from_str(text).context("what is shown does not read back")?;
    let file = config.file.as_ref().map(|file| file.display().to_string());
    Ok(json!({ "file": file, "settings": settings }))
}
