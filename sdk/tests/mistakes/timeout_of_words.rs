//! A duration that nobody can read.
//~ "soon" => `soon` is no duration: write whole numbers with `ms`, `s`, `m`, `h` or `d`, such as `1m30s`

#[sandhog_sdk::job(timeout = "soon")]
fn greet(_: String) {}

sandhog_sdk::export!(greet);

fn main() {}
