//! No attempt at all.
//~ 0 => with no attempt the job would never run: write 1 or more, `max_attempts = 5`

#[sandhog_sdk::job(max_attempts = 0)]
fn greet(_: String) {}

sandhog_sdk::export!(greet);

fn main() {}
