//! Streams to and from files of the scratch directory: they hold it, and those that write pass its
//! quota.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
};

use bytes::Bytes;
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, InputStream, OutputStream, Pollable, StreamError, StreamResult,
};

use super::scratch::Quota;

/// A stream, and the directory it leads to.
pub(super) struct Held<S> {
    inner: S,
    quota: Arc<Quota>,
    /// Bytes were handed on and not seen to arrive.
    unsure: bool,
}

impl<S> Held<S> {
    pub(super) fn new(inner: S, quota: Arc<Quota>) -> Self {
        Self {
            inner,
            quota,
            unsure: false,
        }
    }
}

impl<S> Drop for Held<S> {
    fn drop(&mut self) {
        if self.unsure {
            self.quota.loose.store(true, Ordering::Relaxed);
        }
    }
}

type Ready<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

impl Pollable for Held<DynInputStream> {
    fn ready<'this, 'ready>(&'this mut self) -> Ready<'ready>
    where
        'this: 'ready,
        Self: 'ready,
    {
        self.inner.ready()
    }
}

impl InputStream for Held<DynInputStream> {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.inner.read(size)
    }

    fn skip(&mut self, size: usize) -> StreamResult<usize> {
        self.inner.skip(size)
    }
}

impl Pollable for Held<DynOutputStream> {
    fn ready<'this, 'ready>(&'this mut self) -> Ready<'ready>
    where
        'this: 'ready,
        Self: 'ready,
    {
        self.inner.ready()
    }
}

impl OutputStream for Held<DynOutputStream> {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if !self.quota.charge(bytes.len() as u64) {
            let full = io::Error::from(rustix::io::Errno::NOSPC);
            return Err(StreamError::LastOperationFailed(full.into()));
        }
        self.unsure |= !bytes.is_empty();
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.inner.flush()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        let room = self.inner.check_write()?;
        // A file's stream takes more only once the bytes before are written.
        self.unsure &= room == 0;
        Ok(room)
    }

    fn cancel<'this, 'ready>(&'this mut self) -> Ready<'ready>
    where
        'this: 'ready,
        Self: 'ready,
    {
        Box::pin(async {
            self.inner.cancel().await;
            self.unsure = false;
        })
    }
}
