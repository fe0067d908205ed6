//! One attempt without a runner: again after each change, until someone says that it is enough.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command},
    time::{Duration, Instant},
};

use sandhog_kit::{Home, Receiver, guest, plugin, wait};

use crate::SANDHOG;

const SOON: Duration = Duration::from_secs(60);

/// A `plugin run --watch` that is killed when the test lets it go.
struct Watching {
    child: Child,
    folder: PathBuf,
}

impl Watching {
    fn start(home: &Home, words: &[&str]) -> Self {
        let folder = home.folder().to_owned();
        let into = |name: &str| File::create(folder.join(name)).unwrap();
        let child = home
            .command(&[&["plugin", "run"], words, &["--watch"]].concat())
            .stdout(into("out"))
            .stderr(into("err"))
            .spawn()
            .unwrap();
        Self { child, folder }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap()
    }

    /// Waits until this was said on a stream, that many times.
    #[track_caller]
    fn said(&self, name: &str, what: &str, times: usize) {
        let goal = format!("{what:?} {times} times on {name}");
        wait::until(&goal, SOON, || {
            (self.read(name).matches(what).count() == times).then_some(())
        });
    }

    fn interrupt(&self) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args(["-INT", &pid]).status().unwrap();
        assert!(status.success());
    }

    /// Its exit code, once it ended by itself.
    fn code(&mut self) -> Option<i32> {
        let status = wait::until("the watch to end", SOON, || self.child.try_wait().unwrap());
        status.code()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Puts a file in its place in one step, as an editor does.
fn put(path: &Path, content: impl AsRef<[u8]>) {
    let fresh = path.with_extension("fresh");
    fs::write(&fresh, content).unwrap();
    fs::rename(fresh, path).unwrap();
}

#[test]
fn it_runs_again_after_each_change_and_ends_well_with_ctrl_c() {
    let home = Home::new(SANDHOG);
    let component = home.folder().join("a.wasm");
    let payload = home.folder().join("payload.txt");
    put(&component, fs::read(guest("misbehave")).unwrap());
    put(&payload, "first");
    let words = [component.to_str().unwrap(), "--kind", "echo", "--file"];
    let words = [&words[..], &[payload.to_str().unwrap()]].concat();
    let mut watching = Watching::start(&home, &words);
    watching.said("out", "first\n", 1);
    watching.said("err", "waiting for a change", 1);
    put(&payload, "second, and longer\n");
    watching.said("out", "second, and longer\n", 1);
    // What cannot be run is told, and waited out.
    put(&component, "no component at all");
    watching.said("err", "sandhog: ", 1);
    watching.said("err", "waiting for a change", 3);
    put(&component, fs::read(guest("misbehave")).unwrap());
    watching.said("out", "second, and longer\n", 2);
    watching.said("err", "waiting for a change", 4);
    watching.interrupt();
    assert_eq!(watching.code(), Some(0), "{}", watching.read("err"));
    assert_eq!(watching.read("err").matches("changed: ").count(), 3);
    assert_eq!(watching.read("out").matches("first").count(), 1);
}

#[test]
fn ctrl_c_ends_an_attempt_that_runs() {
    let receiver = Receiver::start();
    let home = Home::new(SANDHOG);
    let component = home.folder().join("webhook.wasm");
    put(&component, fs::read(plugin("webhook")).unwrap());
    let grants =
        "[[grants.http]]\norigin = \"http://127.0.0.1:*\"\nmethods = [\"POST\"]\nprivate = true\n";
    put(&component.with_extension("toml"), grants);
    home.write_config(
        "[capabilities]\nprivate = [\"127.0.0.0/8\"]\n[kind.webhook.config]\nsecret = \"none\"\n",
    );
    let url = format!("url={}/silent", receiver.origin());
    let words = [
        component.to_str().unwrap(),
        "--payload",
        "{}",
        "--header",
        &url,
    ];
    let mut watching = Watching::start(&home, &words);
    let _ = receiver.next();
    let asked = Instant::now();
    watching.interrupt();
    assert_eq!(watching.code(), Some(0), "{}", watching.read("err"));
    // The handler itself would wait for 15 seconds, and then there would be another round.
    assert!(asked.elapsed() < Duration::from_secs(10));
    assert!(
        watching.read("err").contains("not-run"),
        "{}",
        watching.read("err")
    );
}

#[test]
fn an_attempt_shows_what_it_used_and_has_the_grants_beside_it() {
    let home = Home::new(SANDHOG);
    let component = home.folder().join("webhook.wasm");
    put(&component, fs::read(plugin("webhook")).unwrap());
    home.write_config(
        "[kind.webhook]\nmemory = \"4MiB\"\n[kind.webhook.config]\nsecret = \"none\"\n",
    );
    let words = [
        "plugin",
        "run",
        component.to_str().unwrap(),
        "--header",
        "url=https://a.example/",
    ];
    let denied = home.run(&words).exits(1);
    assert!(denied.stderr.contains("http-denied"), "{}", denied.stderr);
    assert!(
        denied.stderr.contains("[[grants.http]]"),
        "{}",
        denied.stderr
    );
    assert!(
        denied.stderr.contains(" of processor time, "),
        "{}",
        denied.stderr
    );
    assert!(
        denied.stderr.contains(" of 4.0 MiB memory"),
        "{}",
        denied.stderr
    );
    let json = home
        .run(&[&words[..], &["-o", "json"]].concat())
        .exits(1)
        .json();
    assert!(json["cpu_us"].as_u64().unwrap() > 0 && json["peak_memory"].as_u64().unwrap() > 0);
}
