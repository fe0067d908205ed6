//! An input without a named type.
//~ impl Clone => the input's type has to be known: name it in place of `impl ..`

#[sandhog_sdk::job]
fn greet(_: impl Clone) {}

sandhog_sdk::export!(greet);

fn main() {}
