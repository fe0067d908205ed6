//! A duration that is a number.
//~ 30 => `timeout` is a text in quotes: write `timeout = "30s"`

#[sandhog_sdk::job(timeout = 30)]
fn greet(_: String) {}

sandhog_sdk::export!(greet);

fn main() {}
