//! `[queues]` and `[queue.NAME]`: how queues share the workers, and what bounds them.

use std::collections::BTreeSet;

use sandhog_model::{QueueLimits, QueueRule, QueueRules, Rate};

use super::{
    Config,
    keys::{Key, Named, Table, count, key},
    near::nearest,
    reload::Reload,
    value::{Form, Item, Setting, Value},
};

/// The order of queues.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QueueOrder {
    /// Queues that come before all others, each before those behind it.
    pub first: Option<Vec<String>>,
}

/// One queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSettings {
    /// Its share of the attempts, beside the weights of others.
    pub weight: u32,
    /// Attempts of it that run at a time.
    pub concurrency: Option<u32>,
    /// Attempts of it that begin.
    pub rate: Option<Rate>,
    /// Attempts of one of its groups that run at a time.
    pub group_concurrency: Option<u32>,
    /// Attempts of one of its groups that begin.
    pub group_rate: Option<Rate>,
    /// Jobs that may wait in it.
    pub max_depth: Option<u64>,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self {
            weight: 1,
            concurrency: None,
            rate: None,
            group_concurrency: None,
            group_rate: None,
            max_depth: None,
        }
    }
}

impl Setting for Rate {
    fn take(value: Value) -> Option<Self> {
        match value {
            Value::Word(word) => word.parse().ok(),
            _ => None,
        }
    }

    fn give(&self) -> Option<Value> {
        Some(Value::Word(self.to_string()))
    }
}

/// The table of the order.
pub(super) const ORDER: Table = Table {
    name: "queues",
    says: "Which queue comes first. Queues share the workers by their weights (`[queue.NAME]`), and one that has nothing to run leaves its share to the others; those listed here come before all that are not.",
    reload: Reload::All,
    keys: &[key!(
        Config,
        order.first,
        "first",
        Form::List(Item::Queue),
        "Queues in a strict order: a job of the first is begun before any of the second, however many wait there, and so on. All other queues come after them. A queue here can keep the later ones waiting for ever."
    )],
};

/// The tables.
pub(super) const QUEUE: Named<QueueSettings> = Named {
    name: "queue",
    says: "One queue. A queue comes to be with its first job; what is left out here is as if the table were not there. `sandhog limit set` changes limits while a runner is up, and what it sets stands above these until `sandhog limit reset`.",
    reload: Reload::All,
    must: &[],
    keys: &[
        key!(
            QueueSettings,
            weight,
            "weight",
            count(1_000),
            "Its share: a queue of weight 3 begins three attempts for each one of a queue of weight 1, as long as both have jobs."
        ),
        key!(
            QueueSettings,
            concurrency,
            "concurrency",
            count(1_000_000),
            "Attempts of it that run at a time; as many as there are workers for when not given."
        ),
        key!(
            QueueSettings,
            rate,
            "rate",
            Form::Rate,
            "Attempts of it that begin: a token bucket of `burst` tokens, as many as the count when not given, one of which comes every span divided by count. Within any time t at most burst + count * t / span begin."
        ),
        key!(
            QueueSettings,
            group_concurrency,
            "group_concurrency",
            count(1_000_000),
            "Attempts of jobs with the same `--group` that run at a time. Jobs without a group are not bounded by it."
        ),
        key!(
            QueueSettings,
            group_rate,
            "group_rate",
            Form::Rate,
            "Attempts of jobs with the same `--group` that begin."
        ),
        key!(
            QueueSettings,
            max_depth,
            "max_depth",
            count(1_000_000_000),
            "Jobs that may wait in it, due or not; more are refused, with the queue's name and how many wait. What a handler enqueues is part of its outcome and always taken in."
        ),
    ],
};

impl Config {
    /// What the operator says of queues, as the store follows it.
    #[must_use]
    pub fn queue_rules(&self) -> QueueRules {
        let rule = |queue: &QueueSettings| QueueRule {
            weight: queue.weight,
            max_depth: queue.max_depth,
            limits: QueueLimits {
                concurrency: queue.concurrency,
                rate: queue.rate,
                group_concurrency: queue.group_concurrency,
                group_rate: queue.group_rate,
            },
        };
        let queues = self.queues.iter();
        QueueRules {
            queues: queues
                .map(|(name, queue)| (name.clone(), rule(queue)))
                .collect(),
            first: self.order.first.clone().unwrap_or_default(),
        }
    }

    /// What is odd about `queues.first`: queues that no job is in, and that nothing else names. `there` are those
    /// with jobs.
    #[must_use]
    pub fn stray_queues(&self, there: &BTreeSet<String>) -> Vec<String> {
        let of_kinds = self.kinds.values().filter_map(|kind| kind.queue.as_deref());
        let of_crons = self.cron.values().filter_map(|cron| cron.queue.as_deref());
        let named = self.queues.keys().chain(there).map(String::as_str);
        let known: BTreeSet<&str> = named
            .chain(of_kinds)
            .chain(of_crons)
            .chain([sandhog_model::limits::DEFAULT_QUEUE])
            .collect();
        let first = self.order.first.iter().flatten();
        let strays = first.filter(|name| !known.contains(name.as_str()));
        let told = strays.map(|name| {
            let meant = match nearest(name, known.iter().copied()) {
                Some(near) => format!(": is {near} meant?"),
                None => ": it counts once a job is in it".to_owned(),
            };
            format!("`queues.first` names queue {name}, which no job is in and nothing else names{meant}")
        });
        told.collect()
    }
}
