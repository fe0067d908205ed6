//! Files a command writes.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use anyhow::Context as _;

/// Put bytes into a file in one step: readers see the old content or the new, never a part. What is
/// there and is no plain file, such as `/dev/stdout`, is written to as it is.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let written = match fs::canonicalize(path) {
        Ok(target) if target.is_file() => swap(&target, bytes),
        Ok(target) => File::options()
            .write(true)
            .open(target)
            .and_then(|mut file| file.write_all(bytes)),
        Err(_) => swap(path, bytes),
    };
    written.with_context(|| format!("cannot write {}", path.display()))
}

fn swap(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let fresh = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let written = File::create(&fresh)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&fresh, path));
    if written.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.png");
        replace(&path, b"old").unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let link = folder.path().join("link.png");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        replace(&link, b"through").unwrap();
        assert!(link.is_symlink() && fs::read(&path).unwrap() == b"through");
        fs::remove_file(link).unwrap();
        replace(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!Path::new("/dev/null").is_file());
        let refused = replace(&folder.path().join("none/out.png"), b"x").unwrap_err();
        assert!(refused.to_string().contains("none/out.png"));
        fs::create_dir(folder.path().join("dir")).unwrap();
        assert!(replace(&folder.path().join("dir"), b"x").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
