//! AI jobs: the list of all, and the page of one.

#![expect(
    unreachable_pub,
    reason = "the component macro makes a public struct of the properties of each"
)]

mod consent;
mod list;
mod one;

pub use consent::Consent;

use crate::api::jobs::{JobsAsked, job_show, jobs_list};
use crate::carried::Carried;
use crate::error::AppError;
use crate::i18n::{t, use_locale};
use crate::pages::desk::DeskOfAddress;
use crate::pages::not_found::Missing;
use crate::paths;
use domain::job::JobStatus;
use leptos::prelude::*;
use leptos_router::params::ParamsMap;
use std::pin::Pin;
use wasm_split_helpers::wasm_split;

/// Something that a page begins with, being read.
type Loading<T> = Pin<Box<dyn Future<Output = Result<T, AppError>> + Send>>;

/// The page of all jobs.
#[component]
pub fn JobsPage() -> impl IntoView {
    DeskOfAddress::view(|read| async move {
        match read {
            Some(rows) => present(rows).await,
            None => Ok(missing()),
        }
    })
}

/// The page of one job.
#[component]
pub fn JobPage() -> impl IntoView {
    DeskOfAddress::view(|read| async move {
        match read {
            Some(job) => present_one(job).await,
            None => Ok(missing()),
        }
    })
}

#[wasm_split(jobs, preload(preload_list), fallible)]
fn present(rows: Carried) -> Result<AnyView, AppError> {
    let rows = rows.open()?;
    Ok(view! { <list::List rows/> }.into_any())
}

#[wasm_split(jobs, preload(preload_one), fallible)]
fn present_one(job: Carried) -> Result<AnyView, AppError> {
    let job = job.open()?;
    Ok(view! { <one::One job/> }.into_any())
}

/// Fetches the part. Each of its entries has to be told that it is there.
pub(crate) async fn fetch() -> Result<(), AppError> {
    preload_list().await?;
    preload_one().await?;
    Ok(())
}

/// Reads what the list begins with.
#[wasm_split(jobs, fallible)]
pub(crate) fn load(asked: JobsAsked) -> Result<Loading<Carried>, AppError> {
    Ok(Box::pin(
        async move { jobs_list(asked).await.map(Carried::of) },
    ))
}

/// Reads what the page of a job begins with; `None` when there is no such job.
#[wasm_split(jobs, fallible)]
pub(crate) fn load_one(key: String) -> Result<Loading<Option<Carried>>, AppError> {
    Ok(Box::pin(async move {
        Ok(job_show(key).await?.map(Carried::of))
    }))
}

/// What the address asks for. What makes no sense in it is passed over.
pub(crate) fn asked_by(query: &ParamsMap) -> JobsAsked {
    let text = |name: &str| {
        let value = query.get(name)?.trim().to_owned();
        (!value.is_empty()).then_some(value)
    };
    JobsAsked {
        status: text("status").and_then(|word| JobStatus::parse(&word).ok()),
        user: text("user"),
        younger_than: text("within").and_then(|seconds| seconds.parse().ok()),
        ..JobsAsked::default()
    }
}

/// There is no such job, or not any more.
fn missing() -> AnyView {
    let locale = use_locale();
    view! { <Missing text=t!(locale, job.missing) href=paths::JOBS back=t!(locale, job.back)/> }
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
    let all = query(&[("status", "running"), ("user", " u "), ("within", "3600")]);
    assert_eq!(
        (all.status, all.user.as_deref(), all.younger_than),
        (Some(JobStatus::Running), Some("u"), Some(3600))
    );
    let none = query(&[("status", "sideways"), ("user", " "), ("within", "soon")]);
    assert_eq!(none, JobsAsked::default());
}
