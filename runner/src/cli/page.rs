//! The page in `docs/` that documents the command line, made of what `--help` says.

use std::fmt::Write as _;

use clap::{Command, CommandFactory};

use super::args::Cli;

const HEAD: &str = "# The command line

Every verb takes `-o table` (for people, the default) or `-o json` (for programs). With `-o json` standard output
holds exactly one JSON value: an array for `ls`, an object otherwise. Everything else goes to standard error. Instants are RFC 3339 in UTC
in JSON, and relative to now in tables. What a handler wrote is shown with control characters written out, so that it
cannot give orders to a terminal.

With a runner up, the verbs speak to it through the socket in the data directory. With none up they open the directory themselves:
`enqueue` without `--wait`, every verb that reads, `job retry`, `dead retry` and `dead rm`. `enqueue --wait` needs a runner.
`log`, `config` and `plugin new|build|check|run` never do.

## Exit codes

| code | meaning |
|---|---|
| 0 | done; with `--wait`: the job completed |
| 1 | the operation failed; with `--wait`: the job is dead, discarded or cancelled; `plugin check` and `log check`: something is wrong |
| 2 | the command line, the settings or the input are not right; nothing was done |
| 3 | no runner is up where one is needed, or the one that is up does not answer |
| 4 | no such job, dead letter, attempt or component |
| 5 | the time of `--wait` is over; the job goes on |

## The JSON of a job

`id, kind, queue, state, attempt, max_attempts, priority, at, failure {kind, cause, hint} or null, digest, parent`; alone (`job show`,
`enqueue --wait`) also `enqueued_at, due, content_type, headers, backoff, attempt_timeout_ms, attempts, losses, reason, children` and,
once completed, `result_content_type` and `result_bytes`. `payload` and `result` hold JSON as it is and text as a string; any
other bytes are in `payload_base64` and `result_base64`. Shapes only ever gain fields.

## Bulk files

One JSON object a line: `kind` (or the one on the command line), one of `payload` (any JSON, kept byte for byte), `payload_text` or
`payload_base64`, and `content_type, headers, queue, priority, in, at, max_attempts, backoff, attempt_timeout`. A line that is
not right refuses the whole file before anything is enqueued, naming the line and the field. The ids come in the order of the lines.
";

/// The page.
pub(super) fn page() -> String {
    let mut text = String::from(HEAD);
    let mut root = Cli::command().term_width(100);
    root.build();
    let _ = write!(text, "\n## Every verb\n\n");
    section(&mut text, &mut root);
    text
}

fn section(text: &mut String, command: &mut Command) {
    let help = command.render_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(text, "```text\n{}\n```\n\n", lines.join("\n").trim_end());
    for inner in command.get_subcommands_mut() {
        if inner.get_name() != "help" {
            section(text, inner);
        }
    }
}
