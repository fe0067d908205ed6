//! The runner over HTTP.

mod batches;
mod checks;
mod feed;
mod gate;
mod large;
mod lines;
mod more_pages;
mod page;
mod pages;
mod remote;
mod resources;
mod slow;
mod steering;
mod sweep;

use std::{fs, os::unix::fs::PermissionsExt as _};

use sandhog_kit::{Home, Http, Runner};

use crate::SANDHOG;

/// A token for each role.
const VIEWER: &str = "viewer-0123456789abcdef";
const OPERATOR: &str = "operator-0123456789abcdef";
const ADMIN: &str = "admin-0123456789abcdef";

/// A runner that is reached over HTTP, with the misbehaving plugin.
fn runner() -> (Home, Runner, Http) {
    let home = Home::with(SANDHOG, &["misbehave"]).over_http();
    start(home)
}

/// The same, with a token for each role.
fn guarded() -> (Home, Runner, Http) {
    let home = Home::with(SANDHOG, &["misbehave"]).over_http();
    let text = format!("viewer:eyes:{VIEWER}\noperator:{OPERATOR}\nadmin:boss:{ADMIN}\n");
    let path = home.folder().join("tokens");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    home.write_config("[http]\ntoken_file = \"tokens\"\nhosts = [\"jobs.example\"]\n");
    start(home)
}

fn start(home: Home) -> (Home, Runner, Http) {
    let runner = home.start();
    let http = Http::new(runner.http());
    (home, runner, http)
}
