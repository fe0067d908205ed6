//! A function with type parameters.
//~ <T> => take the parameters away and name the types of its input and output

#[sandhog_sdk::job]
fn greet<T>(_: T) {}

sandhog_sdk::export!(greet);

fn main() {}
