//! What stands in the place of content: nothing yet, something went wrong, or not there yet.

use super::button::Button;
use super::glyph::Glyph;
use super::icon::Icon;
use crate::error::AppError;
use crate::i18n::{Locale, t, use_locale};
use crate::paths;
use domain::error::ErrorCode;
use leptos::prelude::*;

/// One sentence that says what will be here, and the one thing to do about it.
#[component]
pub fn EmptyState(
    /// The sentence.
    #[prop(into)]
    text: TextProp,
    /// The thing to do, usually a button.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    view! {
        <div class="flex flex-col items-center justify-center gap-4 px-6 py-12 text-center">
            <p class="max-w-[24rem] text-muted">{move || text.get()}</p>
            {children.map(|children| children())}
        </div>
    }
    .into_any()
}

/// What happened, what was kept, what to do; a retry where one helps; the id to find it in the log by.
#[component]
pub fn ErrorState(
    /// The error.
    error: AppError,
    /// Tries again.
    #[prop(optional)]
    on_retry: Option<Callback<()>>,
) -> impl IntoView {
    let locale = use_locale();
    let body = error.0;
    let retry = on_retry.filter(|_| is_worth_retrying(body.code));
    let request_id =
        (!body.request_id.is_empty()).then(|| t!(locale, error.request_id, id = body.request_id));
    view! {
        <div role="alert" class="flex flex-col items-start gap-2 max-w-[40rem] p-4 rounded-lg border border-line bg-surface">
            <p class="flex items-center gap-2 font-semibold">
                <Icon glyph=Glyph::CircleAlert class="w-4 h-4 shrink-0 text-failed"/>
                {what_happened(locale, body.code)}
            </p>
            {(!body.message.is_empty()).then(|| view! { <p>{body.message}</p> })}
            <p class="text-muted">{what_to_do(locale, body.code)}</p>
            {(body.code == ErrorCode::Unauthorized).then(|| {
                // Beside this page, which keeps what was typed.
                view! { <a class="link" href=paths::SIGN_IN target="_blank" rel="external">{t!(locale, account.sign_in)}</a> }
            })}
            {retry.map(|on_retry| {
                view! {
                    <Button glyph=Glyph::RotateCcw on_press=on_retry>
                        {t!(locale, common.retry)}
                    </Button>
                }
            })}
            {request_id.map(|text| view! { <p class="text-12 text-muted font-mono">{text}</p> })}
        </div>
    }
    .into_any()
}

/// An error in one line.
#[must_use]
pub fn explain(locale: Locale, error: &AppError) -> String {
    let heading = what_happened(locale, error.code());
    if error.0.message.is_empty() {
        heading.to_owned()
    } else {
        [heading, &error.0.message].join(" ")
    }
}

/// The heading for an error of this kind. Also the text of a toast about one.
#[must_use]
pub fn what_happened(locale: Locale, code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::BadRequest => t!(locale, error.bad_request),
        ErrorCode::Validation
        | ErrorCode::PlanVersionRequired
        | ErrorCode::PlanAppendTruncationNotApplicable
        | ErrorCode::PlanContentRequired
        | ErrorCode::PlanEditTextRequired
        | ErrorCode::PlanRevisionVersionRequired
        | ErrorCode::PlanReadOffsetOutOfRange => t!(locale, error.validation),
        ErrorCode::NotFound
        | ErrorCode::PlanHeadUnavailable
        | ErrorCode::PlanRevisionUnavailable => t!(locale, error.not_found),
        ErrorCode::Forbidden => t!(locale, error.forbidden),
        ErrorCode::Unauthorized => t!(locale, error.unauthorized),
        ErrorCode::Conflict
        | ErrorCode::PlanVersionConflict
        | ErrorCode::PlanTruncationRejected
        | ErrorCode::PlanHistoryUnavailable
        | ErrorCode::PlanEditNotFound
        | ErrorCode::PlanEditAmbiguous
        | ErrorCode::PlanRevisionChanged => t!(locale, error.conflict),
        ErrorCode::QueueFull => t!(locale, error.queue_full),
        ErrorCode::RateLimited => t!(locale, error.rate_limited),
        ErrorCode::Unavailable => t!(locale, error.unavailable),
        ErrorCode::Internal => t!(locale, error.internal),
    }
}

fn what_to_do(locale: Locale, code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::BadRequest => t!(locale, error.bad_request_next),
        ErrorCode::Validation
        | ErrorCode::PlanVersionRequired
        | ErrorCode::PlanAppendTruncationNotApplicable
        | ErrorCode::PlanContentRequired
        | ErrorCode::PlanEditTextRequired
        | ErrorCode::PlanRevisionVersionRequired
        | ErrorCode::PlanReadOffsetOutOfRange => t!(locale, error.validation_next),
        ErrorCode::NotFound
        | ErrorCode::PlanHeadUnavailable
        | ErrorCode::PlanRevisionUnavailable => t!(locale, error.not_found_next),
        ErrorCode::Forbidden => t!(locale, error.forbidden_next),
        ErrorCode::Unauthorized => t!(locale, error.unauthorized_next),
        ErrorCode::Conflict
        | ErrorCode::PlanVersionConflict
        | ErrorCode::PlanTruncationRejected
        | ErrorCode::PlanHistoryUnavailable
        | ErrorCode::PlanEditNotFound
        | ErrorCode::PlanEditAmbiguous
        | ErrorCode::PlanRevisionChanged => t!(locale, error.conflict_next),
        ErrorCode::QueueFull => t!(locale, error.queue_full_next),
        ErrorCode::RateLimited => t!(locale, error.rate_limited_next),
        ErrorCode::Unavailable => t!(locale, error.unavailable_next),
        ErrorCode::Internal => t!(locale, error.internal_next),
    }
}

/// The same call may well succeed a moment later.
const fn is_worth_retrying(code: ErrorCode) -> bool {
    match code {
        ErrorCode::Conflict
        | ErrorCode::QueueFull
        | ErrorCode::RateLimited
        | ErrorCode::Unavailable
        | ErrorCode::Internal
        // Once somebody has signed in.
        | ErrorCode::Unauthorized => true,
        ErrorCode::BadRequest
        | ErrorCode::Validation
        | ErrorCode::NotFound
        | ErrorCode::Forbidden
        | ErrorCode::PlanVersionRequired
        | ErrorCode::PlanAppendTruncationNotApplicable
        | ErrorCode::PlanContentRequired
        | ErrorCode::PlanEditTextRequired
        | ErrorCode::PlanRevisionVersionRequired
        | ErrorCode::PlanReadOffsetOutOfRange
        | ErrorCode::PlanHeadUnavailable
        | ErrorCode::PlanRevisionUnavailable
        | ErrorCode::PlanVersionConflict
        | ErrorCode::PlanTruncationRejected
        | ErrorCode::PlanHistoryUnavailable
        | ErrorCode::PlanEditNotFound
        | ErrorCode::PlanEditAmbiguous
        | ErrorCode::PlanRevisionChanged => false,
    }
}

/// Grey lines where content will be. Hidden from assistive technology, which is told once.
#[component]
pub fn Skeleton(
    /// How many lines.
    #[prop(default = 3)]
    lines: usize,
) -> impl IntoView {
    let locale = use_locale();
    view! {
        <div class="flex flex-col gap-2 p-3" role="status">
            <span class="sr-only">{t!(locale, common.loading)}</span>
            {(0..lines).map(|_| view! { <span class="skeleton" aria-hidden="true"></span> }).collect_view()}
        </div>
    }
    .into_any()
}
