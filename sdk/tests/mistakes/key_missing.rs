//! A kind without its key.
//~ "greet" => a value needs its key: write `kind = "greet"`

#[sandhog_sdk::job("greet")]
fn greet(_: String) {}

sandhog_sdk::export!(greet);

fn main() {}
