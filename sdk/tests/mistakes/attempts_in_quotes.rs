//! A number in quotes.
//~ "5" => `max_attempts` is a number without quotes: write `max_attempts = 5`

#[sandhog_sdk::job(max_attempts = "5")]
fn greet(_: String) {}

sandhog_sdk::export!(greet);

fn main() {}
