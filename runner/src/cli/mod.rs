//! The command line: parses what is asked, has it done, and shows the answer. With `main` the only
//! room that prints.

mod args;
mod batch;
mod bench;
mod cron;
mod dead;
mod door;
mod each;
mod enqueue;
mod exit;
mod file;
mod interrupt;
mod job;
mod limit;
mod log;
#[cfg(test)]
mod page;
mod plugin;
mod queue;
mod remote;
mod repair;
mod rooms;
mod session;
mod settings;
mod stats;
mod text;
mod top;
mod unique;
mod when;
mod who;
mod worker;

use std::{
    ffi::OsString,
    io::{self, BufWriter, IsTerminal, Write},
    process::ExitCode,
};

use clap::{CommandFactory, Parser};

use args::{Cli, Global, Verb};
use exit::{Fault, Outcome};
use remote::Remote;
use session::Session;

use crate::{
    config::{self, Config, Overrides},
    json::{base64, shapes},
};

pub use exit::Exit;
pub use rooms::{
    Bared, Drained, Dumped, Finding, LogCheck, LogRecord, LogRepair, Measure, OpenError,
    ReadSettings, RepairedLog, Rooms, Trial, Tryout,
};
pub use session::{Format, Io};
pub(crate) use text::plain;

/// Do what this process was called for.
#[must_use]
pub fn main(rooms: &dyn Rooms) -> ExitCode {
    of_process(rooms, std::env::args_os())
}

/// With this process's own streams. None is locked beyond one write: a runner's threads write their
/// log beside this one, and a progress line has a thread of its own.
fn of_process(rooms: &dyn Rooms, args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let (stdout, mut stderr) = (io::stdout(), io::stderr());
    let mut io = Io {
        out_is_terminal: stdout.is_terminal(),
        err_is_terminal: stderr.is_terminal(),
        out: &mut BufWriter::new(stdout),
        err: &mut stderr,
        input: &mut io::stdin(),
    };
    run(rooms, &mut io, |name| std::env::var_os(name), args)
}

/// The same with everything handed in.
pub fn run(
    rooms: &dyn Rooms,
    io: &mut Io<'_>,
    environment: impl Fn(&str) -> Option<OsString>,
    args: impl IntoIterator<Item = OsString>,
) -> ExitCode {
    let parsed = match Cli::try_parse_from(args) {
        Ok(parsed) => parsed,
        Err(answer) => return not_parsed(io, &answer),
    };
    let done = dispatch(rooms, io, environment, parsed);
    // The answer counts as given only once it is written.
    let done = done.and_then(|code| Ok(io.out.flush().map(|()| code)?));
    match done {
        Ok(code) => code,
        Err(Fault { exit, error }) => {
            if let Some(error) = error {
                let _ = io.out.flush();
                let _ = writeln!(
                    io.err,
                    "sandhog: {}",
                    text::plain_lines(&format!("{error:#}"))
                );
            }
            exit.into()
        }
    }
}

/// Help and version go out as answers, everything else is a refusal.
fn not_parsed(io: &mut Io<'_>, answer: &clap::Error) -> ExitCode {
    let styled = answer.render();
    let (to, is_terminal): (&mut dyn Write, bool) = if answer.use_stderr() {
        (io.err, io.err_is_terminal)
    } else {
        (io.out, io.out_is_terminal)
    };
    let _ = match is_terminal {
        true => write!(to, "{}", styled.ansi()),
        false => write!(to, "{styled}"),
    };
    let _ = to.flush();
    if answer.use_stderr() {
        return Exit::Usage.into();
    }
    Exit::Done.into()
}

fn dispatch(
    rooms: &dyn Rooms,
    io: &mut Io<'_>,
    environment: impl Fn(&str) -> Option<OsString>,
    parsed: Cli,
) -> Outcome<ExitCode> {
    let Cli { global, verb } = parsed;
    if let Verb::Completions { shell } = verb {
        // Into memory first: the generator panics when its writer breaks.
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "sandhog", &mut script);
        io.out.write_all(&script)?;
        return Ok(Exit::Done.into());
    }
    if let Verb::Compile {
        memory,
        seconds,
        parent,
        parallel,
    } = verb
    {
        return Ok(crate::plugin::compile_as_child(
            memory, seconds, parent, parallel,
        ));
    }
    let remote = remote(&global, &verb, &environment)?;
    let config = config_of(&global, &verb, remote.as_ref(), &environment, io.err)?;
    if let Verb::Start { .. } = verb {
        rooms.usable(&config)?;
        // The process's own environment: what it was started with stays.
        let read = move || settings(&global, &verb, |name| std::env::var_os(name));
        return Ok(rooms.start(config, Box::new(read))?);
    }
    let mut session = Session::new(config, rooms, io, global.format).at(remote);
    let done = act(&mut session, verb);
    let closed = session.close();
    let exit = done?;
    closed?;
    Ok(exit.into())
}

/// The runner that is reached over HTTP, if one is meant.
fn remote(
    global: &Global,
    verb: &Verb,
    environment: impl Fn(&str) -> Option<OsString>,
) -> Outcome<Option<Remote>> {
    let is_local = matches!(
        verb,
        Verb::Start { .. }
            | Verb::Log(_)
            | Verb::Bench(_)
            | Verb::Config(args::ConfigCommand::Check { .. } | args::ConfigCommand::Show)
    );
    match is_local {
        true if global.remote.url.is_some() => Err(Fault::usage(
            "--url names a runner elsewhere, and this command works on files of this machine",
        )),
        true => Ok(None),
        false => Remote::of(&global.remote, global.data.as_ref(), environment),
    }
}

/// The settings that a command goes by. One that only asks a runner elsewhere has no need of those that lie here: what is
/// wrong with a file that nobody named is told to `err`, and does not stop it.
fn config_of(
    global: &Global,
    verb: &Verb,
    remote: Option<&Remote>,
    environment: &impl Fn(&str) -> Option<OsString>,
    err: &mut dyn Write,
) -> Outcome<Config> {
    use plugin::PluginCommand::{Build, New, Run, Test};
    if let Verb::Cron(cron::CronCommand::Next { .. }) | Verb::Plugin(New { .. }) = verb {
        return Ok(Config::default());
    }
    let why = match settings(global, verb, environment) {
        Ok(config) => return Ok(config),
        Err(why) => why,
    };
    let is_named = global.config.is_some() || environment(config::FILE_VARIABLE).is_some();
    let is_of_files = matches!(verb, Verb::Plugin(Build { .. } | Test { .. } | Run(_)));
    match remote {
        Some(remote) if !is_named && !is_of_files => {
            let (why, place) = (text::plain_lines(&why.to_string()), remote.place());
            // Nothing can be done for someone who closed their standard error.
            let _ = writeln!(
                err,
                "{why}\nthe settings here are left aside: this goes to {place}"
            );
            Ok(Config::default())
        }
        _ => Err(why.into()),
    }
}

fn settings(
    global: &Global,
    verb: &Verb,
    environment: impl Fn(&str) -> Option<OsString>,
) -> Result<Config, config::ConfigError> {
    let flags = Overrides {
        config: match verb {
            Verb::Config(args::ConfigCommand::Check { file: Some(file) }) => Some(file.clone()),
            _ => global.config.clone(),
        },
        data: global.data.clone(),
        plugins: global.plugins.clone(),
        listen: match verb {
            Verb::Start { listen } => listen.clone(),
            _ => None,
        },
    };
    config::load(&flags, environment)
}

fn act(session: &mut Session<'_, '_>, verb: Verb) -> Outcome<Exit> {
    match verb {
        // They were done before there was a session.
        Verb::Start { .. } | Verb::Completions { .. } | Verb::Compile { .. } => Ok(Exit::Done),
        Verb::Enqueue(args) => enqueue::run(session, *args),
        Verb::Job(command) => job::run(session, command),
        Verb::Batch(command) => batch::run(session, *command),
        Verb::Queue(command) => queue::run(session, command),
        Verb::Limit(command) => limit::run(session, command),
        Verb::Unique(command) => unique::run(session, command),
        Verb::Dead(command) => dead::run(session, command),
        Verb::Cron(command) => cron::run(session, command),
        Verb::Plugin(command) => plugin::run(session, command),
        Verb::Bench(args) => bench::run(session, *args),
        Verb::Worker(command) => worker::run(session, command),
        Verb::Stats => stats::run(session),
        Verb::Top(args) => top::run(session, &args),
        Verb::Log(command) => log::run(session, command),
        Verb::Config(command) => settings::run(session, command),
    }
}

#[cfg(test)]
mod tests;
