//! A key that is misspelt.
//~ time_out => did you mean `timeout = "30s"`?

#[sandhog_sdk::job(time_out = "1s")]
fn greet(_: String) {}

sandhog_sdk::export!(greet);

fn main() {}
