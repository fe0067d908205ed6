//! An `export!` of a call.
//~ greet => name the function, do not call it: take the `()` away

#[sandhog_sdk::job]
fn greet() {}

sandhog_sdk::export!(greet());

fn main() {}
