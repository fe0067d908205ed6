//! Files: what is mounted to be read, and a scratch directory within its quota.
//!
//! WASI's own implementation does the work and keeps guests inside of their directories. What may
//! take room on the disk passes the quota first.

mod scratch;
mod stream;

use wasmtime::component::{HasData, Resource};
use wasmtime_wasi::{
    filesystem::WasiFilesystemCtxView,
    p2::{
        DynInputStream, DynOutputStream, FsError, FsResult,
        bindings::filesystem::types::{
            self, ErrorCode, Host, HostDescriptor, HostDirectoryEntryStream,
        },
    },
};

pub(crate) use scratch::{Full, Scratch, prepare};
use stream::Held;

use crate::plugin::sandbox::state::State;

/// What a directory entry counts for, in bytes.
const ENTRY: u64 = 4096;
/// What a place in a file that is written to counts for, beside the bytes: a block before, and a
/// block behind.
const PLACE: u64 = 2 * 4096;

/// The files of an attempt.
pub(crate) struct Files<'a> {
    pub(crate) view: WasiFilesystemCtxView<'a>,
    pub(crate) scratch: Option<&'a mut Scratch>,
}

/// Names [`Files`] to the linker.
pub(crate) struct HasFiles;

impl HasData for HasFiles {
    type Data<'a> = Files<'a>;
}

/// Put the quota between guests and their files.
pub(crate) fn add_to_linker(
    linker: &mut wasmtime::component::Linker<State>,
) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    types::add_to_linker::<State, HasFiles>(linker, State::files)?;
    linker.allow_shadowing(false);
    Ok(())
}

impl Files<'_> {
    /// Take room for bytes that are about to be written.
    fn charge(&mut self, bytes: u64) -> FsResult<()> {
        // Without a scratch directory nothing can be written: WASI itself says so.
        let Some(scratch) = &mut self.scratch else {
            return Ok(());
        };
        match scratch.charge(bytes) {
            true => Ok(()),
            false => Err(ErrorCode::InsufficientSpace.into()),
        }
    }

    fn freed(&mut self) {
        if let Some(scratch) = &mut self.scratch {
            scratch.freed();
        }
    }

    fn hold_output(
        &mut self,
        stream: Resource<DynOutputStream>,
    ) -> FsResult<Resource<DynOutputStream>> {
        let Some(scratch) = &mut self.scratch else {
            return Ok(stream);
        };
        let inner = self.view.table.delete(stream).map_err(FsError::trap)?;
        let held: DynOutputStream = Box::new(Held::new(inner, scratch.quota()));
        self.view.table.push(held).map_err(FsError::trap)
    }
}

impl Host for Files<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        self.view.convert_error_code(error)
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        self.view.filesystem_error_code(error)
    }
}

impl HostDescriptor for Files<'_> {
    async fn write(
        &mut self,
        fd: Resource<types::Descriptor>,
        bytes: Vec<u8>,
        offset: types::Filesize,
    ) -> FsResult<types::Filesize> {
        self.charge(PLACE + bytes.len() as u64)?;
        self.view.write(fd, bytes, offset).await
    }

    async fn set_size(
        &mut self,
        fd: Resource<types::Descriptor>,
        size: types::Filesize,
    ) -> FsResult<()> {
        let again = || Resource::new_borrow(fd.rep());
        let before = self.view.stat(again()).await?.size;
        self.charge(size.saturating_sub(before))?;
        self.view.set_size(again(), size).await?;
        if size < before {
            self.freed();
        }
        Ok(())
    }

    async fn open_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        path_flags: types::PathFlags,
        path: String,
        how: types::OpenFlags,
        flags: types::DescriptorFlags,
    ) -> FsResult<Resource<types::Descriptor>> {
        if how.contains(types::OpenFlags::CREATE) {
            self.charge(ENTRY)?;
        }
        let (again, what) = (Resource::new_borrow(fd.rep()), path.clone());
        // Opening a pipe waits for whoever is at its other end, and a device is no file.
        if let Ok(known) = self.view.stat_at(again, path_flags, what).await
            && !matches!(
                known.type_,
                types::DescriptorType::RegularFile
                    | types::DescriptorType::Directory
                    | types::DescriptorType::SymbolicLink
            )
        {
            return Err(ErrorCode::NotPermitted.into());
        }
        let opened = self.view.open_at(fd, path_flags, path, how, flags).await?;
        if how.contains(types::OpenFlags::TRUNCATE) {
            self.freed();
        }
        if let Some(scratch) = &mut self.scratch {
            scratch.opened(opened.rep());
        }
        Ok(opened)
    }

    fn drop(&mut self, fd: Resource<types::Descriptor>) -> wasmtime::Result<()> {
        if let Some(scratch) = &mut self.scratch {
            scratch.closed(fd.rep());
        }
        HostDescriptor::drop(&mut self.view, fd)
    }

    fn read_via_stream(
        &mut self,
        fd: Resource<types::Descriptor>,
        offset: types::Filesize,
    ) -> FsResult<Resource<DynInputStream>> {
        let stream = self.view.read_via_stream(fd, offset)?;
        let Some(scratch) = &mut self.scratch else {
            return Ok(stream);
        };
        let inner = self.view.table.delete(stream).map_err(FsError::trap)?;
        let held: DynInputStream = Box::new(Held::new(inner, scratch.quota()));
        self.view.table.push(held).map_err(FsError::trap)
    }

    fn write_via_stream(
        &mut self,
        fd: Resource<types::Descriptor>,
        offset: types::Filesize,
    ) -> FsResult<Resource<DynOutputStream>> {
        self.charge(PLACE)?;
        let stream = self.view.write_via_stream(fd, offset)?;
        self.hold_output(stream)
    }

    fn append_via_stream(
        &mut self,
        fd: Resource<types::Descriptor>,
    ) -> FsResult<Resource<DynOutputStream>> {
        self.charge(PLACE)?;
        let stream = self.view.append_via_stream(fd)?;
        self.hold_output(stream)
    }

    async fn create_directory_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        path: String,
    ) -> FsResult<()> {
        self.charge(ENTRY)?;
        self.view.create_directory_at(fd, path).await
    }

    async fn symlink_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        to: String,
        at: String,
    ) -> FsResult<()> {
        self.charge(ENTRY)?;
        self.view.symlink_at(fd, to, at).await
    }

    async fn link_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        old_path_flags: types::PathFlags,
        old_path: String,
        new_descriptor: Resource<types::Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        self.charge(ENTRY)?;
        self.view
            .link_at(fd, old_path_flags, old_path, new_descriptor, new_path)
            .await
    }

    async fn unlink_file_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        path: String,
    ) -> FsResult<()> {
        self.view.unlink_file_at(fd, path).await?;
        self.freed();
        Ok(())
    }

    async fn remove_directory_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        path: String,
    ) -> FsResult<()> {
        self.view.remove_directory_at(fd, path).await?;
        self.freed();
        Ok(())
    }

    async fn rename_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        old_path: String,
        new_fd: Resource<types::Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        self.view.rename_at(fd, old_path, new_fd, new_path).await?;
        // What was there before under the new name is gone.
        self.freed();
        Ok(())
    }

    async fn advise(
        &mut self,
        fd: Resource<types::Descriptor>,
        offset: types::Filesize,
        len: types::Filesize,
        advice: types::Advice,
    ) -> FsResult<()> {
        self.view.advise(fd, offset, len, advice).await
    }

    async fn sync_data(&mut self, fd: Resource<types::Descriptor>) -> FsResult<()> {
        self.view.sync_data(fd).await
    }

    async fn get_flags(
        &mut self,
        fd: Resource<types::Descriptor>,
    ) -> FsResult<types::DescriptorFlags> {
        self.view.get_flags(fd).await
    }

    async fn get_type(
        &mut self,
        fd: Resource<types::Descriptor>,
    ) -> FsResult<types::DescriptorType> {
        self.view.get_type(fd).await
    }

    async fn set_times(
        &mut self,
        fd: Resource<types::Descriptor>,
        atim: types::NewTimestamp,
        mtim: types::NewTimestamp,
    ) -> FsResult<()> {
        self.view.set_times(fd, atim, mtim).await
    }

    async fn read(
        &mut self,
        fd: Resource<types::Descriptor>,
        len: types::Filesize,
        offset: types::Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        self.view.read(fd, len, offset).await
    }

    async fn read_directory(
        &mut self,
        fd: Resource<types::Descriptor>,
    ) -> FsResult<Resource<types::DirectoryEntryStream>> {
        self.view.read_directory(fd).await
    }

    async fn sync(&mut self, fd: Resource<types::Descriptor>) -> FsResult<()> {
        self.view.sync(fd).await
    }

    async fn stat(&mut self, fd: Resource<types::Descriptor>) -> FsResult<types::DescriptorStat> {
        self.view.stat(fd).await
    }

    async fn stat_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        path_flags: types::PathFlags,
        path: String,
    ) -> FsResult<types::DescriptorStat> {
        self.view.stat_at(fd, path_flags, path).await
    }

    async fn set_times_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        path_flags: types::PathFlags,
        path: String,
        atim: types::NewTimestamp,
        mtim: types::NewTimestamp,
    ) -> FsResult<()> {
        self.view
            .set_times_at(fd, path_flags, path, atim, mtim)
            .await
    }

    async fn readlink_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        path: String,
    ) -> FsResult<String> {
        self.view.readlink_at(fd, path).await
    }

    async fn is_same_object(
        &mut self,
        a: Resource<types::Descriptor>,
        b: Resource<types::Descriptor>,
    ) -> wasmtime::Result<bool> {
        self.view.is_same_object(a, b).await
    }

    async fn metadata_hash(
        &mut self,
        fd: Resource<types::Descriptor>,
    ) -> FsResult<types::MetadataHashValue> {
        self.view.metadata_hash(fd).await
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Resource<types::Descriptor>,
        path_flags: types::PathFlags,
        path: String,
    ) -> FsResult<types::MetadataHashValue> {
        self.view.metadata_hash_at(fd, path_flags, path).await
    }
}

impl HostDirectoryEntryStream for Files<'_> {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<types::DirectoryEntryStream>,
    ) -> FsResult<Option<types::DirectoryEntry>> {
        self.view.read_directory_entry(stream).await
    }

    fn drop(&mut self, stream: Resource<types::DirectoryEntryStream>) -> wasmtime::Result<()> {
        HostDirectoryEntryStream::drop(&mut self.view, stream)
    }
}
