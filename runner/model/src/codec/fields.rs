//! Fields of fixed width, little-endian, one after the other.

use alloc::vec::Vec;

use crate::{
    event::RecordAt,
    id::{JobId, Token},
    job::Digest,
    time::UnixMs,
};

/// Why fields could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lost(pub(super) &'static str);

const SHORT: Lost = Lost("it ends too early");

/// A place in the bytes of a head.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What was not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Lost> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(SHORT)?;
        self.rest = rest;
        Ok(*taken)
    }

    #[inline]
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Lost> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(SHORT)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    pub(super) fn u8(&mut self) -> Result<u8, Lost> {
        self.array().map(u8::from_le_bytes)
    }

    #[inline]
    pub(super) fn u16(&mut self) -> Result<u16, Lost> {
        self.array().map(u16::from_le_bytes)
    }

    #[inline]
    pub(super) fn i16(&mut self) -> Result<i16, Lost> {
        self.array().map(i16::from_le_bytes)
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Result<u32, Lost> {
        self.array().map(u32::from_le_bytes)
    }

    #[inline]
    pub(super) fn u64(&mut self) -> Result<u64, Lost> {
        self.array().map(u64::from_le_bytes)
    }

    #[inline]
    pub(super) fn id(&mut self) -> Result<JobId, Lost> {
        self.array().map(u128::from_le_bytes).map(JobId)
    }

    #[inline]
    pub(super) fn digest(&mut self) -> Result<Digest, Lost> {
        self.array().map(u128::from_le_bytes).map(Digest)
    }

    #[inline]
    pub(super) fn token(&mut self) -> Result<Token, Lost> {
        self.u64().map(Token)
    }

    #[inline]
    pub(super) fn instant(&mut self) -> Result<UnixMs, Lost> {
        self.u64().map(UnixMs)
    }

    #[inline]
    pub(super) fn place(&mut self) -> Result<RecordAt, Lost> {
        self.u64().map(RecordAt)
    }

    /// 0 or 1.
    #[inline]
    pub(super) fn flag(&mut self) -> Result<bool, Lost> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Lost("a flag that is neither 0 nor 1")),
        }
    }

    /// A length in one byte, then the text.
    #[inline]
    pub(super) fn text(&mut self) -> Result<&'a str, Lost> {
        let length = self.u8()?;
        let bytes = self.bytes(usize::from(length))?;
        core::str::from_utf8(bytes).map_err(|_| Lost("a text that is not UTF-8"))
    }

    /// A count in four bytes, then so many values of at least `least` bytes.
    pub(super) fn list<T>(
        &mut self,
        least: usize,
        value: impl Fn(&mut Self) -> Result<T, Lost>,
    ) -> Result<Vec<T>, Lost> {
        let count = self.u32()? as usize;
        // What is announced may be wrong; what is there bounds it.
        if count > self.rest.len() / least {
            return Err(SHORT);
        }
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            values.push(value(self)?);
        }
        Ok(values)
    }

    /// A flag, then the value if it is 1.
    pub(super) fn maybe<T>(
        &mut self,
        value: impl FnOnce(&mut Self) -> Result<T, Lost>,
    ) -> Result<Option<T>, Lost> {
        match self.flag()? {
            true => value(self).map(Some),
            false => Ok(None),
        }
    }
}

/// Append a text of at most 255 bytes.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) -> Result<(), Lost> {
    let length = u8::try_from(text.len()).map_err(|_| Lost("a name of more than 255 bytes"))?;
    out.push(length);
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

/// Append how many values follow.
pub(super) fn put_count(out: &mut Vec<u8>, count: usize) -> Result<(), Lost> {
    let count = u32::try_from(count).map_err(|_| Lost("too many values in one list"))?;
    out.extend_from_slice(&count.to_le_bytes());
    Ok(())
}
