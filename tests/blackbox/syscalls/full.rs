//! T9: a disk without room, by `strace` and for real on a small file system of its own.

use std::{
    process::{Child, Command, Stdio},
    time::Duration,
};

use sandhog_kit::{Answer, Home, wait};

use super::{
    audit::{self, Promised},
    strace::{self, Traced},
    told,
};

/// What a refusal for want of room says.
const NO_ROOM: &str = "no room on the disk";

/// Enqueues until a refusal and then until it is taken again; nothing else may happen.
fn fill(promised: &mut Promised, run: impl Fn(&[&str]) -> Answer, relieve: impl FnOnce()) {
    let payload = "x".repeat(9_000);
    let mut enqueue = |after: &mut Option<Answer>| {
        let answer = run(&["enqueue", "echo", &payload]);
        if answer.code == 0 {
            promised.kept.insert(answer.text());
        } else {
            assert!(answer.stderr.contains(NO_ROOM), "{}", answer.stderr);
            *after = Some(answer);
        }
    };
    let bound = Duration::from_secs(60);
    let mut refused = None;
    wait::until("a refusal", bound, || {
        enqueue(&mut refused);
        refused.clone()
    });
    relieve();
    wait::until("room again", bound, || {
        let mut refused = None;
        enqueue(&mut refused);
        refused.is_none().then_some(())
    });
}

#[test]
fn t9_a_full_disk_refuses_new_jobs_until_there_is_room_again() {
    if !strace::permitted() {
        return;
    }
    strace::compile();
    let home = strace::home();
    let spare = strace::log(&home).join("spare.tmp");
    let spare = spare.to_str().expect("UTF-8");
    // The first spare is made when it is needed, the others ahead on a thread of their own, and
    // faults are counted by thread. Each try for room meets the fault once, and the next comes half
    // a second later.
    let fault = "--inject=openat:error=ENOSPC:when=2..5";
    let mut traced = Traced::start(&home, &["-P", spare, "--trace=openat", fault]);
    assert!(traced.ready(), "{}", traced.said());
    let mut promised = Promised::default();
    fill(&mut promised, |words| home.run(words), || {});
    assert!(traced.ended().is_none(), "{}", traced.said());
    traced.ask();
    assert!(traced.end().success(), "{}", traced.said());
    audit::audit(&home, &promised, "ENOSPC");
    told(
        "T9",
        "ENOSPC by strace: refused, taken again without a restart",
    );
}

#[test]
fn t9_no_room_for_a_record_loses_nothing() {
    if !strace::permitted() {
        return;
    }
    strace::compile();
    for at in [1, 4, 9] {
        let home = strace::home();
        let segment = strace::log(&home).join("0000000001.seg");
        let segment = segment.to_str().expect("UTF-8");
        let fault = format!("--inject=pwrite64:error=ENOSPC:when={at}");
        let mut traced = Traced::start(&home, &["-P", segment, "--trace=pwrite64", &fault]);
        let mut promised = Promised::default();
        if traced.ready() {
            promised = audit::work(&home, &mut traced);
        }
        traced.ask();
        let status = traced.end();
        drop(traced);
        audit::audit(
            &home,
            &promised,
            &format!("ENOSPC at write {at} of a segment: {status}"),
        );
    }
}

/// A process that holds a mount namespace with a small file system on the data directory.
struct Small(Child);

impl Small {
    /// `None`, and said so, when this system lets nobody mount.
    fn new(home: &Home, options: &str) -> Option<Self> {
        let data = home.data();
        let script =
            "mount -t tmpfs -o \"$1\" tmpfs \"$0\" && touch \"$0/mounted\" && exec sleep 600";
        let holder = Command::new("unshare")
            .args(["-m", "sh", "-c", script])
            .arg(&data)
            .arg(options)
            .stderr(Stdio::null())
            .spawn();
        let mut small = Self(holder.expect("unshare can be run"));
        let mounted = wait::until("the mount", Duration::from_secs(10), || {
            if small.0.try_wait().expect("a child can be asked").is_some() {
                return Some(false);
            }
            let there = small
                .command(home, "test", &["-e", "data/mounted"])
                .status();
            there.expect("nsenter can be run").success().then_some(true)
        });
        if !mounted {
            let line = "NOT RUN, this system lets nobody mount: a full disk for real\n";
            let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
        }
        mounted.then_some(small)
    }

    /// What a command in there begins with. The folder is looked up in there too.
    fn wrapper(&self, home: &Home) -> Vec<String> {
        let folder = home.folder().to_str().expect("UTF-8");
        let target = format!("--target={}", self.0.id());
        let shell = ["sh", "-c", "cd \"$0\" && exec \"$@\"", folder];
        let mut words = vec!["nsenter".to_owned(), target, "--mount".to_owned()];
        words.extend(shell.map(str::to_owned));
        words
    }

    fn command(&self, home: &Home, program: &str, words: &[&str]) -> Command {
        let wrapper = self.wrapper(home);
        let mut command = Command::new(&wrapper[0]);
        command.args(&wrapper[1..]).arg(program).args(words);
        command.stderr(Stdio::null());
        command
    }

    /// A command of the program in there.
    fn run(&self, home: &Home, words: &[&str]) -> Answer {
        let inner = home.command(words);
        let wrapper = self.wrapper(home);
        let mut command = Command::new(&wrapper[0]);
        command
            .args(&wrapper[1..])
            .arg(inner.get_program())
            .args(words);
        command.envs(
            inner
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        let out = command.output().expect("nsenter can be run");
        Answer {
            words: words.join(" "),
            code: out.status.code().unwrap_or(-1),
            stdout: out.stdout,
            stderr: String::from_utf8_lossy(&out.stderr).into_owned(),
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Fills a small file system with a runner on it, makes room, and restarts.
fn filled(options: &str, ballast: &str, told_as: &str) {
    strace::compile();
    let home = strace::home();
    let Some(small) = Small::new(&home, options) else {
        return;
    };
    let copy = format!("cp -r {}/. data/code && {ballast}", compiled());
    let made = small
        .command(&home, "sh", &["-c", &format!("mkdir data/code && {copy}")])
        .status();
    assert!(made.expect("sh can be run").success());
    let wrapper = small.wrapper(&home);
    let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
    let mut traced = Traced::under(&home, &wrapper, &[]);
    let run = |words: &[&str]| small.run(&home, words);
    let ready = || {
        wait::until("the runner", Duration::from_secs(60), || {
            let answer = run(&["stats", "-o", "json"]);
            (answer.code == 0).then_some(())
        });
    };
    wait::until("the runner to be ready", Duration::from_secs(60), || {
        let there = small
            .command(&home, "test", &["-S", "data/sandhog.sock"])
            .status();
        there.expect("test can be run").success().then_some(())
    });
    ready();
    let slow = run(&["enqueue", "sleep", "x", "--header", "ms=4000"])
        .exits(0)
        .text();
    let mut promised = Promised::default();
    promised.kept.insert(slow.clone());
    fill(&mut promised, run, || {
        // Its outcome finds room although new jobs do not.
        wait::until("the slow job", Duration::from_secs(60), || {
            let job = run(&["job", "show", &slow, "-o", "json"]).exits(0).json();
            (job["state"] == "completed").then_some(())
        });
        let freed = small
            .command(&home, "sh", &["-c", "rm -r data/ballast"])
            .status();
        assert!(freed.expect("sh can be run").success());
    });
    assert!(traced.ended().is_none(), "{}", traced.said());
    traced.ask();
    assert!(traced.end().success(), "{}", traced.said());
    for id in &promised.kept {
        let job = run(&["job", "show", id, "-o", "json"]).exits(0).json();
        let state = job["state"].as_str().expect("a state");
        assert!(["completed", "available"].contains(&state), "{job}");
    }
    let _ = run(&["log", "check"]).exits(0);
    told("T9", &format!("{told_as}: {} kept", promised.kept.len()));
}

fn compiled() -> String {
    format!("{}/compiled", env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn t9_a_small_disk_that_fills_up_works_again_once_there_is_room() {
    let ballast = "mkdir data/ballast && head -c 1000000 /dev/zero > data/ballast/file";
    filled("size=5m", ballast, "a file system of 5 MiB");
}

#[test]
fn t11_a_disk_out_of_inodes_works_again_once_there_are_some() {
    let ballast = "mkdir data/ballast && i=0 && while touch data/ballast/$i 2>/dev/null; do \
        i=$((i+1)); done; rm data/ballast/? data/ballast/1[0-3]";
    filled(
        "size=64m,nr_inodes=60",
        ballast,
        "a file system out of inodes",
    );
}
