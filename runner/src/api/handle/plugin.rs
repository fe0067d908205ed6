//! Plugins with their versions, and which of them is served.

use std::sync::Arc;

use crate::{
    api::{ApiError, Ctx, ErrorCode, Plugins, Reply, Response},
    plugin::{ActRefused, CheckRefused, NoVersion, PluginAct, PluginDesk},
};

pub(super) fn no_runner() -> ApiError {
    ApiError::new(ErrorCode::NoRunner, "no runner watches the plugin folder")
}

pub(super) fn list(ctx: &Ctx) -> Reply {
    let running = ctx.running.as_ref().ok_or_else(no_runner)?;
    let catalog = (*running.catalog()).clone();
    Ok(Response::Plugins(Plugins { catalog }))
}

pub(super) async fn view(ctx: &Ctx, name: String) -> Reply {
    let view = aside(ctx, move |desk| {
        desk.view(&name).ok_or_else(|| no_plugin(&name))
    });
    Ok(Response::Plugin(Box::new(view.await?)))
}

pub(super) async fn check(ctx: &Ctx, name: String) -> Reply {
    let checked = aside(ctx, move |desk| {
        desk.check(&name).map_err(|why| match why {
            CheckRefused::NoPlugin => no_plugin(&name),
            CheckRefused::Underway => ApiError::new(ErrorCode::Busy, why.to_string()),
        })
    });
    Ok(Response::CheckedPlugin(Box::new(checked.await?)))
}

fn no_plugin(name: &str) -> ApiError {
    let why = format!("no plugin {name}: see `sandhog plugin ls`");
    ApiError::new(ErrorCode::NotFound, why)
}

pub(super) async fn act(ctx: &Ctx, name: String, act: PluginAct) -> Reply {
    let acted = aside(ctx, move |desk| desk.act(&name, act).map_err(refused));
    Ok(Response::ActedOnPlugin(Box::new(acted.await?)))
}

fn refused(why: ActRefused) -> ApiError {
    let code = match &why {
        ActRefused::NoPlugin { .. } => ErrorCode::NotFound,
        ActRefused::NoVersion(NoVersion::NotOne { count: 0, .. }) => ErrorCode::NotFound,
        ActRefused::NoVersion(NoVersion::NotOne { .. }) => ErrorCode::Invalid,
        ActRefused::NoVersion(NoVersion::NoneKept { .. } | NoVersion::HeldBack { .. })
        | ActRefused::NotServed { .. }
        | ActRefused::NotHeld { .. } => ErrorCode::WrongState,
    };
    ApiError::new(code, why.to_string())
}

/// On a thread that may wait for a disk.
async fn aside<T: Send + 'static>(
    ctx: &Ctx,
    ask: impl FnOnce(&dyn PluginDesk) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let desk = Arc::clone(ctx.desk.as_ref().ok_or_else(no_runner)?);
    match tokio::task::spawn_blocking(move || ask(&*desk)).await {
        Ok(answer) => answer,
        // It panicked, and its text is in the log.
        Err(_) => Err(ApiError::new(
            ErrorCode::Busy,
            "the runner failed while it looked at its plugins: its log says more",
        )),
    }
}
