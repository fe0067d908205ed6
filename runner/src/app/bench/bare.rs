//! Bare attempts of a component, on as many threads as there are workers.

use std::{sync::Arc, thread};

use anyhow::Context as _;
use sandhog_model::{JobId, NewJob, Token};

use super::Stand;
use crate::{
    cli::Bared,
    engine::Settings as _,
    plugin::{AttemptRequest, BareAttempt, Live, OneJob, Services, WasmHostFactory},
};

/// Attempts on each thread before the clock starts, as part of those that are measured.
const WARM: usize = 20;

impl Stand {
    /// So many attempts in all; `live` stops them.
    pub fn bare(&self, job: &NewJob, jobs: usize, live: &Arc<Live>) -> anyhow::Result<Bared> {
        let threads = self.config.runner.workers;
        let each = jobs.div_ceil(threads);
        let request = self.request(job, live)?;
        let hosts = WasmHostFactory::new(super::sandbox_options(&self.config))
            .map_err(|cause| anyhow::anyhow!("cannot set up the sandbox: {cause}"))?
            .reaching(Arc::clone(&self.outside));
        let spent = thread::scope(|scope| {
            let running: Vec<_> = (0..threads)
                .map(|_| scope.spawn(|| attempts(&hosts, &request, each)))
                .collect();
            let mut spent = BareAttempt::default();
            for thread in running {
                let one = thread.join();
                spent += one.unwrap_or_else(|_| anyhow::bail!("a thread broke"))?;
            }
            Ok::<_, anyhow::Error>(spent)
        })?;
        Ok(Bared {
            jobs: each * threads,
            workers: threads,
            spent,
        })
    }

    fn request(&self, job: &NewJob, live: &Arc<Live>) -> anyhow::Result<AttemptRequest> {
        let (plugin, limits) = self.served(&job.kind)?;
        let job = self.job(JobId(1 << 80), job.clone());
        Ok(AttemptRequest {
            token: Token(1),
            number: 1,
            max_attempts: 1,
            checkpoint: None,
            started_at: job.enqueued_at,
            plugin,
            limits,
            config: self.operator.rule(&job.kind).config,
            live: Arc::clone(live),
            job,
        })
    }
}

/// What one thread's attempts took, after a few that are not counted.
fn attempts(
    hosts: &WasmHostFactory,
    request: &AttemptRequest,
    count: usize,
) -> anyhow::Result<BareAttempt> {
    let host = hosts.wasm_host().map_err(anyhow::Error::msg)?;
    let services: Arc<dyn Services> = Arc::<OneJob>::default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .context("cannot make a runtime")?;
    runtime.block_on(async {
        let mut spent = BareAttempt::default();
        for number in 0..WARM + count {
            let one = host.bare(request.clone(), &services).await;
            let one =
                one.map_err(|why| anyhow::anyhow!("a bare attempt did not complete: {why}"))?;
            if number >= WARM {
                spent += one;
            }
        }
        Ok(spent)
    })
}
