//! Showing a part of the app that comes when it is first shown; see [`crate::parts`].

use crate::components::dialog::DialogAround;
use crate::components::states::{ErrorState, Skeleton};
use crate::error::AppError;
use leptos::prelude::*;

/// The view that `open` makes in the end, a skeleton until then, and the error with a retry if it fails.
pub fn view<Opening>(
    open: impl Fn() -> Opening + Copy + Send + 'static,
    before_retry: impl Fn() + Copy + Send + Sync + 'static,
) -> impl IntoView
where
    Opening: Future<Output = Result<AnyView, AppError>> + Send + 'static,
{
    let attempt = RwSignal::new(0_u32);
    let retry = Callback::new(move |()| {
        before_retry();
        attempt.update(|attempt| *attempt += 1);
    });
    view! {
        <Suspense fallback=|| view! { <Skeleton lines=6/> }>
            {move || {
                attempt.track();
                let opening = open();
                let dialog = use_context::<DialogAround>();
                Suspend::new(async move {
                    let opened = opening.await;
                    if let Some(dialog) = dialog {
                        dialog.filled();
                    }
                    opened.unwrap_or_else(|error| {
                        view! {
                            <div class="p-4">
                                <ErrorState error on_retry=retry/>
                            </div>
                        }
                        .into_any()
                    })
                })
            }}
        </Suspense>
    }
    .into_any()
}
