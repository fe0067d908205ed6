//! A context to be changed.
//~ mut => take `mut` away

use sandhog_sdk::Context;

#[sandhog_sdk::job]
fn greet(_: String, _: &mut Context) {}

sandhog_sdk::export!(greet);

fn main() {}
