//! The attribute on what is no function.
//~ struct Greet; => `#[job]` goes on a function alone: put it on a function such as `fn greet(

#[sandhog_sdk::job]
struct Greet;

fn main() {
    let _ = Greet;
}
