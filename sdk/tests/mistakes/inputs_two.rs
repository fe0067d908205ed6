//! Two inputs.
//~ u32 => put several inputs into one struct with `#[derive(Deserialize)]`

#[sandhog_sdk::job]
fn greet(_: String, _: u32) {}

sandhog_sdk::export!(greet);

fn main() {}
