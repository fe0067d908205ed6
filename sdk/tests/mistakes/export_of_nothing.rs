//! An `export!` without a name.
//~ sandhog_sdk::export!() => name the functions with `#[sandhog_sdk::job]`: `export!(greet);`

#[sandhog_sdk::job]
fn greet() {}

sandhog_sdk::export!();

fn main() {}
