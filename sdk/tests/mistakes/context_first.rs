//! The context before the input.
//~ &Context => write the input first, then `&Context`

use sandhog_sdk::Context;

#[sandhog_sdk::job]
fn greet(_: &Context, _: String) {}

sandhog_sdk::export!(greet);

fn main() {}
