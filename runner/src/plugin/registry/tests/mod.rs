//! The plugin folder, and single files, with components good and bad.

mod files;
mod folder;
mod hold;
mod machine;

use crate::plugin::sandbox::tests::kit::HandMade;

/// A small component that serves some kinds.
fn component(kinds: &[&str]) -> Vec<u8> {
    let kinds: Vec<String> = kinds
        .iter()
        .map(|kind| format!(r#"{{"kind":"{kind}"}}"#))
        .collect();
    let describe = format!(r#"{{"schema":1,"kinds":[{}]}}"#, kinds.join(","));
    hand_made(&HandMade {
        describe: &describe,
        ..HandMade::default()
    })
}

fn hand_made(text: &HandMade<'_>) -> Vec<u8> {
    wat::parse_str(text.text()).unwrap()
}
