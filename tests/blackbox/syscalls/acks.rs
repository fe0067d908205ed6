//! Nothing is acknowledged before it is on the device: read off the system calls of a runner.

use std::{collections::BTreeSet, fs, path::Path};

use super::{
    audit,
    strace::{self, Traced},
    told,
    trace::{self, Call},
};

/// An acknowledgement of an enqueue, and of an end that someone waited for.
const ENQUEUED: &[u8] = b"\xA8Enqueued";
const WAITED: &[u8] = b"\xA6Waited";
/// A job's id is 16 bytes behind this.
const ID: &[u8] = b"\xC4\x10";

/// Kinds of records, as `docs/log-format.md` numbers them.
const ENQUEUED_RECORD: u8 = 1;
const SETTLED_RECORD: u8 = 4;

/// What was written and not known to be on the device.
#[derive(Default)]
struct Device {
    /// File, bytes, and whether a sync came after.
    written: Vec<(String, Vec<u8>, bool)>,
    /// Segments whose name is not on the device.
    unnamed: BTreeSet<String>,
    /// The files of which a sync failed.
    failed: BTreeSet<String>,
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Whether a record's head in `bytes` has this kind and begins with this id, in the log's order of bytes,
/// with or without the place of the record before it.
fn tells(bytes: &[u8], id: &[u8], kind: u8) -> bool {
    let id: Vec<u8> = id.iter().rev().copied().collect();
    let places = bytes.windows(id.len()).enumerate();
    let mut places = places.filter(|(_, window)| **window == *id);
    places.any(|(at, _)| {
        let begins = |before: usize, flag: u8| {
            let start = at.checked_sub(before);
            start.is_some_and(|start| bytes[start..].starts_with(&[kind, flag]))
        };
        begins(6, 0) || begins(14, 1)
    })
}

fn ids(reply: &[u8]) -> Vec<&[u8]> {
    let places = reply
        .windows(2)
        .enumerate()
        .filter(|(_, window)| *window == ID);
    places
        .filter_map(|(at, _)| reply.get(at + 2..at + 18))
        .collect()
}

impl Device {
    /// Whether a record of this kind about this job is on the device.
    fn has(&self, id: &[u8], kind: u8) -> bool {
        self.written.iter().any(|(file, bytes, synced)| {
            *synced && !self.unnamed.contains(file) && tells(bytes, id, kind)
        })
    }

    fn take(&mut self, call: &Call) -> Result<(), String> {
        let done = call.result.is_some_and(|result| result >= 0);
        let broken = self.failed.contains(&call.file);
        match call.name.as_str() {
            "pwrite64" | "fdatasync" if broken => {
                return Err(format!(
                    "{} on {} after a failed sync",
                    call.name, call.file
                ));
            }
            "pwrite64" if done => {
                let bytes = call.texts.concat();
                self.written.push((call.file.clone(), bytes, false));
            }
            "fdatasync" if done => {
                let file = self
                    .written
                    .iter_mut()
                    .filter(|(file, ..)| *file == call.file);
                file.for_each(|(_, _, synced)| *synced = true);
            }
            "fdatasync" => {
                self.failed.insert(call.file.clone());
            }
            "rename" if done => {
                let name = |at: usize| String::from_utf8_lossy(&call.texts[at]).into_owned();
                let (from, to) = (name(0), name(1));
                self.written.retain(|(file, ..)| *file != to);
                let moved = self.written.iter_mut().filter(|(file, ..)| *file == from);
                moved.for_each(|(file, ..)| file.clone_from(&to));
                self.unnamed.insert(to);
            }
            "fsync" if done => {
                let below = |file: &String| Path::new(file).parent() == Some(Path::new(&call.file));
                self.unnamed.retain(|file| !below(file));
            }
            _ => {}
        }
        Ok(())
    }

    /// What a reply says that is not on the device.
    fn check(&self, reply: &[u8]) -> Result<usize, String> {
        let kind = match reply {
            _ if holds(reply, ENQUEUED) => ENQUEUED_RECORD,
            _ if holds(reply, WAITED) && holds(reply, b"completed") => SETTLED_RECORD,
            _ => return Ok(0),
        };
        if !self.failed.is_empty() {
            return Err("an acknowledgement after a failed sync".into());
        }
        let ids = ids(reply);
        match ids.iter().find(|id| !self.has(id, kind)) {
            Some(id) => Err(format!(
                "{id:02x?} was acknowledged before it was on the device"
            )),
            None => Ok(ids.len()),
        }
    }
}

/// How many ids were acknowledged, or the first one that was so too early.
pub(super) fn check(trace: &str) -> Result<usize, String> {
    let (mut device, mut acknowledged) = (Device::default(), 0);
    // A reply counts from where its call begins, everything else from where it ends.
    let mut replies: Vec<Call> = Vec::new();
    let calls = trace::calls(trace);
    replies.extend(calls.iter().filter(|call| call.name == "sendto").cloned());
    replies.sort_by_key(|reply| reply.begun);
    let mut replies = replies.into_iter().peekable();
    for call in calls.iter().filter(|call| call.name != "sendto") {
        while let Some(reply) = replies.next_if(|reply| reply.begun < call.begun) {
            acknowledged += device.check(&reply.texts.concat())?;
        }
        device.take(call)?;
    }
    for reply in replies {
        acknowledged += device.check(&reply.texts.concat())?;
    }
    Ok(acknowledged)
}

/// The options that make a trace for [`check`].
pub(super) const TRACE: [&str; 3] = [
    "-s",
    "1000000",
    "--trace=pwrite64,fdatasync,fsync,rename,sendto",
];

#[test]
fn t2b_every_acknowledgement_follows_the_sync_that_covers_it() {
    if !strace::permitted() {
        return;
    }
    strace::compile();
    let home = strace::home();
    let mut traced = Traced::start(&home, &TRACE);
    assert!(traced.ready(), "{}", traced.said());
    let promised = audit::work(&home, &mut traced);
    for _ in 0..3 {
        let _ = home.run(&["enqueue", "echo", "x", "--wait"]).exits(0);
    }
    traced.ask();
    assert!(traced.end().success(), "{}", traced.said());
    let trace = fs::read_to_string(&traced.calls).expect("a trace");
    let count = check(&trace).unwrap_or_else(|why| panic!("{why}"));
    assert!(
        count >= promised.kept.len() + 3,
        "{count} seen in the trace"
    );
    assert!(trace.contains("0000000002.seg"), "no segment was begun");
    told(
        "T2b",
        &format!("{count} acknowledgements, each after its sync"),
    );
}

#[cfg(test)]
mod tests {
    use super::check;

    const REPLY: &str = r#"2 sendto(5<socket:[1]>, "\0\0\0%\201\242Ok\201\250Enqueued\221\201\242Ok\304\020abcdefghijklmnop", 41, 0, NULL, 0) = 41"#;
    const WRITE: &str =
        r#"1 pwrite64(3</d/1.seg>, "h\1\0\70\0\0\0ponmlkjihgfedcbazz", 120, 48) = 120"#;
    const SYNC: &str = "1 fdatasync(3</d/1.seg>) = 0";
    const FAILED: &str = "1 fdatasync(3</d/1.seg>) = -1 EIO (Input/output error) (INJECTED)";
    const NAME: &str = r#"1 rename("/d/spare.tmp", "/d/1.seg") = 0"#;
    const NAMED: &str = "1 fsync(4</d>) = 0";

    fn answer(lines: &[&str]) -> Result<usize, String> {
        check(&lines.join("\n"))
    }

    #[test]
    fn the_right_order_is_taken() {
        assert_eq!(answer(&[NAME, NAMED, WRITE, SYNC, REPLY]), Ok(1));
        assert_eq!(answer(&[WRITE, SYNC, REPLY]), Ok(1));
    }

    #[test]
    fn each_wrong_order_is_found() {
        for bad in [
            &[WRITE, REPLY, SYNC][..],
            &[SYNC, WRITE, REPLY],
            &[REPLY],
            &[NAME, WRITE, SYNC, REPLY, NAMED],
            &[WRITE, FAILED, REPLY],
            &[WRITE, FAILED, SYNC, REPLY],
            &[WRITE, SYNC, WRITE, FAILED, WRITE],
        ] {
            assert!(answer(bad).is_err(), "{bad:#?}");
        }
    }

    #[test]
    fn a_reply_counts_from_its_beginning() {
        let (begun, ended) = REPLY.split_once(", 0, NULL").unwrap();
        let begun = format!("{begun} <unfinished ...>");
        let ended = format!("2 <... sendto resumed>, 0, NULL{ended}");
        assert!(answer(&[WRITE, &begun, SYNC, &ended]).is_err());
        assert_eq!(answer(&[WRITE, SYNC, &begun, &ended]), Ok(1));
    }
}
