//! A text without quotes.
//~ greet => `kind` is a text in quotes: write `kind = "greet"`

#[sandhog_sdk::job(kind = greet)]
fn greet(_: String) {}

sandhog_sdk::export!(greet);

fn main() {}
