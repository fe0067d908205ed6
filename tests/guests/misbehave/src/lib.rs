//! misbehave
