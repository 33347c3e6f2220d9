//! Where a job stands, as an icon with its word, and in a phrase what goes on at present.

use super::glyph::Glyph;
use super::icon::Icon;
use crate::clock::stopwatch;
use crate::i18n::{Locale, t, use_locale};
use domain::job::view::JobView;
use domain::job::{JobEvent, JobEventType, JobStatus};
use domain::time::Timestamp;
use leptos::prelude::*;

/// The status: shape, colour and word.
#[component]
pub fn JobStatusMark(
    /// Where it stands.
    status: JobStatus,
    /// The wish to end it is noted, and its worker has not stopped yet.
    #[prop(optional)]
    stopping: bool,
) -> impl IntoView {
    let locale = use_locale();
    let icon_class = match status {
        JobStatus::Pending | JobStatus::Canceled => "w-4 h-4 shrink-0 text-muted",
        JobStatus::Running => "w-4 h-4 shrink-0 text-running spin",
        JobStatus::Completed => "w-4 h-4 shrink-0 text-done",
        JobStatus::FailedTerminal => "w-4 h-4 shrink-0 text-failed",
    };
    let words = if stopping {
        t!(locale, job.stopping)
    } else {
        word(locale, status)
    };
    view! {
        <span class="inline-flex items-center gap-1.5 whitespace-nowrap" data-testid="job-status" data-status=status.as_str()>
            <Icon glyph=glyph(status) class=icon_class/>
            <span class="text-12 font-medium">{words}</span>
        </span>
    }
}

const fn glyph(status: JobStatus) -> Glyph {
    match status {
        JobStatus::Pending => Glyph::CircleDashed,
        JobStatus::Running => Glyph::LoaderCircle,
        JobStatus::Completed => Glyph::CircleCheck,
        JobStatus::FailedTerminal => Glyph::CircleX,
        JobStatus::Canceled => Glyph::Ban,
    }
}

/// The word for a status.
#[must_use]
pub fn word(locale: Locale, status: JobStatus) -> &'static str {
    match status {
        JobStatus::Pending => t!(locale, job.pending),
        JobStatus::Running => t!(locale, job.running),
        JobStatus::Completed => t!(locale, job.completed),
        JobStatus::FailedTerminal => t!(locale, job.failed),
        JobStatus::Canceled => t!(locale, job.canceled),
    }
}

/// How long a job that failed still waits before it is tried again.
#[must_use]
pub fn again_in(locale: Locale, job: &JobView, now: Timestamp) -> Option<String> {
    let left = wait_of(job, now);
    (left > 0).then(|| t!(locale, job.again_in, time = stopwatch(left + 999)))
}

fn wait_of(job: &JobView, now: Timestamp) -> i64 {
    let due = job
        .next_retry_at
        .filter(|_| job.status == JobStatus::Pending && !job.cancel_requested);
    due.map_or(0, |due| due.since(now))
}

/// What goes on with a job that is not over. It changes when something happens, and not with every second.
#[must_use]
pub fn phase(locale: Locale, job: &JobView, events: &[JobEvent], now: Timestamp) -> String {
    if job.cancel_requested {
        return t!(locale, job.stopping).to_owned();
    }
    if job.status == JobStatus::Pending {
        return if wait_of(job, now) > 0 {
            t!(locale, job.phase_again).to_owned()
        } else {
            t!(locale, job.phase_queued).to_owned()
        };
    }
    let last = events
        .iter()
        .rev()
        .find(|event| tells_phase(event.event_type));
    match last {
        Some(event) if event.event_type == JobEventType::ToolCalled => {
            t!(locale, job.phase_tool, name = tool_of(event))
        }
        Some(event) if event.event_type == JobEventType::Executing => {
            t!(locale, job.phase_thinking).to_owned()
        }
        Some(event)
            if matches!(
                event.event_type,
                JobEventType::Delivering | JobEventType::DeliveryFailed
            ) =>
        {
            t!(locale, job.phase_delivering).to_owned()
        }
        Some(_) | None => t!(locale, job.phase_starting).to_owned(),
    }
}

/// Whether the entry says what a run is at.
const fn tells_phase(event: JobEventType) -> bool {
    matches!(
        event,
        JobEventType::Running
            | JobEventType::Executing
            | JobEventType::ToolCalled
            | JobEventType::Delivering
            | JobEventType::DeliveryFailed
    )
}

/// The tool that an entry names.
pub(super) fn tool_of(event: &JobEvent) -> String {
    let tool = event.metadata_json.as_ref().and_then(|of| of.get("tool"));
    tool.and_then(|tool| tool.as_str())
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::job::JobId;
    use serde_json::json;

    fn job(status: JobStatus) -> JobView {
        JobView {
            id: JobId(1),
            correlation_id: "aij_1".to_owned(),
            status,
            source: String::new(),
            user_id: String::new(),
            user_name: None,
            guild_id: None,
            request_text: String::new(),
            max_attempts: 6,
            attempt_count: 1,
            next_retry_at: None,
            last_error: None,
            created_at: Timestamp::from_millis(0),
            started_at: None,
            completed_at: None,
            updated_at: Timestamp::from_millis(0),
            cancel_requested: false,
            answer_text: None,
            tools_used: Vec::new(),
            action_not_performed: false,
            pending_confirmation: None,
            retry_of: None,
        }
    }

    fn event(event_type: JobEventType) -> JobEvent {
        JobEvent {
            id: 1,
            job_id: JobId(1),
            event_type,
            source: String::new(),
            step: None,
            message: None,
            metadata_json: Some(json!({"tool": "list_tasks"})),
            created_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn the_phase_is_that_of_the_last_entry_that_tells_one() {
        let now = Timestamp::from_millis(0);
        let running = job(JobStatus::Running);
        let say = |events: &[JobEventType]| {
            let events: Vec<JobEvent> = events.iter().map(|kind| event(*kind)).collect();
            phase(Locale::en, &running, &events, now)
        };
        use JobEventType as E;
        assert_eq!(say(&[]), t!(Locale::en, job.phase_starting));
        assert_eq!(
            say(&[E::Running, E::Executing]),
            t!(Locale::en, job.phase_thinking)
        );
        assert!(say(&[E::Executing, E::ToolCalled]).contains("list_tasks"));
        assert_eq!(
            say(&[E::ToolCalled, E::Delivering]),
            t!(Locale::en, job.phase_delivering)
        );
        assert_eq!(
            say(&[E::Delivering, E::Running, E::ClaimLost]),
            t!(Locale::en, job.phase_starting)
        );
        let stopping = JobView {
            cancel_requested: true,
            ..job(JobStatus::Running)
        };
        assert_eq!(
            phase(Locale::en, &stopping, &[], now),
            t!(Locale::en, job.stopping)
        );
        let due = |millis| JobView {
            next_retry_at: Some(Timestamp::from_millis(millis)),
            ..job(JobStatus::Pending)
        };
        assert_eq!(
            phase(Locale::en, &due(0), &[], now),
            t!(Locale::en, job.phase_queued)
        );
        assert_eq!(
            phase(Locale::en, &due(5_500), &[], now),
            t!(Locale::en, job.phase_again)
        );
        let waits = again_in(Locale::en, &due(5_500), now);
        assert!(waits.is_some_and(|words| words.contains("0:06")));
        assert_eq!(again_in(Locale::en, &due(0), now), None);
    }
}
