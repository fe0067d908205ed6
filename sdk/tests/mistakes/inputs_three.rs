//! Three arguments.
//~ u32 => put what belongs to the payload into one struct

use sandhog_sdk::Context;

#[sandhog_sdk::job]
fn greet(_: String, _: &Context, _: u32) {}

sandhog_sdk::export!(greet);

fn main() {}
