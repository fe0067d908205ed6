//! Bytes and records. Everything here works on slices and says of them: a record, not all there yet,
//! or damaged. Every length is bounded before it is used.
//!
//! A segment is a [`SegmentHeader`], then frames one after the other, then nothing or zeros. All
//! numbers are little-endian.

pub mod frame;
pub mod record;
pub mod segment;
pub mod slim;
mod walk;

pub use frame::{Decoded, FRAME_HEADER_BYTES, FrameHead, Seal, TooLong};
pub use record::{BadRecord, decode_record, encode_record};
pub use segment::{FORMAT, HeaderVerdict, SEGMENT_HEADER_BYTES, SegmentHeader};
pub use slim::decode_slim;
