//! An input that is borrowed.
//~ &str => the input is taken by value, without `&`

#[sandhog_sdk::job]
fn greet(_: &str) {}

sandhog_sdk::export!(greet);

fn main() {}
