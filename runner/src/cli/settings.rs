//! `sandhog config`.

use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::{
    args::ConfigCommand,
    door::Need,
    exit::{Exit, Outcome},
    session::{Session, ask},
};
use crate::api::Request;
use crate::config::{self, Config};

pub(super) fn run(session: &mut Session<'_, '_>, command: ConfigCommand) -> Outcome<Exit> {
    match command {
        // They were read before this is called, from the file that is named here or the one that would be used.
        ConfigCommand::Check { .. } => {
            session.rooms.usable(&session.config)?;
            right(session, session.config.file.clone())
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
