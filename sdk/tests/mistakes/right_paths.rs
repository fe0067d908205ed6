//! No mistake: handlers named by every form of a path, below the module that has them.

#[sandhog_sdk::job]
fn greet() {}

mod pages {
    #[sandhog_sdk::job]
    pub(crate) fn render() {}
}

mod below {
    use crate::pages;

    #[sandhog_sdk::job]
    fn own() {}

    pub mod deeper {
        #[sandhog_sdk::job]
        pub fn dig() {}
    }

    sandhog_sdk::export!(
        super::greet,
        self::own,
        deeper::dig,
        pages::render,
    );

    pub fn call() {
        own();
    }
}

fn main() {
    greet();
    pages::render();
    below::call();
    below::deeper::dig();
}
