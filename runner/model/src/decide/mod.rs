//! All policy: what follows from a wish.
