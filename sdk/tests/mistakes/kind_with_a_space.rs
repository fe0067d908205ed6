//! A kind with what no kind can have in it.
//~ "say hello" => a name cannot have a space in it: write 1 to 128 letters of a-z and A-Z, digits, `-`, `_`, `.` or `:`, such as `say-hello`

#[sandhog_sdk::job(kind = "say hello")]
fn greet(_: String) {}

sandhog_sdk::export!(greet);

fn main() {}
