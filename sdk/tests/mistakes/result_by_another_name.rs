//! A `Result` that the attribute cannot know.
//~ Answer => write `Result<..>` out where an alias of it stands

use sandhog_sdk::Error;

type Answer = Result<(), Error>;

#[sandhog_sdk::job]
fn greet() -> Answer {
    Ok(())
}

sandhog_sdk::export!(greet);

fn main() {}
