//! `/sign-in` and `/sign-out`: forms that work before any script does.

use crate::state::AppState;
use app::sign_in::{Notice, SignIn};
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Query, Request, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{MethodRouter, get, post};
use domain::error::ErrorCode;
use leptos::prelude::provide_context;
use serde::Deserialize;
use tower_sessions::Session;

/// Where the form is.
pub(super) const PAGE: &str = "/sign-in";
/// What ends it.
pub(super) const OUT: &str = "/sign-out";

pub(super) fn page() -> MethodRouter<AppState> {
    get(show).post(enter)
}

pub(super) fn out() -> MethodRouter<AppState> {
    post(leave)
}

/// The page, and where it leads to once somebody is signed in.
pub(super) fn address(next: &str) -> String {
    format!("{PAGE}?next={}", urlencoded(next))
}

fn urlencoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// A path of ours, and nothing that leads to another site.
fn own_path(next: Option<&str>) -> &str {
    let safe = |path: &&str| {
        path.starts_with('/')
            && !path.starts_with("//")
            && !path.contains(['\\', '\r', '\n', '\t'])
            && !path.starts_with(PAGE)
            && !path.starts_with(OUT)
    };
    next.filter(safe).unwrap_or("/")
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Asked {
    next: Option<String>,
    notice: Option<String>,
}

async fn show(
    State(app): State<AppState>,
    session: Session,
    asked: Result<Query<Asked>, axum::extract::rejection::QueryRejection>,
    request: Request,
) -> Response {
    let asked = asked.map(|Query(asked)| asked).unwrap_or_default();
    let next = own_path(asked.next.as_deref()).to_owned();
    // Where nobody has to sign in there is nothing to do here.
    if matches!(app.accounts.required().await, Ok(false)) {
        return Redirect::to(&next).into_response();
    }
    let signed = matches!(crate::accounts::operator_of(&session).await, Ok(Some(_)));
    let page = SignIn {
        next,
        notice: asked.notice.as_deref().and_then(Notice::parse),
        signed,
    };
    let assets = app.site.assets().clone();
    leptos_axum::render_app_to_stream_with_context(
        move || provide_context(assets.clone()),
        move || page.clone().document(),
    )(request)
    .await
    .into_response()
}

#[derive(Debug, Deserialize)]
struct Entered {
    name: String,
    password: String,
    #[serde(default)]
    next: Option<String>,
}

async fn enter(
    State(app): State<AppState>,
    session: Session,
    entered: Result<Form<Entered>, FormRejection>,
) -> Response {
    let Ok(Form(entered)) = entered else {
        return again("/", Notice::Wrong);
    };
    let next = own_path(entered.next.as_deref());
    match app
        .accounts
        .sign_in(&session, &entered.name, &entered.password)
        .await
    {
        Ok(_) => Redirect::to(next).into_response(),
        Err(refusal) => again(next, notice(refusal.code)),
    }
}

fn notice(code: ErrorCode) -> Notice {
    if code == ErrorCode::RateLimited {
        Notice::TooMany
    } else if code == ErrorCode::Unauthorized {
        Notice::Wrong
    } else {
        Notice::Unavailable
    }
}

async fn leave(State(app): State<AppState>, session: Session) -> Response {
    match app.accounts.sign_out(&session).await {
        Ok(()) => again("/", Notice::Out),
        Err(refusal) => crate::error::ApiError(refusal).into_response(),
    }
}

/// A page of its own after each form, so that loading it again sends nothing again.
fn again(next: &str, notice: Notice) -> Response {
    Redirect::to(&format!("{}&notice={notice}", address(next))).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_led_to_another_site() {
        for bad in [
            "",
            "//evil.example",
            "https://evil.example",
            "/\\evil.example",
            "/a\r\nb",
            "/sign-in?next=/",
            "evil",
        ] {
            assert_eq!(own_path(Some(bad)), "/", "{bad:?}");
        }
        assert_eq!(own_path(Some("/tasks/1?tab=plan")), "/tasks/1?tab=plan");
        assert_eq!(own_path(None), "/");
        assert_eq!(
            address("/tasks/1?a=b&c"),
            "/sign-in?next=%2Ftasks%2F1%3Fa%3Db%26c"
        );
    }
}
