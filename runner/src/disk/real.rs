//! The machine's file system.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::fs::{FlockOperation, fdatasync, flock, fsync};

use super::{Disk, DiskError, DiskFile, DiskLock, OpenMode};

/// The machine's file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

struct RealFile {
    path: PathBuf,
    file: File,
}

struct RealLock(RealFile);

impl RealFile {
    fn failed(&self, wish: &'static str) -> impl Fn(io::Error) -> DiskError + '_ {
        move |cause| DiskError::new(wish, &self.path, &cause)
    }
}

fn failed(wish: &'static str, path: &Path) -> impl Fn(io::Error) -> DiskError {
    move |cause| DiskError::new(wish, path, &cause)
}

impl DiskFile for RealFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len(&self) -> Result<u64, DiskError> {
        Ok(self
            .file
            .metadata()
            .map_err(self.failed("read the length of"))?
            .len())
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, DiskError> {
        let mut filled = 0;
        while filled < into.len() {
            match self
                .file
                .read_at(&mut into[filled..], offset + filled as u64)
            {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(self.failed("read")(cause)),
            }
        }
        Ok(filled)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.file
            .write_all_at(bytes, offset)
            .map_err(self.failed("write"))
    }

    fn truncate(&self, len: u64) -> Result<(), DiskError> {
        self.file.set_len(len).map_err(self.failed("resize"))
    }

    fn sync(&self) -> Result<(), DiskError> {
        fdatasync(&self.file).map_err(|errno| self.failed("sync")(errno.into()))
    }
}

impl DiskLock for RealLock {
    fn describe(&self, text: &str) -> Result<(), DiskError> {
        // Written over the old text before the rest is cut, so that a reader always finds some.
        self.0.write_at(0, text.as_bytes())?;
        self.0.truncate(text.len() as u64)
    }
}

impl Disk for RealDisk {
    fn create_dir(&self, path: &Path) -> Result<Vec<PathBuf>, DiskError> {
        let missing: Vec<&Path> = path
            .ancestors()
            .take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists())
            .collect();
        let mut to_sync = Vec::new();
        for dir in missing.into_iter().rev() {
            match DirBuilder::new().mode(0o700).create(dir) {
                Ok(()) => to_sync.push(match dir.parent() {
                    Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
                    _ => PathBuf::from("."),
                }),
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
                Err(cause) => return Err(failed("make the directory", dir)(cause)),
            }
        }
        if path.is_dir() {
            Ok(to_sync)
        } else {
            let cause = io::Error::from(io::ErrorKind::NotADirectory);
            Err(failed("use as a directory", path)(cause))
        }
    }

    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn DiskFile>, DiskError> {
        Ok(Arc::new(open(path, mode)?))
    }

    fn list(&self, dir: &Path) -> Result<Vec<String>, DiskError> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir).map_err(failed("list", dir))? {
            let entry = entry.map_err(failed("list", dir))?;
            // A name that is no UTF-8 is none of ours.
            if let Ok(name) = entry.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn exists(&self, path: &Path) -> Result<bool, DiskError> {
        path.try_exists().map_err(failed("look for", path))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), DiskError> {
        fs::rename(from, to).map_err(failed("rename", from))
    }

    fn remove(&self, path: &Path) -> Result<(), DiskError> {
        fs::remove_file(path).map_err(failed("remove", path))
    }

    fn remove_dir(&self, path: &Path) -> Result<(), DiskError> {
        fs::remove_dir(path).map_err(failed("remove", path))
    }

    fn sync_dir(&self, dir: &Path) -> Result<(), DiskError> {
        let file = File::open(dir).map_err(failed("open the directory", dir))?;
        fsync(&file).map_err(|errno| failed("sync the directory", dir)(errno.into()))
    }

    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn DiskLock>>, DiskError> {
        let file = open(path, OpenMode::Create)?;
        match flock(&file.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Box::new(RealLock(file)))),
            Err(errno) if errno == rustix::io::Errno::WOULDBLOCK => Ok(None),
            Err(errno) => Err(failed("lock", path)(errno.into())),
        }
    }

    fn is_locked(&self, path: &Path) -> Result<bool, DiskError> {
        let file = match open(path, OpenMode::Read) {
            Ok(file) => file,
            Err(error) if error.is_missing() => return Ok(false),
            Err(error) => return Err(error),
        };
        match flock(&file.file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(false),
            Err(errno) if errno == rustix::io::Errno::WOULDBLOCK => Ok(true),
            Err(errno) => Err(failed("look for the holder of", path)(errno.into())),
        }
    }
}

fn open(path: &Path, mode: OpenMode) -> Result<RealFile, DiskError> {
    let mut options = OpenOptions::new();
    options.read(true).mode(0o600);
    match mode {
        OpenMode::Read => {}
        OpenMode::Write => {
            options.write(true);
        }
        OpenMode::Create => {
            options.write(true).create(true);
        }
        OpenMode::Replace => {
            options.write(true).create(true).truncate(true);
        }
    }
    let file = options.open(path).map_err(failed("open", path))?;
    if file
        .metadata()
        .map_err(failed("read the length of", path))?
        .is_dir()
    {
        let cause = io::Error::from(io::ErrorKind::IsADirectory);
        return Err(failed("open", path)(cause));
    }
    Ok(RealFile {
        path: path.to_path_buf(),
        file,
    })
}
