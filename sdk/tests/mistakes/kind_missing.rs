//! A key without its value.
//~ kind => `kind` needs a value: write `kind = "greet"`

#[sandhog_sdk::job(kind)]
fn greet(_: String) {}

sandhog_sdk::export!(greet);

fn main() {}
