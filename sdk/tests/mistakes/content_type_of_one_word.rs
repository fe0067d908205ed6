//! A media type that is none.
//~ "png" => `png` is no media type: write two words with a `/`, such as `image/png`

#[sandhog_sdk::job(content_type = "png")]
fn greet(_: String) {}

sandhog_sdk::export!(greet);

fn main() {}
