//! What changes would come to, asked before they are made.

use sandhog_model::{Now, Rejected, Weighing};

use super::{actor::Actor, letters::refused, wish::WeighAsk};
use crate::store::{Amended, Changed, DeadWish, LetterName, LetterRef};

impl Actor {
    pub(super) fn weigh(&mut self, ask: WeighAsk, now: Now) {
        let mut weighing = Weighing::default();
        match ask {
            WeighAsk::Jobs(wishes, reply) => {
                let ledger = &self.writer.ledger;
                let weighed = wishes.into_iter().map(|wish| {
                    let (state, is_new) = weighing.weigh(ledger, wish, now)?;
                    Ok(Changed { state, is_new })
                });
                let answers = weighed.collect();
                self.answer_look(reply, answers, false);
            }
            WeighAsk::Letters(letters, wish, reply) => {
                let weighed = letters.into_iter();
                let answers = weighed
                    .map(|letter| self.weigh_letter(&mut weighing, &letter, wish, now))
                    .collect();
                self.answer_look(reply, answers, false);
            }
        }
    }

    fn weigh_letter(
        &self,
        weighing: &mut Weighing,
        letter: &LetterRef,
        wish: DeadWish,
        now: Now,
    ) -> Amended {
        let ledger = &self.writer.ledger;
        let known = match letter.name {
            LetterName::Job(id) => ledger.get(id).map(|entry| (id, entry.token)),
            LetterName::Place(_) => None,
        };
        let Some((id, token)) = known else {
            return self.weigh_alone(letter.name, wish);
        };
        if letter.token.is_some_and(|listed| listed != token) {
            return Amended::Changed;
        }
        match weighing.weigh(ledger, wish.of(id), now) {
            Ok(_) => Amended::Done,
            Err(Rejected::NoSuchJob(_)) => self.weigh_alone(letter.name, wish),
            Err(rejected) => refused(rejected, letter.token),
        }
    }

    /// What the log knows nothing of, or no more, lies in the letters' file alone.
    fn weigh_alone(&self, name: LetterName, wish: DeadWish) -> Amended {
        match (self.writer.dead.has(name), wish) {
            (false, _) => Amended::NotFound,
            (true, DeadWish::Requeue) => Amended::Unreadable(name),
            (true, DeadWish::Delete) => Amended::Done,
        }
    }
}
