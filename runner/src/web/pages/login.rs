//! In with a token, and out again.

use std::sync::Arc;

use http::StatusCode;
use maud::html;

use super::{
    field, form,
    frame::{self, Place},
    page, said,
};
use crate::{
    entropy::SystemEntropy,
    web::{
        answer::{Answer, Outcome},
        call::Call,
        route::{Route, run},
        session::set_cookie,
        site::Site,
    },
};

pub(super) const ROUTES: &[Route] = &[
    page("/login", "loginPage", "Where a token is shown.", run!(show)).open(),
    form("/login", "login", "Come in with a token.", run!(begin)).open(),
    form("/logout", "logout", "Go out again.", run!(end)).open(),
];

async fn show(site: Arc<Site>, call: Call) -> Outcome {
    Ok(asked(&site, &call, None))
}

fn asked(site: &Site, call: &Call, wrong: Option<&str>) -> Answer {
    let status = match wrong {
        Some(_) => StatusCode::UNAUTHORIZED,
        None => StatusCode::OK,
    };
    let word = site.sessions.word(&call.headers);
    let content = html! {
        @if let Some(wrong) = wrong {
            p.note.fault role="alert" { (wrong) }
        }
        form.row method="post" action={ (call.prefix) "/login" } {
            input type="hidden" name="word" value=(word);
            label { "Token"
                input #token type="password" name="token" autocomplete="current-password" required autofocus;
            }
            button { "Log in" }
        }
        p.soft { "A token of the file that " code { "http.token_file" } " names. The login holds for twelve hours." }
    };
    let page = frame::page(site, call, Place::Elsewhere, "Log in", content);
    Answer::Html(status, page.into_string())
}

async fn begin(site: Arc<Site>, call: Call) -> Outcome {
    let fields = said(&site, &call)?;
    let token = field(&fields, "token").unwrap_or_default().trim();
    if site.gate.guard.now().caller(Some(token)).is_none() {
        return Ok(asked(&site, &call, Some("This token is not known.")));
    }
    let cookie = site.sessions.begin(token, &SystemEntropy);
    Ok(Answer::SeeOther {
        to: format!("{}/", call.prefix),
        cookie: Some(set_cookie(&cookie, &call.prefix, call.is_secure)),
    })
}

async fn end(site: Arc<Site>, call: Call) -> Outcome {
    let _ = said(&site, &call)?;
    site.sessions.end(&call.headers);
    Ok(Answer::SeeOther {
        to: format!("{}/login", call.prefix),
        cookie: Some(set_cookie("", &call.prefix, call.is_secure)),
    })
}
