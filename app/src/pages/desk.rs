//! What the pages of the assistant and of AI jobs begin with: read by the layout and not by the page, since server and browser must
//! count their resources alike; see [`crate::pages::task::TaskOfAddress`].

use crate::carried::Carried;
use crate::components::states::Skeleton;
use crate::error::AppError;
use crate::lazy;
use crate::live::{Live, Topic, use_live};
use crate::pages::{assistant, jobs};
use crate::parts::Part;
use crate::paths;
use leptos::prelude::*;
use leptos_router::hooks::{use_location, use_query_map};

/// What the page at the address begins with.
#[derive(Debug, Clone, Copy)]
pub struct DeskOfAddress(Resource<Result<First, AppError>>);

/// The path it was read for, empty for pages of other kinds; and what was read, if there is such a thing.
type First = (String, Option<Carried>);

impl DeskOfAddress {
    /// Puts it into the context of the pages.
    pub fn provide() {
        let live = use_live();
        let location = use_location();
        let query = use_query_map();
        let path = Memo::new(move |_| location.pathname.with(|path| ours(path)));
        provide_context(Self(Resource::new(
            move || path.get(),
            move |path| async move {
                let asked = jobs::asked_by(&query.get_untracked());
                let read = read(&path, asked, live).await?;
                Ok((path, read))
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
    match Part::of_path(path) {
        Some(Part::Assistant | Part::Jobs) => path.to_owned(),
        Some(Part::Task | Part::Inbox) | None => String::new(),
    }
}

async fn read(
    path: &str,
    asked: crate::api::jobs::JobsAsked,
    live: Live,
) -> Result<Option<Carried>, AppError> {
    if path.is_empty() {
        return Ok(None);
    }
    // Listening begins before reading: what happens in between is heard and read again.
    untrack(|| live.revision(Topic::Jobs));
    match path {
        paths::ASSISTANT => assistant::load().await?.await.map(Some),
        paths::JOBS => jobs::load(asked).await?.await.map(Some),
        _ => match paths::job_of(path) {
            Some(key) => jobs::load_one(key.to_owned()).await?.await,
            None => Ok(None),
        },
    }
}
