//! No mistake at all, or the others would prove nothing.

#[sandhog_sdk::job(kind = "greet", timeout = "1s", max_attempts = 1)]
fn greet(name: String) -> Result<String, sandhog_sdk::Error> {
    Ok(name)
}

#[sandhog_sdk::job]
fn part(_: &sandhog_sdk::Context) -> u32 {
    7
}

sandhog_sdk::export!(greet, part);

fn main() {}
