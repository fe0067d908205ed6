//! An attempt beside the least that any host would need for it, and a start with many plugins.

pub(crate) mod attempts;
pub(crate) mod bare;
pub(crate) mod guests;
pub(crate) mod product;
pub(crate) mod starts;
