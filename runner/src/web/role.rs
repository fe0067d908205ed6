//! Which role each request needs.

use super::token::Role;
use crate::api::{BatchRequest, CronAct, Request, WorkersAct};

/// The least role that may ask this. The same over every way that leads here.
pub(super) fn needed(request: &Request) -> Role {
    match request {
        Request::Ping
        | Request::Job { .. }
        | Request::Jobs { .. }
        | Request::Logs { .. }
        | Request::Wait { .. }
        | Request::Queues
        | Request::Crons
        | Request::Unique { .. }
        | Request::Dead { .. }
        | Request::CountDead { .. }
        | Request::Letter { .. }
        | Request::RawLetter { .. }
        | Request::Plugins
        | Request::Plugin { .. }
        | Request::Workers
        | Request::Metrics
        | Request::Settings
        | Request::Stats => Role::Viewer,
        Request::Enqueue { .. }
        | Request::Retry { .. }
        | Request::CallOff { .. }
        | Request::Steer(_)
        | Request::Unlock { .. }
        | Request::Requeue { .. }
        | Request::Delete { .. }
        | Request::AmendJobs { .. } => Role::Operator,
        Request::Batch(request) => match request {
            BatchRequest::Show { .. } | BatchRequest::List { .. } => Role::Viewer,
            BatchRequest::Open(_) | BatchRequest::Seal { .. } | BatchRequest::Cancel { .. } => {
                Role::Operator
            }
        },
        Request::ActOnCron { act, .. } => match act {
            CronAct::Pause { .. } | CronAct::Resume | CronAct::Trigger => Role::Operator,
            CronAct::Add { .. } | CronAct::Remove => Role::Admin,
        },
        Request::ActOnWorkers { act } => match act {
            WorkersAct::Quiet | WorkersAct::Resume => Role::Operator,
            WorkersAct::Stop => Role::Admin,
        },
        Request::Reload
        | Request::ImportDead { .. }
        | Request::PurgeDead { .. }
        | Request::ActOnPlugin { .. } => Role::Admin,
    }
}
