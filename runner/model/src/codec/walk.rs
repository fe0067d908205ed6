//! Walks over MessagePack without taking anything out of it but what is asked for.

/// Why a walk ended too early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lost(pub(super) &'static str);

const SHORT: Lost = Lost("it ends too early");

/// What begins at a place: a whole value without values in it, or how many values follow.
enum Head<'a> {
    Nil,
    Bool(bool),
    Uint(u64),
    /// Below zero.
    Int(i64),
    Str(&'a [u8]),
    Bin(&'a [u8]),
    /// A number with a point, or a value of a type of its own.
    Other,
    Array(usize),
    Map(usize),
}

/// A place in the bytes of a record.
#[derive(Debug, Clone)]
pub(super) struct Walk<'a> {
    rest: &'a [u8],
}

impl<'a> Walk<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Lost> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(SHORT)?;
        self.rest = rest;
        Ok(taken)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], Lost> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(SHORT)?;
        self.rest = rest;
        Ok(*taken)
    }

    fn length<const N: usize>(&mut self) -> Result<usize, Lost> {
        let bytes = self.number::<N>()?;
        Ok(bytes
            .iter()
            .fold(0, |length, byte| length << 8 | usize::from(*byte)))
    }

    fn head(&mut self) -> Result<Head<'a>, Lost> {
        let [marker] = self.number()?;
        Ok(match marker {
            0x00..=0x7F => Head::Uint(u64::from(marker)),
            0x80..=0x8F => Head::Map(usize::from(marker & 0x0F)),
            0x90..=0x9F => Head::Array(usize::from(marker & 0x0F)),
            0xA0..=0xBF => Head::Str(self.take(usize::from(marker & 0x1F))?),
            0xC0 => Head::Nil,
            0xC1 => return Err(Lost("a byte that begins no value")),
            0xC2 => Head::Bool(false),
            0xC3 => Head::Bool(true),
            0xC4 => {
                let length = self.length::<1>()?;
                Head::Bin(self.take(length)?)
            }
            0xC5 => {
                let length = self.length::<2>()?;
                Head::Bin(self.take(length)?)
            }
            0xC6 => {
                let length = self.length::<4>()?;
                Head::Bin(self.take(length)?)
            }
            0xC7 => {
                let length = self.length::<1>()?;
                self.other(length + 1)?
            }
            0xC8 => {
                let length = self.length::<2>()?;
                self.other(length + 1)?
            }
            0xC9 => {
                let length = self.length::<4>()?;
                self.other(length.saturating_add(1))?
            }
            0xCA => self.other(4)?,
            0xCB => self.other(8)?,
            0xCC => Head::Uint(u64::from(u8::from_be_bytes(self.number()?))),
            0xCD => Head::Uint(u64::from(u16::from_be_bytes(self.number()?))),
            0xCE => Head::Uint(u64::from(u32::from_be_bytes(self.number()?))),
            0xCF => Head::Uint(u64::from_be_bytes(self.number()?)),
            0xD0 => signed(i64::from(i8::from_be_bytes(self.number()?))),
            0xD1 => signed(i64::from(i16::from_be_bytes(self.number()?))),
            0xD2 => signed(i64::from(i32::from_be_bytes(self.number()?))),
            0xD3 => signed(i64::from_be_bytes(self.number()?)),
            0xD4..=0xD8 => self.other(1 + (1 << (marker - 0xD4)))?,
            0xD9 => {
                let length = self.length::<1>()?;
                Head::Str(self.take(length)?)
            }
            0xDA => {
                let length = self.length::<2>()?;
                Head::Str(self.take(length)?)
            }
            0xDB => {
                let length = self.length::<4>()?;
                Head::Str(self.take(length)?)
            }
            0xDC => Head::Array(self.length::<2>()?),
            0xDD => Head::Array(self.length::<4>()?),
            0xDE => Head::Map(self.length::<2>()?),
            0xDF => Head::Map(self.length::<4>()?),
            0xE0..=0xFF => Head::Int(i64::from(marker as i8)),
        })
    }

    fn other(&mut self, count: usize) -> Result<Head<'a>, Lost> {
        self.take(count)?;
        Ok(Head::Other)
    }

    /// Pass over a value and what lies in it, to a depth of `depth`.
    #[inline]
    pub(super) fn skip(&mut self, depth: usize) -> Result<(), Lost> {
        // Small values, which most are, in one step.
        let whole = match self.rest.first() {
            Some(0x00..=0x7F | 0xC0 | 0xC2 | 0xC3 | 0xE0..=0xFF) => 1,
            Some(marker @ 0xA0..=0xBF) => 1 + usize::from(marker & 0x1F),
            Some(0xCC | 0xD0) => 2,
            Some(0xCD | 0xD1) => 3,
            Some(0xCE | 0xD2) => 5,
            Some(0xCF | 0xD3) => 9,
            _ => return self.skip_any(depth),
        };
        self.rest = self.rest.get(whole..).ok_or(SHORT)?;
        Ok(())
    }

    fn skip_any(&mut self, depth: usize) -> Result<(), Lost> {
        let inside = match self.head()? {
            Head::Array(count) => count,
            Head::Map(count) => count.saturating_mul(2),
            Head::Nil
            | Head::Bool(_)
            | Head::Uint(_)
            | Head::Int(_)
            | Head::Str(_)
            | Head::Bin(_)
            | Head::Other => return Ok(()),
        };
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Lost("its values lie too deep in each other"));
        };
        // Each value has a byte at least, so an announced count ends with the bytes.
        for _ in 0..inside {
            self.skip(depth)?;
        }
        Ok(())
    }

    /// A struct of so many fields.
    pub(super) fn fields(&mut self, count: usize) -> Result<(), Lost> {
        match self.head()? {
            Head::Array(found) if found == count => Ok(()),
            _ => Err(Lost("another number of fields")),
        }
    }

    /// How many values follow.
    pub(super) fn list(&mut self) -> Result<usize, Lost> {
        match self.head()? {
            Head::Array(count) => Ok(count),
            _ => Err(Lost("no list where one belongs")),
        }
    }

    /// The name of an enum's variant, and whether a value of it follows.
    pub(super) fn variant(&mut self) -> Result<(&'a [u8], bool), Lost> {
        match self.head()? {
            Head::Str(name) => Ok((name, false)),
            Head::Map(1) => match self.head()? {
                Head::Str(name) => Ok((name, true)),
                _ => Err(Lost("a variant without a name")),
            },
            _ => Err(Lost("no variant where one belongs")),
        }
    }

    #[inline]
    pub(super) fn text(&mut self) -> Result<&'a str, Lost> {
        let bytes = match *self.rest {
            [marker @ 0xA0..=0xBF, ref rest @ ..] => {
                self.rest = rest;
                self.take(usize::from(marker & 0x1F))?
            }
            _ => match self.head()? {
                Head::Str(bytes) => bytes,
                _ => return Err(Lost("no text where one belongs")),
            },
        };
        core::str::from_utf8(bytes).map_err(|_| Lost("a text that is no UTF-8"))
    }

    #[inline]
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Lost> {
        if let [0xC4, length, ref rest @ ..] = *self.rest {
            self.rest = rest;
            return self.take(usize::from(length));
        }
        match self.head()? {
            Head::Bin(bytes) => Ok(bytes),
            _ => Err(Lost("no bytes where some belong")),
        }
    }

    #[inline]
    pub(super) fn uint(&mut self) -> Result<u64, Lost> {
        match *self.rest {
            [0xCF, a, b, c, d, e, f, g, h, ref rest @ ..] => {
                self.rest = rest;
                Ok(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
            }
            [small @ 0x00..=0x7F, ref rest @ ..] => {
                self.rest = rest;
                Ok(u64::from(small))
            }
            _ => match self.head()? {
                Head::Uint(number) => Ok(number),
                _ => Err(Lost("no number where one belongs")),
            },
        }
    }

    pub(super) fn int(&mut self) -> Result<i64, Lost> {
        match self.head()? {
            Head::Uint(number) => i64::try_from(number).map_err(|_| Lost("a number too large")),
            Head::Int(number) => Ok(number),
            _ => Err(Lost("no number where one belongs")),
        }
    }

    pub(super) fn truth(&mut self) -> Result<bool, Lost> {
        match self.head()? {
            Head::Bool(truth) => Ok(truth),
            _ => Err(Lost("neither true nor false where one belongs")),
        }
    }

    /// Pass over nil, if it is nil that comes.
    pub(super) fn nil(&mut self) -> bool {
        match self.rest {
            [0xC0, rest @ ..] => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// What `read` finds, unless it is nil that comes.
    pub(super) fn maybe<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Lost>,
    ) -> Result<Option<T>, Lost> {
        if self.nil() {
            return Ok(None);
        }
        read(self).map(Some)
    }
}

fn signed<'a>(number: i64) -> Head<'a> {
    u64::try_from(number).map_or(Head::Int(number), Head::Uint)
}
