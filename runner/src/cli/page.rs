//! The page in `docs/` that documents the command line, made of what `--help` says.

use std::fmt::Write as _;

use clap::{Command, CommandFactory};

use super::args::Cli;

const HEAD: &str = "# The command line

Every verb takes `-o table` (for people, the default) or `-o json` (for programs). With `-o json` standard output
holds one JSON value: an array where there may be many (the `ls` verbs, `plugin build`, `plugin check`, `log dump`,
`dead retry`, `dead rm`, `enqueue --bulk`, `cron next`, `queue pause|resume|drain`, `unique release`, `job cancel|kill|retry|snooze|discard|rm`,
`batch enqueue|seal|cancel`), an object otherwise; nothing when it failed before an answer. Everything
else goes to standard error. Instants are RFC 3339 in UTC in JSON, and relative to now in tables. What a handler wrote
is shown with control characters written out, so that it cannot give orders to a terminal.

With a runner up, the verbs speak to it through the socket in the data directory. With none up they open the
directory themselves: `enqueue` without `--wait`, every verb that reads, and every verb of `job`, `batch`, `dead`, `cron`, `queue`, `limit` and `unique`.
`enqueue --wait`, `plugin show|rollback|quarantine|release` and `worker` need a runner. `log`, `config`, `cron next`, `bench` and
`plugin new|build|test|check|run` never do; `log repair` needs that none is up.

With none up nobody knows what a handler proposes. A job that is enqueued then goes into the queue that `--queue` or `[kind.NAME]` says, `default` otherwise, has
the media type that its payload looks like, and lists show 25 attempts where neither `--max-attempts` nor `[kind.NAME]` says another number. The handler's
attempts, backoff and time limit count all the same: they are looked up when it runs.

With `--url` (or `SANDHOG_URL`) they speak to a runner over HTTP, wherever it is, and open no directory; `--token-file` (or
`SANDHOG_TOKEN_FILE`, or the token itself in `SANDHOG_TOKEN`) holds what is shown there. `--data` counts before `SANDHOG_URL`. Both sides must be of the
same version. Bounds that are not given, as for `dead purge`, are those of the settings here, not of the runner's. See [http.md](http.md).

## Exit codes

| code | meaning |
|---|---|
| 0 | done; with `--wait`: the job completed |
| 1 | the operation failed; with `--wait`: the job is dead, discarded or cancelled; `plugin run`: the attempt did not complete, so for a snooze and a discard too; `plugin test`: a test failed or a sample came out otherwise; `plugin check` and `log check`: something is wrong; `bench`: an attempt did not complete, so there are no figures; `log repair`: nothing was repaired |
| 2 | the command line, the settings or the input are not right; nothing was done |
| 3 | no runner is up where one is needed, or the one that is up does not answer |
| 4 | no such job, dead letter, attempt or component |
| 5 | the time of `--wait` is over; the job goes on |
| 6 | of many (jobs of a file, ids, names of queues) some were done and others were refused, or not asked for any more after a fault. When none was done, the code of what refused them all alike, or 1 when they were refused for different reasons |

## The JSON of a job

In a list (`job ls`): `id, kind, queue, state, attempt, max_attempts, priority, at, failure, digest, parent`, where `failure`
is `{kind, cause, hint}` or null.

The verbs that change jobs give `{id, state}` for each, with the state `deleted` for one that is gone. `--dry-run` asks the rules that the verb
would ask, so that it counts what would be done, says what would be refused, and ends with the code that the verb would end with; it gives `{count, first}`.

Alone (`job show`, `enqueue --wait`) also `enqueued_at, due, content_type, headers, backoff, attempt_timeout_ms, expires,
retry_for_ms, group, tags, batch, unique, idempotency_key, then, attempts, losses, reason, waiting_because, children, payload_bytes` and, once completed, `result_content_type` and `result_bytes`; its `failure` also has
`code, panic, details, backtrace`. `job show` adds `progress`, `{done, total, note}` of the running attempt or null.

A dead letter has these fields as far as a letter knows them: in `dead ls` `id, kind, queue, state, attempt, max_attempts,
died_at, failure, digest, bytes, token, unreadable`, where `id` is a place such as `@7168` and `unreadable` says why when the letter cannot be
read; in `dead show` also `priority, parent, attempts, losses` and what the job was enqueued with. `dead ls --count` gives `{count}`,
`--dry-run` `{count, first}`, `dead import` `{imported, known, wrong, dry_run}`, `dead purge` `{count, letters, dry_run}`. The lines of
`dead export` are in [dead-letters.md](dead-letters.md).

`payload` and `result` hold JSON as it is and text as a string; any other bytes, and JSON that would not come back the same (a number
that no 64 bits hold, a key twice), are in `payload_base64` and `result_base64`. Shapes only ever gain fields.

`enqueue` gives `{id, existing}`: `existing` is true when a job that was there is the answer. `replaced` is the id of the unique
job that was cancelled so that this one takes its place, and `due` the instant to which a unique job was put off (`debounce`); they are
there when it is so. When a batch was asked for, `batch` is the one that the job is in: for one that was there another, or null ([composition.md](composition.md#batches)). `enqueue --bulk` gives one of these for each line, in
their order, with `line`, its number in the file; one that was refused is `{line, error}`, where `error` is `{code, detail}`.

## The JSON of a batch

`batch ls|show|open|seal|cancel`: `id, name, status, opened_at, sealed_at, ended_at, cancel, jobs, on_success, on_complete`. `status` is `open`, `sealed`, `ended` or
`cancelled`; `jobs` counts them, `{total, waiting, running, completed, failed, dead, cancelled, discarded, expired, deleted}`; `on_…` is `{kind, job,
enqueued_at}` or null. `batch enqueue` gives what `enqueue --bulk` gives, and the batch's id on standard error.

## The JSON of a queue

In `queue ls` and `limit ls`: `queue, jobs, reason, mode, weight, max_depth, limits, set`, where `jobs` has a count for each state, `limits` are
those that count, `{concurrency, rate, group_concurrency, group_rate}`, and `set` those of them that `limit set` gave. `unique ls` gives
`key, id, kind, state, until, says, while, on_conflict`.

## The JSON of a plugin

In a list (`plugin ls`): `name, status, file, kinds, digest, size, sdk, cached`. `status` is `ok`; `rolled-back` when another version
than the file's is served, whose digest then is `of_file`; `quarantined` when it is held back, with `since, why, by_hand`; `waiting` while what is to be
served is being loaded; `unusable` with `cause, hint, earlier_served` in place of what is known of a plugin.

Alone (`plugin show|rollback|quarantine|release`): `name, status, file, served, of_file, held, problem, versions`, where `versions` are
`{digest, size, sdk, taken_at, proven, quarantine}`, the latest first.

`plugin check` adds `imports, asks, grants, missing, linked, verdict`: `missing` is what it asks for or imports and is not granted, `linked` what the runtime of its
language imports whether it is used or not.

`plugin test` gives `components` (`name, file, size`), `samples` (`name, kind, outcome, duration_us, differences`) and `passed`. `plugin run --watch` gives
one value for each attempt.

## The JSON of a bench

`file, plugin, digest, kind, payload_bytes, durability, place, workers, jobs, jobs_per_second, us, parts_us, overlaps, reports, rounds`. `jobs_per_second` and
`us`, a worker's time for a job in microseconds, are `{runner, runner_spread, bare, bare_spread, ratio}`: medians of the rounds, and largest minus smallest
over the median. `parts_us` are the parts of `us`: `making, handler, ending` of the sandbox, as the bare attempts have them, then `runner, claiming,
rest`; `overlaps` is true when handlers waited and attempts of a worker ran beside each other, so that the parts are more than the whole. `reports` is
`{jobs, answered_ms, jobs_for_a_sync}`. What they mean is in [performance.md](performance.md#your-own-handler).

## Bulk files

One JSON object a line: `kind` (or the one on the command line), one of `payload` (any JSON, kept byte for byte), `payload_text` or
`payload_base64`, and `content_type, headers, queue, priority, in, at, max_attempts, backoff, attempt_timeout, retry_for, expires_in, expires_at, group,
tags, unique, idempotency_key, batch, then`; `then` is what [follows](composition.md#chains), `unique` is `true` or an object of `by` (a list of fields) or `key`, and `for, while, on_conflict`. A line that is
not right in itself refuses the whole file before anything is enqueued; every such line is told, with its number and the field. What is refused for
the sake of what is there (a duplicate, a full or drained queue, a sealed batch) is told with the line's number, and the others go in. The ids come in the
order of the lines, with a `-` in the place of a job that was refused. `/api/v1/jobs/bulk` has the same rule.
";

/// The page.
pub(super) fn page() -> String {
    let mut text = String::from(HEAD);
    let mut root = Cli::command().term_width(100);
    root.build();
    let _ = write!(text, "\n## Every verb\n\n");
    text += "The options under \"For every verb\" are with the program itself, here first, and hold for all.\n\n";
    section(&mut text, &mut root, true);
    text
}

/// A command's help and that of the commands in it; what holds for all of them with the first only.
fn section(text: &mut String, command: &mut Command, is_first: bool) {
    let help = command.render_help().to_string();
    let lines: Vec<&str> = help
        .lines()
        .map(str::trim_end)
        .take_while(|line| is_first || *line != "For every verb:")
        .collect();
    let _ = write!(text, "```text\n{}\n```\n\n", lines.join("\n").trim_end());
    for inner in command.get_subcommands_mut() {
        if inner.get_name() != "help" && !inner.is_hide_set() {
            section(text, inner, false);
        }
    }
}
