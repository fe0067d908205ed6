//! What a plugin wishes for and is not granted.

use super::{EnqueueGrant, Grants};

impl Grants {
    /// What of some wishes is not granted, one line each. A wish for many origins counts as granted
    /// when one of them is.
    #[must_use]
    pub fn unmet(&self, asked: &Self) -> Vec<String> {
        let mut unmet = Vec::new();
        for (what, asked, granted) in [
            ("variable", &asked.env, &self.env),
            ("setting", &asked.config, &self.config),
        ] {
            let missing = asked.keys().filter(|key| !granted.contains_key(*key));
            unmet.extend(missing.map(|key| format!("{what} {key}")));
        }
        for wish in &asked.http {
            for method in &wish.methods {
                let met = self.http.iter().any(|one| {
                    let same = one.origin.covers_all_of(&wish.origin)
                        || wish.origin.covers_all_of(&one.origin);
                    same && one
                        .methods
                        .iter()
                        .any(|known| known == "*" || known == method)
                });
                if !met {
                    unmet.push(format!("{method} to {}", wish.origin));
                }
            }
        }
        for wish in &asked.secrets {
            let granted = || self.secrets.iter().filter(|one| one.name == wish.name);
            if wish.sign && !granted().any(|one| one.sign) {
                unmet.push(format!("signatures with secret {}", wish.name));
            }
            if let Some(origin) = &wish.origin
                && !granted().any(|one| one.origin.is_some())
            {
                unmet.push(format!("secret {} to {origin}", wish.name));
            }
        }
        for wish in &asked.mounts {
            if !self.mounts.iter().any(|one| one.guest == wish.guest) {
                unmet.push(format!("a mount at {}", wish.guest));
            }
        }
        if asked.scratch > self.scratch {
            unmet.push(format!(
                "a scratch directory of {} bytes",
                asked.scratch.unwrap_or(0)
            ));
        }
        unmet.extend(
            asked
                .enqueue
                .iter()
                .flat_map(|wish| self.unmet_queues(wish)),
        );
        unmet
    }

    fn unmet_queues(&self, wish: &EnqueueGrant) -> Vec<String> {
        let allowed = self.enqueue.as_ref();
        let met = |queue: &&String| match queue.as_str() {
            "*" => allowed.is_some(),
            queue => allowed.is_some_and(|allowed| allowed.allows(queue)),
        };
        let unmet = wish.queues.iter().filter(|queue| !met(queue));
        unmet
            .map(|queue| format!("jobs into queue {queue}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::plugin::capabilities::grants::parse;

    #[test]
    fn what_is_missing_is_named() {
        let asked = parse(
            "[grants]\nenv = { A = \"\" }\nscratch = \"2MiB\"\n\
             enqueue = { queues = [\"slow\", \"fast\"] }\n\
             http = [{ origin = \"https://*\", methods = [\"POST\", \"GET\"] }]\n\
             secrets = [{ name = \"key\", sign = true }]\n\
             mounts = [{ host = \"/srv\", guest = \"/data\" }]\n",
        )
        .unwrap();
        assert!(asked.unmet(&asked).is_empty());
        let some = parse(
            "[grants]\nscratch = \"1MiB\"\nenqueue = { queues = [\"fast\"] }\n\
             http = [{ origin = \"https://a.b\", methods = [\"POST\"] }]\n\
             secrets = [{ name = \"key\", origin = \"https://a.b\" }]\n",
        )
        .unwrap();
        assert_eq!(
            some.unmet(&asked),
            [
                "variable A",
                "GET to https://*",
                "signatures with secret key",
                "a mount at /data",
                "a scratch directory of 2097152 bytes",
                "jobs into queue slow",
            ]
        );
    }
}
