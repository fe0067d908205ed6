//! The nets under the rules: a table of every state and fact, random histories, an auditor that
//! predicts the answers, every record's bytes, every row of the recovery table, and the edges of retries and bounds.

mod accept;
mod auditor;
mod batches;
mod cases;
mod crons;
mod golden;
mod history;
mod kept;
mod keys;
mod lifecycle;
mod predict;
mod queues;
mod random;
mod record;
mod recovery;
mod retry;
mod sample;
mod segment;
mod snapshot;
mod table;
mod weigh;
mod words;
