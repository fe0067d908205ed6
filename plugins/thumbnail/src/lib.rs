//! thumbnail
