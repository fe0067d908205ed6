//! Two keys without a comma between them.
//~ queue => put a `,` between this and what is before it

#[sandhog_sdk::job(kind = "greet" queue = "a")]
fn greet(_: String) {}

sandhog_sdk::export!(greet);

fn main() {}
