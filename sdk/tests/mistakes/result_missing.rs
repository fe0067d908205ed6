//! A `?` in a function that returns no `Result`.
//~ ? => can only be used in a function that returns `Result`

#[sandhog_sdk::job]
fn greet(name: String) -> u32 {
    name.parse::<u32>()?
}

sandhog_sdk::export!(greet);

fn main() {}
