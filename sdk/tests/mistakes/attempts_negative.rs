//! A number below zero.
//~ -1 => `trap_attempts` is a whole number from 1 to 4294967295: write `trap_attempts = 3`

#[sandhog_sdk::job(trap_attempts = -1)]
fn greet(_: String) {}

sandhog_sdk::export!(greet);

fn main() {}
