//! An `export!` of a name in quotes.
//~ "greet" => name the function without quotes: `export!(greet);`

#[sandhog_sdk::job]
fn greet() {}

sandhog_sdk::export!("greet");

fn main() {}
