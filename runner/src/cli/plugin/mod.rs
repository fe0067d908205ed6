//! `sandhog plugin`: make, build, test, check, list and try handlers.

mod build;
mod check;
mod language;
mod new;
mod sample;
mod test;
mod tool;
mod toolchain;
mod trial;
mod versions;
mod watch;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::Value;

use super::{
    door::{Door, Need},
    enqueue::Given,
    exit::{Exit, Fault, Outcome},
    rooms::Tryout,
    session::{Session, ask},
    shapes, text,
};
use crate::{
    api::Request,
    plugin::{Catalog, Plugin, PluginAct, Problem},
};
use language::Language;

#[derive(Debug, Subcommand)]
pub(super) enum PluginCommand {
    /// Make a folder with a handler, its test and samples
    New {
        /// The handler's name, also its kind
        name: String,
        /// The language it is written in
        #[arg(long, value_enum, default_value_t, value_name = "LANGUAGE")]
        lang: Language,
        /// Where [default: a folder of that name]
        #[arg(long, value_name = "DIR")]
        path: Option<PathBuf>,
    },
    /// Build a handler's folder into a component, whatever its language
    ///
    /// For Rust the toolchain is prepared when needed; of other tools that are missing it says how to get them.
    Build {
        /// The handler's folder [default: this one]
        dir: Option<PathBuf>,
        /// Put the component into this folder, such as a runner's plugin folder [default: the handler's]
        #[arg(long, value_name = "DIR")]
        into: Option<PathBuf>,
    },
    /// Run a handler's own tests, build it, and try its samples in the sandbox
    ///
    /// A sample is a file samples/NAME.json with a job (`kind, payload`) and what is to come of it (`expect`).
    Test {
        /// The handler's folder [default: this one]
        dir: Option<PathBuf>,
    },
    /// Say whether components can be served, and of single files what they import, ask for and are
    /// granted; exit 1 when one cannot run. Of a runner over HTTP name its plugins
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
    ///
    /// With the limits and grants a runner would give it: those in sandhog.toml, and in the file NAME.toml beside
    /// the component.
    Run(RunArgs),
}

#[derive(Debug, Args)]
pub(super) struct LsArgs {
    #[command(flatten)]
    paging: super::args::Paging,
}

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// The component, or a handler's folder, which is built first
    #[arg(value_name = "FILE|DIR")]
    component: PathBuf,
    /// The kind to run [default: the only one it serves]
    kind: Option<String>,
    #[command(flatten)]
    given: Given,
    /// The kind to run, as an option
    #[arg(
        long = "kind",
        id = "named",
        value_name = "KIND",
        conflicts_with = "kind"
    )]
    named: Option<String>,
    /// The payload itself, as an option
    #[arg(
        long = "payload",
        id = "text",
        value_name = "PAYLOAD",
        group = "source"
    )]
    text: Option<String>,
    /// Write the result into this file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Run again after each change of the file, or of the folder's source, until Ctrl-C
    #[arg(long, conflicts_with = "stdin")]
    watch: bool,
}

pub(super) fn run(session: &mut Session<'_, '_>, command: PluginCommand) -> Outcome<Exit> {
    match command {
        PluginCommand::New { name, lang, path } => new::run(session, &name, lang, path),
        PluginCommand::Build { dir, into } => build::run(session, dir, into),
        PluginCommand::Test { dir } => test::run(session, dir),
        PluginCommand::Check { files } if !files.is_empty() && session.is_far() => {
            check::far(session, &files)
        }
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

/// The component that serves a kind, and the kind: the only one there is when none is wanted.
fn serving<'t>(
    tryouts: &'t [Box<dyn Tryout>],
    wanted: Option<&str>,
) -> Result<(&'t dyn Tryout, String), String> {
    let mut all = Vec::new();
    for tryout in tryouts {
        let of = kinds(tryout.plugin());
        all.extend(of.into_iter().map(|kind| (tryout.as_ref(), kind)));
    }
    let names: Vec<&str> = all.iter().map(|(_, kind)| *kind).collect();
    let (tryout, kind) = all[chosen(&names, wanted)?];
    Ok((tryout, kind.to_owned()))
}

/// The place of the kind that is wanted: of the only one there is when none is.
pub(super) fn chosen(kinds: &[&str], wanted: Option<&str>) -> Result<usize, String> {
    let listed = kinds.join(", ");
    match wanted {
        None if kinds.len() == 1 => Ok(0),
        None => Err(format!("name a kind, one of {listed}")),
        Some(wanted) => kinds
            .iter()
            .position(|kind| *kind == wanted)
            .ok_or_else(|| format!("it does not serve kind {wanted:?}: it serves {listed}")),
    }
}

pub(super) fn kinds(plugin: &Plugin) -> Vec<&str> {
    plugin.kinds.iter().map(|info| info.kind.as_str()).collect()
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
pub(super) fn present(component: &Path) -> Outcome<()> {
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
        vec![
            plugin.name.clone(),
            text::cell(&kinds(plugin).join(", ")),
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
