//! A terminal that a program draws on, by `script` of util-linux.

use std::{
    fmt::Write as _,
    io::{Read as _, Write as _},
    num::NonZero,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use crate::{Home, wait};

/// Longest time for anything to be drawn.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program on a terminal of its own, within a shell that says where it is and what it left behind.
pub struct Terminal {
    child: Child,
    keys: ChildStdin,
    drawn: Arc<Mutex<Vec<u8>>>,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    /// Starts a command of the program on a terminal of this size. When it ended, `ended CODE` and the state of
    /// the terminal's line are printed.
    ///
    /// # Panics
    ///
    /// When `script` cannot be started.
    #[must_use]
    pub fn start(home: &Home, words: &[&str], columns: u16, rows: u16) -> Self {
        let command = home.command(words);
        let mut own = quoted(&command.get_program().to_string_lossy());
        for word in command.get_args() {
            let _ = write!(own, " {}", quoted(&word.to_string_lossy()));
        }
        let within = format!("echo pid=$$=; exec {own}");
        let all = format!(
            "stty cols {columns} rows {rows}; echo tty=$(tty)=; sh -c {}; echo \"ended $?\"; stty -a; echo over",
            quoted(&within)
        );
        let mut script = Command::new("script");
        script.args(["-q", "-f", "-e", "-c", &all, "/dev/null"]);
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => script.env(name, value),
                None => script.env_remove(name),
            };
        }
        script
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh")
            .current_dir(home.folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut child = script
            .spawn()
            .expect("script is there: it is part of util-linux");
        let keys = child.stdin.take().expect("it was asked for");
        let mut out = child.stdout.take().expect("it was asked for");
        let drawn = Arc::new(Mutex::new(Vec::new()));
        let screen = Arc::new(Mutex::new(vt100::Parser::new(size(rows), size(columns), 0)));
        let (kept, seen) = (Arc::clone(&drawn), Arc::clone(&screen));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut bytes) {
                let read = &bytes[..count];
                seen.lock().expect("nobody panics with it").process(read);
                kept.lock()
                    .expect("nobody panics with it")
                    .extend_from_slice(read);
            }
        });
        Self {
            child,
            keys,
            drawn,
            screen,
        }
    }

    /// Everything that was written to the terminal so far, orders included.
    ///
    /// # Panics
    ///
    /// When the thread that reads it panicked.
    #[must_use]
    pub fn drawn(&self) -> String {
        String::from_utf8_lossy(&self.drawn.lock().expect("nobody panics with it")).into_owned()
    }

    /// Presses keys.
    ///
    /// # Panics
    ///
    /// When the terminal is gone.
    pub fn press(&mut self, keys: &str) {
        self.keys
            .write_all(keys.as_bytes())
            .expect("the terminal is there");
        self.keys.flush().expect("the terminal is there");
    }

    /// What is on the screen now.
    ///
    /// # Panics
    ///
    /// When the thread that reads it panicked.
    #[must_use]
    pub fn screen(&self) -> String {
        self.screen
            .lock()
            .expect("nobody panics with it")
            .screen()
            .contents()
    }

    /// Waits until this is on the screen, and gives the screen.
    ///
    /// # Panics
    ///
    /// When it is not within 60 s.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        wait::until(&format!("{text:?} on the terminal"), PATIENCE, || {
            Some(self.screen()).filter(|screen| screen.contains(text))
        })
    }

    /// What stands between `NAME=` and `=`, once it was written.
    #[track_caller]
    fn told(&self, name: &str) -> String {
        wait::until(&format!("{name} of the terminal"), PATIENCE, || {
            let drawn = self.drawn();
            let (_, after) = drawn.split_once(&format!("{name}="))?;
            Some(after.split_once('=')?.0.to_owned())
        })
    }

    /// The program's process.
    #[track_caller]
    #[must_use]
    pub fn pid(&self) -> String {
        self.told("pid")
    }

    /// Makes the terminal larger or smaller.
    ///
    /// # Panics
    ///
    /// When `stty` fails.
    #[track_caller]
    pub fn resize(&self, columns: u16, rows: u16) {
        let tty = self.told("tty");
        // What the program draws at the new size waits for it.
        let mut screen = self.screen.lock().expect("nobody panics with it");
        let done = Command::new("stty")
            .args(["-F", &tty])
            .args(["cols", &columns.to_string(), "rows", &rows.to_string()])
            .status();
        screen.screen_mut().set_size(size(rows), size(columns));
        drop(screen);
        assert!(done.expect("stty can be run").success());
    }

    /// Waits until the program ended, and gives what was written from there on: its code, and the line's state.
    #[track_caller]
    #[must_use]
    pub fn end(&mut self) -> String {
        let end = wait::until("the program to end", PATIENCE, || {
            let drawn = self.drawn();
            let (_, end) = drawn.rsplit_once("ended ")?;
            end.contains("over").then(|| end.to_owned())
        });
        let _ = self.child.wait();
        end
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("the terminal had:\n{}", self.screen());
        }
    }
}

/// No terminal is smaller than one cell.
fn size(cells: u16) -> NonZero<u16> {
    NonZero::new(cells).unwrap_or(NonZero::<u16>::MIN)
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
