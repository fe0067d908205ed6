//! A function that is async.
//~ async => take `async` away

#[sandhog_sdk::job]
async fn greet(_: String) {}

sandhog_sdk::export!(greet);

fn main() {}
