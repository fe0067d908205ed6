//! A key as other job systems call it.
//~ retries => did you mean `max_attempts = 5`?

#[sandhog_sdk::job(retries = 3)]
fn greet(_: String) {}

sandhog_sdk::export!(greet);

fn main() {}
