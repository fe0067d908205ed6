//! A runner on another machine, or behind a name: where it is, and what is shown there.

use std::{ffi::OsString, path::PathBuf};

use clap::Args;

use super::exit::{Fault, Outcome};
use crate::web::{Client, Url, check_token, read_token};

/// Where the runner is.
#[derive(Debug, Args)]
#[command(next_help_heading = "For a runner that is reached over HTTP")]
pub(super) struct RemoteArgs {
    /// Its address, such as http://127.0.0.1:7263 or https://jobs.example.com [env: SANDHOG_URL]
    #[arg(long, global = true, value_name = "URL", conflicts_with = "data")]
    pub(super) url: Option<Url>,
    /// The file with the token to show there, one line [env: SANDHOG_TOKEN_FILE; or the token itself in SANDHOG_TOKEN]
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
}

/// A runner that is reached over HTTP.
#[derive(Clone)]
pub(super) struct Remote {
    url: Url,
    token: Option<String>,
}

impl Remote {
    /// The runner that is meant, if one is. An address counts before a directory only when both come
    /// from the same place: a directory that is named with a flag before one of the environment.
    pub(super) fn of(
        args: &RemoteArgs,
        data: Option<&PathBuf>,
        environment: impl Fn(&str) -> Option<OsString>,
    ) -> Outcome<Option<Self>> {
        let variable = |name: &str| -> Outcome<Option<String>> {
            let value = environment(name).map(OsString::into_string).transpose();
            match value {
                Ok(Some(text)) if text.is_empty() => Err(Fault::usage(format!(
                    "environment variable {name} is set but empty: unset it, or give it a value"
                ))),
                Ok(value) => Ok(value),
                Err(_) => Err(Fault::usage(format!(
                    "environment variable {name} is not UTF-8"
                ))),
            }
        };
        let url = match (&args.url, data) {
            (Some(url), _) => url.clone(),
            (None, Some(_)) => return Ok(None),
            (None, None) => match variable("SANDHOG_URL")? {
                Some(text) => text
                    .parse()
                    .map_err(|why| Fault::usage(format!("SANDHOG_URL: {why}")))?,
                None => return Ok(None),
            },
        };
        let file = match &args.token_file {
            Some(file) => Some(file.clone()),
            None => variable("SANDHOG_TOKEN_FILE")?.map(PathBuf::from),
        };
        let token = match (file, variable("SANDHOG_TOKEN")?) {
            (Some(file), _) => Some(read_token(&file).map_err(Fault::usage)?),
            (None, Some(token)) => {
                check_token(&token).map_err(|why| Fault::usage(format!("SANDHOG_TOKEN: {why}")))?;
                Some(token)
            }
            (None, None) => None,
        };
        Ok(Some(Self { url, token }))
    }

    /// Where it is, for a person.
    pub(super) fn place(&self) -> String {
        self.url.to_string()
    }

    /// Find the runner. `tell` hears what is worth a thought.
    pub(super) fn connect(
        &self,
        ca_file: Option<&PathBuf>,
        tell: &mut dyn FnMut(&str),
    ) -> Outcome<Client> {
        if self.token.is_some() && self.url.is_open() {
            tell(&format!(
                "the token goes to {} as it is, and whoever is on the way can read it: use https",
                self.url
            ));
        }
        let ca_file = ca_file.map(PathBuf::as_path);
        Ok(Client::connect(
            self.url.clone(),
            self.token.clone(),
            ca_file,
        )?)
    }
}
