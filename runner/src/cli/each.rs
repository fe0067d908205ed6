//! Commands that do the same to many, each answered for itself: how they end.

use super::{
    exit::{Exit, Fault, Outcome},
    session::Session,
};

/// What became of many: done when all were, with the code of the refusals when none was and all were refused
/// alike, and else partly.
#[derive(Debug, Default)]
pub(super) struct Each {
    done: u64,
    refused: Option<Exit>,
    /// What ended the command before the rest was asked for.
    broke: Option<Fault>,
}

impl Each {
    /// One was done, or found as it was wished.
    pub(super) fn done(&mut self) {
        self.done += 1;
    }

    /// How many were done.
    pub(super) fn count(&self) -> u64 {
        self.done
    }

    /// Whether any was refused.
    pub(super) fn has_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// One was refused, or not asked for any more; alone it would end the command so.
    pub(super) fn refused(&mut self, exit: Exit) {
        let alike = self.refused.is_none_or(|before| before == exit);
        self.refused = Some(if alike { exit } else { Exit::Failed });
    }

    /// A fault in place of an answer: a refusal is told and counts for what was asked, anything else ends the
    /// command. Whether it goes on.
    pub(super) fn fault(&mut self, session: &mut Session<'_, '_>, fault: Fault) -> bool {
        match (&fault.error, fault.code()) {
            (Some(error), Some(_)) => {
                session.note(&format!("sandhog: {error:#}"));
                self.refused(fault.exit);
                true
            }
            _ => {
                self.broke(fault);
                false
            }
        }
    }

    /// What is left is not asked for any more.
    pub(super) fn broke(&mut self, fault: Fault) {
        self.broke = Some(fault);
    }

    /// How the command ends.
    pub(super) fn end(self) -> Outcome<Exit> {
        if let Some(mut fault) = self.broke {
            // Whoever repeats all of it does some twice.
            if self.done > 0 && fault.error.is_some() {
                fault.exit = Exit::Partly;
            }
            return Err(fault);
        }
        Ok(match (self.refused, self.done) {
            (None, _) => Exit::Done,
            (Some(refused), 0) => refused,
            (Some(_), _) => Exit::Partly,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_command_ends_is_told_by_what_became_of_each() {
        let ends = |done: u64, refused: &[Exit]| {
            let mut each = Each::default();
            (0..done).for_each(|_| each.done());
            refused.iter().for_each(|exit| each.refused(*exit));
            each.end().unwrap()
        };
        assert_eq!(ends(0, &[]), Exit::Done);
        assert_eq!(ends(2, &[]), Exit::Done);
        assert_eq!(ends(0, &[Exit::NotFound; 2]), Exit::NotFound);
        let apart = [Exit::NotFound, Exit::Usage, Exit::NotFound];
        assert_eq!(ends(0, &apart), Exit::Failed);
        assert_eq!(ends(1, &[Exit::NotFound]), Exit::Partly);
        let broke = |done: u64| Each {
            done,
            broke: Some(Fault::new(Exit::NoRunner, anyhow::anyhow!("gone"))),
            ..Each::default()
        };
        assert_eq!(broke(0).end().unwrap_err().exit, Exit::NoRunner);
        assert_eq!(broke(1).end().unwrap_err().exit, Exit::Partly);
    }
}
