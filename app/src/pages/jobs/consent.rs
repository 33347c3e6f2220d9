//! A preview that is agreed to or declined in place: the same in the conversation and on a job's page.

use crate::api::jobs::job_consent;
use crate::components::consent_card::ConsentCard;
use crate::components::states::explain;
use crate::i18n::use_locale;
use domain::job::view::ConsentView;
use leptos::prelude::*;
use leptos::task::spawn_local;

/// The preview with its buttons.
#[component]
pub fn Consent(
    /// The preview as it is now.
    #[prop(into)]
    preview: Signal<ConsentView>,
    /// It stands elsewhere, or may.
    on_settled: Callback<Option<ConsentView>>,
) -> impl IntoView {
    let locale = use_locale();
    let busy = RwSignal::new(false);
    let failure = RwSignal::new(None);
    let press = Callback::new(move |agrees: bool| {
        if busy.get_untracked() {
            return;
        }
        busy.set(true);
        failure.set(None);
        let (job, id) = preview.with_untracked(|preview| (preview.job_id, preview.id));
        spawn_local(async move {
            let settled = job_consent(job, id, agrees).await;
            match settled {
                Ok(view) => on_settled.run(Some(view)),
                Err(error) => {
                    let _ = failure.try_set(Some(explain(locale, &error)));
                    // Somebody may have been faster: the card shows what became of it.
                    on_settled.run(None);
                }
            }
            let _ = busy.try_set(false);
        });
    });
    view! { <ConsentCard preview busy failure on_press=press/> }
}
