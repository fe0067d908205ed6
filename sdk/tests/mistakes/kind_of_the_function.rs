//! A function whose name cannot be a kind.
//~ grüße => the function's name cannot be the kind as well (a name cannot have `ü` in it

#[sandhog_sdk::job]
fn grüße(_: String) {}

sandhog_sdk::export!(grüße);

fn main() {}
