//! A method.
//~ &self => move it out of the `impl`

struct Greeter;

impl Greeter {
    #[sandhog_sdk::job]
    fn greet(&self) {}
}

fn main() {
    Greeter.greet();
}
