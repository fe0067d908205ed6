//! A kind without a letter.
//~ "" => the name is empty: write 1 to 128 letters

#[sandhog_sdk::job(kind = "")]
fn greet(_: String) {}

sandhog_sdk::export!(greet);

fn main() {}
