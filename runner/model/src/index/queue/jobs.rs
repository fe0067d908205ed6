//! The jobs of a lane.

use alloc::boxed::Box;

use crate::{
    id::JobId,
    index::{ByInstant, instants::Moment},
    time::UnixMs,
};

/// The jobs of a lane, of which there is always one. Where there are many groups most lanes have no other, and that
/// one needs no room of its own.
#[derive(Debug, Clone)]
pub(crate) enum Jobs {
    One(Moment),
    Many(Box<ByInstant>),
}

/// What became of a lane from which a job was to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::index) enum Left {
    /// The job was not in it.
    All,
    /// There are others.
    Some,
    /// It was the last one, and the lane is to go.
    Nothing,
}

impl PartialEq for Jobs {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.earliest_first().eq(other.earliest_first())
    }
}

impl Jobs {
    pub(super) fn new(due: UnixMs, id: JobId) -> Self {
        Self::One(Moment::new(due, id))
    }

    pub(super) fn insert(&mut self, due: UnixMs, id: JobId) {
        match self {
            Self::One(one) => {
                let mut many = ByInstant::default();
                many.insert(one.at(), one.id());
                many.insert(due, id);
                *self = Self::Many(Box::new(many));
            }
            Self::Many(many) => many.insert(due, id),
        }
    }

    pub(super) fn remove(&mut self, due: UnixMs, id: JobId) -> Left {
        match self {
            Self::One(one) if *one == Moment::new(due, id) => Left::Nothing,
            Self::One(_) => Left::All,
            Self::Many(many) => match (many.remove(due, id), many.is_empty()) {
                (false, _) => Left::All,
                (true, false) => Left::Some,
                (true, true) => Left::Nothing,
            },
        }
    }

    pub(super) fn contains(&self, due: UnixMs, id: JobId) -> bool {
        match self {
            Self::One(one) => *one == Moment::new(due, id),
            Self::Many(many) => many.contains(due, id),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(many) => many.len(),
        }
    }

    /// When the first of them became due.
    pub(in crate::index) fn first(&self) -> Option<UnixMs> {
        self.earliest_first().next().map(|(due, _)| due)
    }

    pub(super) fn earliest_first(&self) -> impl Iterator<Item = (UnixMs, JobId)> + '_ {
        let (one, many) = match self {
            Self::One(one) => (Some((one.at(), one.id())), None),
            Self::Many(many) => (None, Some(many)),
        };
        let many = many.into_iter().flat_map(|many| many.earliest_first());
        one.into_iter().chain(many)
    }
}

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};

    use super::*;

    fn ids(jobs: &Jobs) -> Vec<u128> {
        jobs.earliest_first().map(|(_, id)| id.0).collect()
    }

    #[test]
    fn one_job_and_many_are_told_in_the_same_way() {
        let at = UnixMs;
        let mut jobs = Jobs::new(at(5), JobId(1));
        assert_eq!((jobs.len(), jobs.first()), (1, Some(at(5))));
        assert!(jobs.contains(at(5), JobId(1)) && !jobs.contains(at(5), JobId(2)));
        assert_eq!(jobs.remove(at(5), JobId(2)), Left::All);
        assert_eq!(jobs.remove(at(4), JobId(1)), Left::All);
        jobs.insert(at(4), JobId(2));
        assert_eq!((jobs.len(), jobs.first()), (2, Some(at(4))));
        assert_eq!(ids(&jobs), vec![2, 1], "earlier due, then smaller id");
        assert!(jobs.contains(at(5), JobId(1)) && jobs.contains(at(4), JobId(2)));
        assert_eq!(jobs.remove(at(4), JobId(3)), Left::All);
        assert_eq!(jobs.remove(at(4), JobId(2)), Left::Some);
        assert_eq!(
            jobs,
            Jobs::new(at(5), JobId(1)),
            "whatever was there before"
        );
        assert_ne!(jobs, Jobs::new(at(5), JobId(2)));
        assert_eq!(jobs.remove(at(5), JobId(1)), Left::Nothing);
        assert_eq!(
            Jobs::new(at(5), JobId(1)).remove(at(5), JobId(1)),
            Left::Nothing
        );
    }
}
