//! What the pages of the assistant, of AI jobs, of runs and of settings begin with: read by the layout and not by the page, since server and browser must
//! count their resources alike. How each is read, the app says, which knows them all.

use crate::carried::Carried;
use crate::components::states::Skeleton;
use crate::error::AppError;
use crate::lazy;
use crate::live::{Topic, use_live};
use crate::paths;
use leptos::prelude::*;
use leptos_router::hooks::{use_location, use_query_map};
use leptos_router::params::ParamsMap;
use std::pin::Pin;

/// What a page begins with, being read; `None` when there is no such thing.
pub type Reading = Pin<Box<dyn Future<Output = Result<Option<Carried>, AppError>> + Send>>;

/// What the page at the address begins with.
#[derive(Debug, Clone, Copy)]
pub struct DeskOfAddress(Resource<Result<First, AppError>>);

/// The path it was read for, empty for pages of other kinds; and what was read, if there is such a thing.
type First = (String, Option<Carried>);

impl DeskOfAddress {
    /// Puts it into the context of the pages.
    pub fn provide(read: fn(String, &ParamsMap) -> Reading) {
        let live = use_live();
        let location = use_location();
        let query = use_query_map();
        let path = Memo::new(move |_| location.pathname.with(|path| ours(path)));
        provide_context(Self(Resource::new(
            move || path.get(),
            move |path| {
                let reading = (!path.is_empty()).then(|| {
                    // Listening begins before reading: what happens in between is heard and read again.
                    for topic in [Topic::Jobs, Topic::Runs, Topic::Waits] {
                        untrack(|| live.revision(topic));
                    }
                    query.with_untracked(|query| read(path.clone(), query))
                });
                async move {
                    let read = match reading {
                        Some(reading) => reading.await?,
                        None => None,
                    };
                    Ok((path, read))
                }
            },
        )));
    }

    /// The view that `open` makes of what the page begins with.
    pub(super) fn view<Opening>(
        open: impl Fn(Option<Carried>) -> Opening + Copy + Send + 'static,
    ) -> impl IntoView
    where
        Opening: Future<Output = Result<AnyView, AppError>> + Send + 'static,
    {
        let Self(first) = expect_context();
        let location = use_location();
        lazy::view(
            move || async move {
                let (path, read) = first.await?;
                if location.pathname.with_untracked(|now| *now != path) {
                    // Of the page that was shown before; the right one is on its way.
                    return Ok(view! { <Skeleton lines=6/> }.into_any());
                }
                open(read).await
            },
            move || {
                first.refetch();
            },
        )
    }
}

/// The path, when the page at it is one of these.
fn ours(path: &str) -> String {
    let is_ours = [paths::ASSISTANT, paths::JOBS, paths::RUNS, paths::SETTINGS].contains(&path)
        || paths::job_of(path).is_some()
        || paths::run_of(path).is_some();
    if is_ours {
        path.to_owned()
    } else {
        String::new()
    }
}

#[test]
fn the_pages_of_others_are_not_read_here() {
    for own in [
        paths::ASSISTANT,
        paths::JOBS,
        paths::SETTINGS,
        paths::RUNS,
        "/jobs/aij_1",
        "/runs/1",
    ] {
        assert_eq!(ours(own), own);
    }
    for other in [paths::HOME, paths::INBOX, "/tasks/1", "/assistants"] {
        assert_eq!(ours(other), "", "{other}");
    }
}
