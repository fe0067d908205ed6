//! The jobs that follow one another, as JSON.

use sandhog_model::{Link, NewJob, UnixMs};

use super::new_job;

/// Read those of a line: a list of kinds, and of objects as lines are, of which the payload may be left out.
pub(crate) fn links(raw: &str) -> Result<Vec<Link>, String> {
    let list = new_job::elements(raw).map_err(|why| format!("is no list of jobs: {why}"))?;
    let numbered = list.into_iter().zip(1..);
    let links = numbered.map(|(one, number)| match one.starts_with('"') {
        true => link(one),
        false => link(one).map_err(|why| format!("has job {number}, which {why}")),
    });
    links.collect()
}

/// Read one: a kind, or an object.
pub(crate) fn link(one: &str) -> Result<Link, String> {
    if one.starts_with('"') {
        let kind = new_job::value(one)?;
        return Ok(Link {
            kind,
            ..Link::default()
        });
    }
    object(one)
}

/// Times count from the end of the job before, so that an object is read as a line at the beginning of time.
fn object(one: &str) -> Result<Link, String> {
    let begin = UnixMs(0);
    let (job, said) =
        new_job::read(one, &NewJob::default(), begin).map_err(|why| why.to_string())?;
    for field in [
        "at",
        "expires_at",
        "unique",
        "idempotency_key",
        "batch",
        "then",
    ] {
        if said.contains(&field) {
            return Err(format!("has `{field}`: leave it out here"));
        }
    }
    let due = job.due.unwrap_or(begin);
    Ok(Link {
        payload: (said.iter().any(|field| field.starts_with("payload"))).then_some(job.payload),
        delay_ms: due.0,
        expires_in_ms: job.expires.map(|at| at.since(due)),
        kind: job.kind,
        queue: job.queue,
        priority: job.priority,
        content_type: job.content_type,
        headers: job.headers,
        retry: job.retry,
        timeout_ms: job.timeout_ms,
        retry_for_ms: job.retry_for_ms,
        group: job.group,
        tags: job.tags,
    })
}
