//! A duration without a length.
//~ "0s" => the duration `0s` is zero: write 1 or more of a unit

#[sandhog_sdk::job(timeout = "0s")]
fn greet(_: String) {}

sandhog_sdk::export!(greet);

fn main() {}
