//! Many jobs at once, each answered for itself.

use serde::Deserialize;

use crate::{
    client::{Client, Twice},
    code::Code,
    error::{Error, Problem},
    job::Enqueued,
    new_job::NewJob,
};

/// Most jobs and bytes in one request; the runner takes a few more bytes.
const JOBS: usize = 500;
const BULK_BYTES: usize = 4 << 20;

impl Client {
    /// Enqueue many jobs, as many requests as it takes. Each is answered for itself, in their order; those that a
    /// full queue or a runner that stops refuses are tried again as a request is.
    pub async fn enqueue_many(&self, jobs: &[NewJob]) -> Vec<Result<Enqueued, Error>> {
        self.enqueue_all("/api/v1/jobs/bulk", jobs).await
    }

    pub(crate) async fn enqueue_all(
        &self,
        path: &str,
        jobs: &[NewJob],
    ) -> Vec<Result<Enqueued, Error>> {
        let lines: Vec<Result<String, Error>> = jobs.iter().map(NewJob::line).collect();
        let mut answers: Vec<Option<Result<Enqueued, Error>>> = lines
            .iter()
            .map(|line| line.as_ref().err().map(|why| Err(why.clone())))
            .collect();
        let mut left: Vec<(usize, &str)> = lines
            .iter()
            .enumerate()
            .filter_map(|(place, line)| Some((place, line.as_ref().ok()?.as_str())))
            .collect();
        let mut patience = self.patience();
        while !left.is_empty() {
            let mut again = Vec::new();
            // The last one is the next, so that they go in as they stand.
            let mut under_way = parts(&left);
            under_way.reverse();
            while let Some(part) = under_way.pop() {
                let told = self.enqueue_part(path, part).await;
                if part.len() > 1 && told.as_ref().is_err_and(is_about_some) {
                    // Which ones it is about is found by halves: the others go in.
                    let (first, second) = part.split_at(part.len() / 2);
                    under_way.extend([second, first]);
                    continue;
                }
                let told = told.unwrap_or_else(|why| vec![Err(why); part.len()]);
                for ((place, line), told) in part.iter().zip(told) {
                    if matches!(&told, Err(Error::Refused(problem)) if problem.of_many_passes()) {
                        again.push((*place, *line));
                    }
                    answers[*place] = Some(told);
                }
            }
            if again.is_empty() || !patience.wait(None).await {
                break;
            }
            left = again;
        }
        let missing = || Err(Error::Unusable("the job was not sent".into()));
        answers
            .into_iter()
            .map(|answer| answer.unwrap_or_else(missing))
            .collect()
    }

    /// One request's worth of jobs.
    async fn enqueue_part(
        &self,
        path: &str,
        part: &[(usize, &str)],
    ) -> Result<Vec<Result<Enqueued, Error>>, Error> {
        #[derive(Deserialize)]
        struct Answer {
            jobs: Vec<One>,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum One {
            Refused { error: Refused },
            Enqueued(Enqueued),
        }
        #[derive(Deserialize)]
        struct Refused {
            code: String,
            detail: String,
        }
        let lines: Vec<&str> = part.iter().map(|(_, line)| *line).collect();
        let body = format!("{{\"jobs\":[{}]}}", lines.join(","));
        let request = self.post(path, body);
        let jobs = self.json::<Answer>(request, Twice::Fine).await?.jobs;
        if jobs.len() != part.len() {
            let why = format!("{} answers to {} jobs", jobs.len(), part.len());
            return Err(self.not_a_runner(200, why));
        }
        let told = jobs.into_iter().map(|one| match one {
            One::Enqueued(enqueued) => Ok(enqueued),
            One::Refused { error } => Err(Error::Refused(Problem {
                code: Code::of(&error.code),
                status: 0,
                title: String::new(),
                detail: error.detail,
                retry_after: None,
            })),
        });
        Ok(told.collect())
    }
}

/// Whether a refusal of many jobs is about some of them, or about their number, and nothing was done.
fn is_about_some(error: &Error) -> bool {
    matches!(
        error.code(),
        Some(Code::Invalid | Code::BadRequest | Code::TooLarge)
    )
}

/// Jobs by requests: as many each as one takes.
fn parts<'a, 'b>(jobs: &'a [(usize, &'b str)]) -> Vec<&'a [(usize, &'b str)]> {
    let (mut parts, mut begin, mut bytes) = (Vec::new(), 0, 0);
    for (place, (_, line)) in jobs.iter().enumerate() {
        if place > begin && (place - begin == JOBS || bytes + line.len() > BULK_BYTES) {
            parts.push(&jobs[begin..place]);
            (begin, bytes) = (place, 0);
        }
        bytes += line.len() + 1;
    }
    parts.push(&jobs[begin..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_go_out_in_requests_that_the_runner_takes() {
        let short: Vec<(usize, &str)> = (0..1001).map(|place| (place, "{}")).collect();
        let sizes = |jobs| {
            parts(jobs)
                .iter()
                .map(|part| part.len())
                .collect::<Vec<_>>()
        };
        assert_eq!(sizes(&short), [500, 500, 1]);
        let long = "x".repeat(BULK_BYTES / 2);
        let long: Vec<(usize, &str)> = (0..3).map(|place| (place, long.as_str())).collect();
        assert_eq!(sizes(&long), [1, 1, 1]);
        let huge = "x".repeat(BULK_BYTES + 1);
        assert_eq!(sizes(&[(0, huge.as_str()), (1, "{}")]), [1, 1]);
    }
}
