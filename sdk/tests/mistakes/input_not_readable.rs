//! An input that serde cannot read.
//~ Guest => put `#[derive(serde::Deserialize)]` on it

struct Guest;

#[sandhog_sdk::job]
fn greet(_: Guest) {}

sandhog_sdk::export!(greet);

fn main() {}
