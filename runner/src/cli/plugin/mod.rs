//! `sandhog plugin`: make, build, check, list and try handlers.

mod build;
mod check;
mod new;
mod toolchain;
mod trial;
mod versions;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::Value;

use super::{
    door::{Door, Need},
    enqueue::Given,
    exit::{Exit, Fault, Outcome},
    session::{Session, ask},
    shapes, text,
};
use crate::{
    api::Request,
    plugin::{Catalog, PluginAct, Problem},
};

#[derive(Debug, Subcommand)]
pub(super) enum PluginCommand {
    /// Make a crate with a handler and its test
    New {
        /// The crate's name, also its kind
        name: String,
        /// Where [default: a folder of that name]
        #[arg(long, value_name = "DIR")]
        path: Option<PathBuf>,
    },
    /// Build a handler's crate into a component, and prepare the toolchain when needed
    Build {
        /// The crate's folder [default: this one]
        dir: Option<PathBuf>,
        /// Put the component into this folder, such as a runner's plugin folder [default: the crate's]
        #[arg(long, value_name = "DIR")]
        into: Option<PathBuf>,
    },
    /// Say whether components can be served, and of single files what they import, ask for and are
    /// granted; exit 1 when one cannot run
    Check {
        /// The components; when not given, all of the plugin folder
        files: Vec<PathBuf>,
    },
    /// What the plugin folder offers, and what is wrong with the rest
    Ls(LsArgs),
    /// One plugin with its versions, and why it is held back if it is
    Show {
        /// Its name
        name: String,
    },
    /// Serve an earlier version in place of the file's, until the file is replaced
    Rollback {
        /// The plugin
        name: String,
        /// The version, by the beginning of its digest [default: the last good one]
        #[arg(long, value_name = "DIGEST")]
        to: Option<String>,
    },
    /// Hold back the version that is served: its jobs wait and use no attempt
    Quarantine {
        /// The plugin
        name: String,
        /// Why, for those who wonder
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Let the file's version run again: end a quarantine and a rollback
    Release {
        /// The plugin
        name: String,
    },
    /// Run one attempt without a store, and show result, logs and what it used
    Run(RunArgs),
}

#[derive(Debug, Args)]
pub(super) struct LsArgs {
    #[command(flatten)]
    paging: super::args::Paging,
}

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// The component
    #[arg(value_name = "FILE.wasm")]
    component: PathBuf,
    /// The kind to run, one of those it serves
    kind: String,
    #[command(flatten)]
    given: Given,
    /// Write the result into this file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(session: &mut Session<'_, '_>, command: PluginCommand) -> Outcome<Exit> {
    match command {
        PluginCommand::New { name, path } => new::run(session, &name, path),
        PluginCommand::Build { dir, into } => build::run(session, dir, into),
        PluginCommand::Check { files } if !files.is_empty() => check::run(session, &files),
        PluginCommand::Check { .. } => {
            let catalog = folder(session)?;
            show(session, &catalog)?;
            Ok(match catalog.problems.is_empty() {
                true => Exit::Done,
                false => Exit::Failed,
            })
        }
        PluginCommand::Ls(args) => ls(session, &args),
        PluginCommand::Show { name } => versions::show(session, name),
        PluginCommand::Rollback { name, to } => {
            versions::act(session, name, PluginAct::Rollback { to })
        }
        PluginCommand::Quarantine { name, reason } => {
            versions::act(session, name, PluginAct::Quarantine { why: reason })
        }
        PluginCommand::Release { name } => versions::act(session, name, PluginAct::Release),
        PluginCommand::Run(args) => trial::run(session, args),
    }
}

/// What the plugin folder offers, without a runner.
fn folder(session: &mut Session<'_, '_>) -> Outcome<Catalog> {
    let folder = session.config.runner.plugins.clone();
    if !folder.exists() {
        session.note(&format!("there is no folder {}", folder.display()));
    }
    Ok(session.rooms.catalog(&session.config)?)
}

/// Refuse a component that is not there.
fn present(component: &Path) -> Outcome<()> {
    if component.is_file() {
        return Ok(());
    }
    let why = anyhow::anyhow!("there is no component {}", component.display());
    Err(Fault::new(Exit::NotFound, why))
}

fn ls(session: &mut Session<'_, '_>, args: &LsArgs) -> Outcome<Exit> {
    let mut catalog = match session.door(Need::Runner).map(|door| door.is_runner()) {
        Ok(_) => ask!(session, Request::Plugins, Plugins).catalog,
        // A runner that is up but does not answer is no reason to look at the folder instead: what
        // it serves is the question.
        Err(fault) if Door::is_nobody(&fault) => folder(session)?,
        Err(fault) => return Err(fault),
    };
    let next = page(&mut catalog, args);
    show(session, &catalog)?;
    super::job::more(session, next.as_deref());
    Ok(Exit::Done)
}

/// Keep the plugins of the page, by name; problems belong to the first.
fn page(catalog: &mut Catalog, args: &LsArgs) -> Option<String> {
    if let Some(cursor) = &args.paging.cursor {
        catalog.plugins = catalog.plugins.split_off(cursor);
        catalog.problems.clear();
        catalog.held.clear();
    }
    let next = catalog
        .plugins
        .keys()
        .nth(usize::from(args.paging.limit))
        .cloned()?;
    catalog.plugins.split_off(&next);
    Some(next)
}

fn show(session: &mut Session<'_, '_>, catalog: &Catalog) -> Outcome<()> {
    if session.is_json() {
        return session.json(&Value::Array(shapes::catalog(catalog)));
    }
    let rows = catalog.plugins.values().map(|plugin| {
        let kinds: Vec<&str> = plugin.kinds.iter().map(|info| info.kind.as_str()).collect();
        vec![
            plugin.name.clone(),
            text::cell(&kinds.join(", ")),
            text::size(plugin.size),
            plugin.digest.get(..12).unwrap_or_default().into(),
            text::cell(&plugin.sdk),
        ]
    });
    let nothing_else = catalog.problems.is_empty() && catalog.held.is_empty();
    if !catalog.plugins.is_empty() || nothing_else {
        let header = ["NAME", "KINDS", "SIZE", "DIGEST", "SDK"];
        session.say(&text::table(&header, &[2], rows))?;
    }
    for (name, of_file) in &catalog.replaced {
        if let Some(plugin) = catalog.plugins.get(name) {
            session.say(&versions::replaced(plugin, of_file))?;
        }
    }
    for (name, held) in &catalog.held {
        session.say(&versions::held(name, held))?;
    }
    for problem in &catalog.problems {
        let shown = told(problem);
        session.say(&shown)?;
    }
    Ok(())
}

fn told(problem: &Problem) -> String {
    let mut shown = format!(
        "{}: {}\n  {}",
        text::plain(&problem.file.to_string_lossy()),
        text::plain(&problem.cause),
        text::plain(&problem.hint)
    );
    if problem.earlier_served {
        shown += "\n  the version before it is still served";
    }
    shown
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        Self::usage(told(&problem))
    }
}
