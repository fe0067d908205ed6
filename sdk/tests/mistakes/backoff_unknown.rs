//! A backoff of no known shape.
//~ "sometimes" => `sometimes` is no backoff: it begins with `polynomial`, `fixed`

#[sandhog_sdk::job(backoff = "sometimes")]
fn greet(_: String) {}

sandhog_sdk::export!(greet);

fn main() {}
