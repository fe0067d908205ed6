//! Two handlers of one kind.
//~ part => an earlier handler has the same kind: give this one its own by `kind = ".."`

#[sandhog_sdk::job(kind = "greet")]
fn greet() {}

#[sandhog_sdk::job(kind = "greet")]
fn part() {}

sandhog_sdk::export!(greet, part);

fn main() {}
