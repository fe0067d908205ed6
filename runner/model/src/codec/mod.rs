//! Bytes and records. Everything here works on slices and says of them: a record, not all there yet,
//! or damaged. Every length is bounded before it is used.
//!
//! A segment is a [`SegmentHeader`], then frames one after the other, then nothing or zeros. All
//! numbers are little-endian.

mod fields;
pub mod frame;
mod head;
mod parts;
pub mod record;
mod rest;
pub mod segment;
mod terms;

pub use frame::{Decoded, FRAME_HEADER_BYTES, FrameHead, Seal, TooLong};
pub use record::{BadRecord, decode_record, encode_job, encode_record, slim_part, with_slim};
pub(crate) use record::{first_job, sole_names};
pub use segment::{FORMAT, HeaderVerdict, SEGMENT_HEADER_BYTES, SegmentHeader};
