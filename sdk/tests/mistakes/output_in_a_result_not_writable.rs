//! A result in a `Result` that serde cannot write.
//~ Greeting => put `#[derive(serde::Serialize)]` on it

use sandhog_sdk::Error;

struct Greeting;

#[sandhog_sdk::job]
fn greet() -> Result<Greeting, Error> {
    Ok(Greeting)
}

sandhog_sdk::export!(greet);

fn main() {}
