//! A key that is given twice.
//~ queue => `queue` is given twice: take one of them out

#[sandhog_sdk::job(queue = "a", queue = "b")]
fn greet(_: String) {}

sandhog_sdk::export!(greet);

fn main() {}
