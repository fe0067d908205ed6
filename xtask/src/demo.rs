//! `cargo xtask demo`: a folder's photos, tables and pages through a runner that is killed half-way.

use std::{
    collections::BTreeMap,
    fs,
    io::{IsTerminal, Write},
    path::{Path, PathBuf},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    guests,
    inputs::{self, Input, Kind},
    process::{self, Held, Sandhog},
    result,
    summary::{self, Figures},
};

/// Programs that enqueue at a time.
const CLIENTS: usize = 4;
/// Longest wait for all jobs to end.
const BOUND: Duration = Duration::from_secs(1800);
/// States that no attempt follows.
const FINAL: [&str; 4] = ["completed", "cancelled", "discarded", "dead"];

/// A job the runner acknowledged.
struct Accepted<'a> {
    id: String,
    input: &'a Input,
}

/// Runs the whole story and prints its figures.
pub(crate) fn run(root: &Path, folder: Option<&Path>) -> Result<(), String> {
    let inputs = match folder {
        Some(folder) => inputs::below(folder)?,
        None => inputs::own(root)?,
    };
    if inputs.is_empty() {
        return Err(
            "there is no photo (.png .jpg), table (.csv) or page (.md) in that folder".into(),
        );
    }
    say("building the runner and its plugins");
    let plugins = guests::build_plugins(root)?;
    let program = process::build_runner(root)?;
    let results = process::target(root)?.join("demo");
    let home = Home::new(&plugins)?;
    let sandhog = home.sandhog(program);
    let start = Instant::now();
    let mut figures = story(&sandhog, &inputs, &results)?;
    figures.duration = start.elapsed();
    println!("\n{}", summary::table(&figures));
    println!("results are in {}", results.display());
    figures.verdict()
}

fn story(sandhog: &Sandhog, inputs: &[Input], results: &Path) -> Result<Figures, String> {
    let runner = sandhog.start()?;
    say(&format!("runner {} is up", runner.pid()));
    let (first, second) = halves(inputs)?;
    let mut accepted = enqueue_all(sandhog, &first)?;
    kill(sandhog, runner)?;
    let _runner = sandhog.start()?;
    say("started again on the same directory");
    accepted.extend(enqueue_all(sandhog, &second)?);
    let mut ends = watch(sandhog, &accepted)?;
    let (buried, end) = bury(sandhog)?;
    ends.insert(buried, end);
    let mut figures = Figures::of(&ends);
    figures.lost = accepted
        .iter()
        .filter(|job| !ends.contains_key(&job.id))
        .count();
    figures.jobs = accepted.len() + 1;
    // The one that was sent to the wrong handler is in the dead letters for good.
    figures.expected_dead = 1;
    save(sandhog, &accepted, &ends, results, &mut figures)?;
    Ok(figures)
}

/// The inputs in two equal shares, each with its largest last: what is acknowledged right before the
/// kill is then still being worked on.
fn halves(inputs: &[Input]) -> Result<(Vec<&Input>, Vec<&Input>), String> {
    let mut sized = Vec::new();
    for input in inputs {
        let about = fs::metadata(&input.file)
            .map_err(|e| format!("cannot read {}: {e}", input.file.display()))?;
        sized.push((about.len(), input));
    }
    sized.sort_by_key(|(size, _)| *size);
    let share = |odd| {
        let of_share = sized.iter().enumerate().filter(move |(i, _)| i % 2 == odd);
        of_share.map(|(_, (_, input))| *input).collect()
    };
    // The largest of all is in the first share.
    let first = (sized.len() + 1) % 2;
    Ok((share(first), share(1 - first)))
}

/// One job for each input, by several programs at a time, as users would.
fn enqueue_all<'a>(sandhog: &Sandhog, inputs: &[&'a Input]) -> Result<Vec<Accepted<'a>>, String> {
    say(&format!("enqueueing {} jobs", inputs.len()));
    let queue = Mutex::new(inputs.iter());
    let next = || {
        queue
            .lock()
            .map(|mut inputs| inputs.next().copied())
            .ok()
            .flatten()
    };
    let client = || {
        let mut accepted = Vec::new();
        while let Some(input) = next() {
            let id = enqueue(sandhog, input.kind, &input.file)?;
            accepted.push(Accepted { id, input });
        }
        Ok(accepted)
    };
    let parts: Vec<Result<Vec<Accepted<'a>>, String>> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        let joined = clients.into_iter().map(|client| client.join());
        joined
            .map(|part| part.unwrap_or_else(|_| Err("a client panicked".into())))
            .collect()
    });
    let mut accepted = Vec::new();
    for part in parts {
        accepted.extend(part?);
    }
    Ok(accepted)
}

fn enqueue(sandhog: &Sandhog, kind: Kind, file: &Path) -> Result<String, String> {
    let file = file.to_str().ok_or("a file's name is no UTF-8")?;
    let mut words = vec!["enqueue", kind.name(), "--file", file];
    if kind == Kind::Thumbnail {
        words.extend(["--header", "width=320", "--header", "height=240"]);
    }
    let job = sandhog.tell(&words)?.json;
    match job["id"].as_str() {
        Some(id) => Ok(id.to_owned()),
        None => Err(format!("enqueue of {file} gave no id: {job}")),
    }
}

/// Kills the runner without warning, right after the last acknowledgement. What it had done by then
/// is read off its directory.
fn kill(sandhog: &Sandhog, runner: Held) -> Result<(), String> {
    let pid = runner.pid();
    runner.kill()?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for job in states(sandhog)?.values() {
        *counts.entry(text(job, "state")).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(s, n)| format!("{n} {s}")).collect();
    say(&format!(
        "kill -9 {pid}: its log holds {}",
        counts.join(", ")
    ));
    Ok(())
}

/// Every job of the directory by id, page by page.
fn states(sandhog: &Sandhog) -> Result<BTreeMap<String, Value>, String> {
    let mut jobs = BTreeMap::new();
    let mut cursor = None;
    loop {
        let mut words = vec![
            "job".to_owned(),
            "ls".into(),
            "--limit".into(),
            "1000".into(),
        ];
        if let Some(cursor) = cursor {
            words.extend(["--cursor".into(), cursor]);
        }
        let page = sandhog.tell(&words)?;
        let rows = page.json.as_array().cloned().unwrap_or_default();
        jobs.extend(rows.into_iter().map(|row| (text(&row, "id"), row)));
        cursor = page.cursor();
        if cursor.is_none() {
            return Ok(jobs);
        }
    }
}

fn text(job: &Value, key: &str) -> String {
    job[key].as_str().unwrap_or_default().to_owned()
}

fn is_final(job: &Value) -> bool {
    FINAL.contains(&job["state"].as_str().unwrap_or_default())
}

/// Waits until every accepted job has ended; gives those that did.
fn watch(sandhog: &Sandhog, accepted: &[Accepted<'_>]) -> Result<BTreeMap<String, Value>, String> {
    let mut shown = usize::MAX;
    let ended = process::until("all jobs to end", BOUND, || {
        let mut jobs = states(sandhog)?;
        let known = accepted
            .iter()
            .filter(|job| jobs.contains_key(&job.id))
            .count();
        jobs.retain(|_, job| is_final(job));
        let ended = accepted
            .iter()
            .filter(|job| jobs.contains_key(&job.id))
            .count();
        if ended != shown {
            progress(ended, accepted.len());
            shown = ended;
        }
        // A job the directory does not know will never end: it is lost, and counted so.
        Ok((ended == known).then_some(jobs))
    })?;
    say(&format!("{} of {} jobs ended", shown, accepted.len()));
    Ok(ended)
}

/// A line that moves, on a terminal only.
fn progress(done: usize, all: usize) {
    let mut out = std::io::stderr();
    if out.is_terminal() {
        let filled = done * 30 / all.max(1);
        let bar = format!("{}{}", "#".repeat(filled), ".".repeat(30 - filled));
        // A terminal that went away is no reason to stop.
        let _ = write!(out, "\r[{bar}] {done}/{all} \r");
        let _ = out.flush();
    }
}

/// Sends a text to the handler of photos: it fails for good, is requeued from the dead letters and,
/// being the same text, ends there again with both attempts in its history.
fn bury(sandhog: &Sandhog) -> Result<(String, Value), String> {
    let file = sandhog.data.with_file_name("no-photo.txt");
    fs::write(&file, "This is a text, whatever the job says.\n")
        .map_err(|e| format!("cannot write {}: {e}", file.display()))?;
    let id = enqueue(sandhog, Kind::Thumbnail, &file)?;
    let dead = |attempts: u64| {
        process::until("the bad job to die", BOUND, || {
            let letters = sandhog.tell(&["dead", "ls"])?.json;
            let rows = letters.as_array().map_or(&[][..], Vec::as_slice);
            let row = rows.iter().find(|row| text(row, "id") == id);
            let died = |row: &&Value| row["attempt"].as_u64() == Some(attempts);
            Ok(row.filter(died).cloned())
        })
    };
    let letter = dead(1)?;
    let cause = text(&letter["failure"], "cause");
    say(&format!(
        "a text sent to `thumbnail` is a dead letter: {cause}"
    ));
    sandhog.tell(&["dead", "retry", &id])?;
    let letter = dead(2)?;
    say(
        "requeued with fresh attempts, and as the text is still no photo it is dead again, 2 attempts in its history",
    );
    Ok((id, letter))
}

/// Writes each completed job's result, and notes the jobs without one.
fn save(
    sandhog: &Sandhog,
    accepted: &[Accepted<'_>],
    ends: &BTreeMap<String, Value>,
    results: &Path,
    figures: &mut Figures,
) -> Result<(), String> {
    // What an earlier demo left would look like a result of this one.
    if results.exists() {
        fs::remove_dir_all(results)
            .map_err(|e| format!("cannot clear {}: {e}", results.display()))?;
    }
    for Accepted { id, input } in accepted {
        let Some(end) = ends.get(id) else {
            figures
                .notes
                .push(format!("lost: {} ({id})", input.file.display()));
            continue;
        };
        if end["state"] != "completed" {
            let (state, cause) = (text(end, "state"), text(&end["failure"], "cause"));
            figures
                .notes
                .push(format!("{state}: {}: {cause}", input.file.display()));
            continue;
        }
        let place = results.join(&input.result);
        let folder = place.parent().unwrap_or(results);
        fs::create_dir_all(folder).map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
        let job = sandhog.tell(&["job", "show", id])?.json;
        let bytes = result::bytes(&job)?;
        fs::write(&place, &bytes).map_err(|e| format!("cannot write {}: {e}", place.display()))?;
        if bytes.is_empty() {
            figures.missing += 1;
            figures
                .notes
                .push(format!("no result: {} ({id})", input.file.display()));
        }
    }
    Ok(())
}

fn say(line: &str) {
    eprintln!("demo: {line}");
}

/// A folder of its own for this demo, removed at its end.
struct Home(PathBuf);

impl Home {
    fn new(plugins: &[PathBuf]) -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("sandhog-demo-{}", std::process::id()));
        let home = Self(folder.clone());
        let inner = folder.join("plugins");
        fs::create_dir_all(&inner).map_err(|e| format!("cannot make {}: {e}", inner.display()))?;
        for plugin in plugins {
            let place = inner.join(plugin.file_name().unwrap_or_default());
            fs::copy(plugin, &place)
                .map_err(|e| format!("cannot copy {}: {e}", plugin.display()))?;
        }
        Ok(home)
    }

    fn sandhog(&self, program: PathBuf) -> Sandhog {
        Sandhog {
            program,
            data: self.0.join("data"),
            plugins: self.0.join("plugins"),
            log: self.0.join("runner.log"),
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // A temporary folder that stays is no failure of the demo.
        let _ = fs::remove_dir_all(&self.0);
    }
}
