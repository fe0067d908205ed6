//! An `export!` of what is no function.
//~ Guest => name the function that carries `#[sandhog_sdk::job]`, or put the attribute on it

struct Guest;

sandhog_sdk::export!(Guest);

fn main() {
    let _ = Guest;
}
