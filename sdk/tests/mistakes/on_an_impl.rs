//! The attribute on a block of methods.
//~ impl => `#[job]` does not go on an `impl`: put it on a function such as `fn greet(

struct Greeter;

#[sandhog_sdk::job]
impl Greeter {}

fn main() {
    let _ = Greeter;
}
