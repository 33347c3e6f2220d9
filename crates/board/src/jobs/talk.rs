//! A conversation: the messages that a user sent by one way, each a job, with their answers.

use crate::{Board, Result};
use domain::job::effects::Confirmation;
use domain::job::row::{self, HISTORY_KEPT};
use domain::job::view::{ConsentView, JobView, Talk, TalkTurn};
use domain::job::{HistoryTurn, Job, JobEvent, JobId};
use std::collections::BTreeMap;
use store::Snapshot;
use store::job_views::Part;

/// Turns on one page.
const PAGE: i64 = 20;
/// Turns that one reading of what is new gives at most.
const MOST_NEW: i64 = 100;
/// Entries of timelines in one page: those of jobs that are not over, of which a user has few.
const MOST_EVENTS: i64 = 500;

/// Which part of a conversation is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TalkPart {
    /// The newest page.
    Newest,
    /// The page before this turn.
    Before(JobId),
    /// This turn and all that follow it.
    From(JobId),
}

impl Board {
    /// A part of what a user said by `source` and was answered, oldest first.
    pub async fn job_talk(&self, user_id: &str, source: &str, part: TalkPart) -> Result<Talk> {
        let mut db = self.snapshot().await?;
        let (part, limit, pages) = match part {
            TalkPart::Newest => (Part::Newest, PAGE, true),
            TalkPart::Before(job) => (Part::Before(job), PAGE, true),
            TalkPart::From(job) => (Part::From(job), MOST_NEW, false),
        };
        let sought = if pages { limit + 1 } else { limit };
        let mut jobs =
            store::job_views::conversation(&mut db, user_id, source, part, sought).await?;
        let has_earlier = pages && i64::try_from(jobs.len()).is_ok_and(|length| length > limit);
        if has_earlier {
            jobs.remove(0);
        }
        let turns = self.turns(&mut db, user_id, jobs).await?;
        Ok(Talk { turns, has_earlier })
    }

    async fn turns(
        &self,
        db: &mut Snapshot,
        user_id: &str,
        jobs: Vec<Job>,
    ) -> Result<Vec<TalkTurn>> {
        let (Some(first), Some(last)) = (jobs.first(), jobs.last()) else {
            return Ok(Vec::new());
        };
        let (first, last) = (first.id, last.id);
        let previews = store::job_effects::confirmations_between(db, user_id, first, last).await?;
        // Of several previews of a job the newest counts.
        let mut previews: BTreeMap<JobId, Confirmation> =
            previews.into_iter().map(|one| (one.job_id, one)).collect();
        let mut events: BTreeMap<JobId, Vec<JobEvent>> = BTreeMap::new();
        for event in store::job_events::of_unfinished(db, user_id, first, last, MOST_EVENTS).await?
        {
            events.entry(event.job_id).or_default().push(event);
        }
        let now = self.clock.now();
        Ok(jobs
            .into_iter()
            .map(|job| TalkTurn {
                events: events.remove(&job.id).unwrap_or_default(),
                confirmation: previews
                    .remove(&job.id)
                    .map(|preview| ConsentView::of(preview, now)),
                job: JobView::for_owner(job),
            })
            .collect())
    }

    /// What was said in a job's conversation before it: the last turns that are kept. Read when the job runs and not when it is made,
    /// so that a message that was sent quickly after another one knows the answer to that.
    pub async fn job_said_before(&self, job: &Job) -> Result<Vec<HistoryTurn>> {
        let mut db = self.snapshot().await?;
        let kept = i64::try_from(HISTORY_KEPT).unwrap_or(i64::MAX);
        let part = Part::Before(job.id);
        let mut jobs =
            store::job_views::conversation(&mut db, &job.user_id, &job.source, part, kept).await?;
        // What this one tries again is its own message.
        jobs.retain(|before| Some(before.id.0) != job.metadata.retry_of);
        Ok(row::said_in(&jobs))
    }
}
