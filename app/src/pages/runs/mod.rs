//! Runs of outside clients: the list of all, and the page of one.

#![expect(
    unreachable_pub,
    reason = "the component macro makes a public struct of the properties of each"
)]

mod calls;
mod list;
mod one;
mod story;

use crate::api::runs::{RunsAsked, run_show, runs_list};
use crate::carried::Carried;
use crate::error::AppError;
use crate::i18n::{t, use_locale};
use crate::pages::desk::DeskOfAddress;
use crate::pages::not_found::Missing;
use crate::paths;
use domain::run::RunGroup;
use leptos::prelude::*;
use leptos_router::params::ParamsMap;
use std::pin::Pin;
use wasm_split_helpers::wasm_split;

/// Something that a page begins with, being read.
type Loading<T> = Pin<Box<dyn Future<Output = Result<T, AppError>> + Send>>;

/// The page of all runs.
#[component]
pub fn RunsPage() -> impl IntoView {
    DeskOfAddress::view(|read| async move {
        match read {
            Some(rows) => present(rows).await,
            None => Ok(missing()),
        }
    })
}

/// The page of one run.
#[component]
pub fn RunPage() -> impl IntoView {
    DeskOfAddress::view(|read| async move {
        match read {
            Some(run) => present_one(run).await,
            None => Ok(missing()),
        }
    })
}

#[wasm_split(runs, preload(preload_list), fallible)]
fn present(rows: Carried) -> Result<AnyView, AppError> {
    let rows = rows.open()?;
    Ok(view! { <list::List rows/> }.into_any())
}

#[wasm_split(runs, preload(preload_one), fallible)]
fn present_one(run: Carried) -> Result<AnyView, AppError> {
    let run = run.open()?;
    Ok(view! { <one::One run/> }.into_any())
}

/// Fetches the part. Each of its entries has to be told that it is there.
pub(crate) async fn fetch() -> Result<(), AppError> {
    preload_list().await?;
    preload_one().await?;
    Ok(())
}

/// Reads what the list begins with.
#[wasm_split(runs, fallible)]
pub(crate) fn load(asked: RunsAsked) -> Result<Loading<Carried>, AppError> {
    Ok(Box::pin(
        async move { runs_list(asked).await.map(Carried::of) },
    ))
}

/// Reads what the page of a run begins with; `None` when there is no such run.
#[wasm_split(runs, fallible)]
pub(crate) fn load_one(key: String) -> Result<Loading<Option<Carried>>, AppError> {
    Ok(Box::pin(async move {
        match key.parse() {
            Ok(id) => Ok(run_show(id).await?.map(Carried::of)),
            Err(_) => Ok(None),
        }
    }))
}

/// What the address asks for. What makes no sense in it is passed over.
pub(crate) fn asked_by(query: &ParamsMap) -> RunsAsked {
    let text = |name: &str| {
        let value = query.get(name)?.trim().to_owned();
        (!value.is_empty()).then_some(value)
    };
    RunsAsked {
        group: text("group").and_then(|word| RunGroup::parse(&word).ok()),
        text: text("text"),
        ..RunsAsked::default()
    }
}

/// There is no such run, or not any more.
fn missing() -> AnyView {
    let locale = use_locale();
    view! { <Missing text=t!(locale, run.missing) href=paths::RUNS back=t!(locale, run.back)/> }
        .into_any()
}

#[test]
fn what_makes_no_sense_in_an_address_is_passed_over() {
    let query = |pairs: &[(&'static str, &str)]| {
        let mut query = ParamsMap::new();
        for (name, value) in pairs {
            query.insert(*name, (*value).to_owned());
        }
        asked_by(&query)
    };
    let both = query(&[("group", "needs_attention"), ("text", " phone ")]);
    assert_eq!(
        (both.group, both.text.as_deref()),
        (Some(RunGroup::NeedsAttention), Some("phone"))
    );
    let none = query(&[("group", "sideways"), ("text", " ")]);
    assert_eq!(none, RunsAsked::default());
}
