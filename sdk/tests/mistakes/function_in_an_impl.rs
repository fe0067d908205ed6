//! A function inside of an `impl`.
//~ #[sandhog_sdk::job] => consider moving the struct out to a nearby module scope
//~ #[sandhog_sdk::job] => consider moving the implementation out to a nearby module scope

struct Greeter;

impl Greeter {
    #[sandhog_sdk::job]
    fn greet(_: String) {}
}

fn main() {
    Greeter::greet(String::new());
}
