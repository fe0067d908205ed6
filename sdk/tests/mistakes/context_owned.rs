//! The context by value.
//~ Context => write `&Context`

use sandhog_sdk::Context;

#[sandhog_sdk::job]
fn greet(_: String, _: Context) {}

sandhog_sdk::export!(greet);

fn main() {}
