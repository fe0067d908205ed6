//! A result that serde cannot write.
//~ Greeting => put `#[derive(serde::Serialize)]` on it

struct Greeting;

#[sandhog_sdk::job]
fn greet() -> Greeting {
    Greeting
}

sandhog_sdk::export!(greet);

fn main() {}
