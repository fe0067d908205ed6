//! What follows a job that completed: the next one of its chain goes into the record of its outcome.

use sandhog_model::{Failure, FailureKind, Job, KindDefaults, Link, Outcome, Output, Rejected};

use crate::plugin::Services;

/// The outcome of an attempt and the jobs it leaves, with the next one of its chain among them.
pub(super) fn go_on(
    services: &dyn Services,
    job: &Job,
    outcome: Outcome,
    mut children: Vec<Job>,
) -> (Outcome, Vec<Job>) {
    let Outcome::Completed(output) = &outcome else {
        return (outcome, children);
    };
    let Some((next, rest)) = job.terms.then.split_first() else {
        return (outcome, children);
    };
    match follow(services, job, next, rest, output) {
        Ok(next) => {
            children.push(next);
            (outcome, children)
        }
        Err(why) => {
            let cause = format!("the job that is to follow cannot be enqueued: {why}");
            let outcome = Outcome::Failed {
                failure: Failure::new(FailureKind::Limit, "chain", cause),
                retry_after_ms: None,
            };
            (outcome, Vec::new())
        }
    }
}

/// The next job, with what follows it. What the chain leaves open is as the operator and the handler say now.
fn follow(
    services: &dyn Services,
    job: &Job,
    next: &Link,
    rest: &[Link],
    output: &Output,
) -> Result<Job, Rejected> {
    let (has_queue, has_type) = (next.queue.is_some(), next.content_type.is_some());
    let takes_result = next.payload.is_none() && !output.content_type.is_empty();
    let accepted = next.clone().accept(
        services.mint(),
        services.wall(),
        output,
        &KindDefaults::default(),
    );
    let mut next = accepted?;
    // Left open, for the services to fill in.
    if !has_queue {
        next.queue.clear();
    }
    if !has_type && !takes_result {
        next.content_type.clear();
    }
    let mut next = services.complete(next);
    next.terms.then = rest.to_vec();
    next.terms.batch = job.terms.batch;
    Ok(next)
}
