//! A whole runner without sockets: how fast it drains, how soon it begins, and what its neighbours do to a job.

pub(crate) mod drain;
pub(crate) mod kinds;
pub(crate) mod latency;
pub(crate) mod runaways;
pub(crate) mod stand;
