//! An error that is a text.
//~ String => a text becomes one by `Error::retryable(text)` or `Error::permanent(text)`

#[sandhog_sdk::job]
fn greet() -> Result<(), String> {
    Ok(())
}

sandhog_sdk::export!(greet);

fn main() {}
