//! Real inputs: those the project carries, and more where they lie beside the checkout.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A photo with what another program says of it.
#[derive(Debug, Clone)]
pub struct Photo {
    /// The file.
    pub file: PathBuf,
    /// Its width in pixels.
    pub width: u32,
    /// Its height in pixels.
    pub height: u32,
}

/// The photos beside the checkout, by name, width and height.
const SHARED: [(&str, u32, u32); 8] = [
    ("astronaut.png", 512, 512),
    ("chelsea.png", 451, 300),
    ("coffee.png", 600, 400),
    ("horse.png", 400, 328),
    ("hubble_deep_field.jpg", 1000, 872),
    ("retina.jpg", 1411, 1411),
    ("rocket.jpg", 640, 427),
    ("text.png", 448, 172),
];
/// The project's own.
const OWN: [(&str, u32, u32); 3] = [
    ("badge.png", 64, 48),
    ("hills.jpg", 400, 600),
    ("rings.png", 480, 320),
];

/// The workspace's folder.
#[must_use]
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of real inputs beside the checkout, when there is one.
fn shared() -> Option<PathBuf> {
    let root = fs::canonicalize(workspace()).ok()?;
    let folder = root.parent()?.join("shared/data");
    folder.is_dir().then_some(folder)
}

/// Every photo at hand, the project's own first.
#[must_use]
pub fn photos() -> Vec<Photo> {
    let photo = |file: PathBuf, width, height| Photo {
        file,
        width,
        height,
    };
    let mut all: Vec<Photo> = OWN
        .iter()
        .map(|(name, w, h)| photo(own(name), *w, *h))
        .collect();
    if let Some(folder) = shared() {
        let folder = folder.join("photos");
        all.extend(
            SHARED
                .iter()
                .map(|(name, w, h)| photo(folder.join(name), *w, *h)),
        );
    }
    all
}

/// A table beside the checkout, when it is there.
#[must_use]
pub fn shared_table(name: &str) -> Option<PathBuf> {
    let file = shared()?.join("tables").join(name);
    file.is_file().then_some(file)
}

/// A file the project carries in `tests/inputs`.
#[must_use]
pub fn own(name: &str) -> PathBuf {
    workspace().join("tests/inputs").join(name)
}
