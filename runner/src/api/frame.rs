//! The bytes on the socket: a greeting both ways, then frames.
//!
//! A greeting is eight bytes: `SNDHOG`, then the protocol's version as a big-endian `u16`. A frame
//! is the body's length as a big-endian `u32`, then the body: MessagePack with field names.

use serde::{Serialize, de::DeserializeOwned};

/// Largest body of a frame, in bytes.
pub const FRAME_BYTES: usize = 64 << 20;

pub(super) const GREETING_BYTES: usize = 8;
const MAGIC: &[u8; 6] = b"SNDHOG";
const PROTOCOL: u16 = 1;

/// Bytes that do not follow the protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The other side does not greet as Sandhog does.
    #[error("the other side does not speak sandhog's protocol")]
    NotSandhog,
    /// The other side speaks another version.
    #[error(
        "the other side speaks protocol {theirs}, this program {PROTOCOL}: use the same sandhog version on both"
    )]
    Version {
        /// Its version.
        theirs: u16,
    },
    /// A frame is too large.
    #[error("a frame of {bytes} bytes is larger than the {FRAME_BYTES} allowed")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// A body cannot be read or written.
    #[error("a frame's body is not what was expected: {why}")]
    Body {
        /// What the codec said.
        why: String,
    },
}

pub(super) fn greeting() -> [u8; GREETING_BYTES] {
    let mut bytes = [0; GREETING_BYTES];
    bytes[..MAGIC.len()].copy_from_slice(MAGIC);
    bytes[MAGIC.len()..].copy_from_slice(&PROTOCOL.to_be_bytes());
    bytes
}

pub(super) fn check_greeting(bytes: [u8; GREETING_BYTES]) -> Result<(), FrameError> {
    let [magic @ .., high, low] = bytes;
    if &magic != MAGIC {
        return Err(FrameError::NotSandhog);
    }
    match u16::from_be_bytes([high, low]) {
        PROTOCOL => Ok(()),
        theirs => Err(FrameError::Version { theirs }),
    }
}

/// A body with its length in front.
pub(super) fn encode(body: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    let mut frame = vec![0; 4];
    let bytes = append(&mut frame, body)?;
    frame[..4].copy_from_slice(&(bytes as u32).to_be_bytes());
    Ok(frame)
}

/// A body as it stands in a frame, without its length.
pub fn encode_body(body: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    let mut bytes = Vec::new();
    append(&mut bytes, body)?;
    Ok(bytes)
}

/// How many bytes the body has.
fn append(frame: &mut Vec<u8>, body: &impl Serialize) -> Result<usize, FrameError> {
    let before = frame.len();
    let mut serializer = rmp_serde::Serializer::new(&mut *frame).with_struct_map();
    body.serialize(&mut serializer)
        .map_err(|error| FrameError::Body {
            why: error.to_string(),
        })?;
    let bytes = frame.len() - before;
    if bytes > FRAME_BYTES {
        return Err(FrameError::TooLarge { bytes });
    }
    Ok(bytes)
}

/// A length, bounded before anything is reserved for it.
pub(super) fn check_length(bytes: [u8; 4]) -> Result<usize, FrameError> {
    let bytes = u32::from_be_bytes(bytes) as usize;
    if bytes > FRAME_BYTES {
        return Err(FrameError::TooLarge { bytes });
    }
    Ok(bytes)
}

/// Read a body.
pub fn decode_body<T: DeserializeOwned>(body: &[u8]) -> Result<T, FrameError> {
    rmp_serde::from_slice(body).map_err(|error| FrameError::Body {
        why: error.to_string(),
    })
}
