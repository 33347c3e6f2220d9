//! Telling users that their job was given up: best effort, after the end is durable. What becomes of a notice changes nothing.

use crate::{Board, Result};
use domain::job::retry::{MAX_DELIVERY_ATTEMPTS, backoff_ms};
use domain::job::{ChunkState, Delivery, ErrorClass, Failure, Job};
use domain::time::Timestamp;
use store::Write;

/// How long a notice that was taken is held against other nodes, in milliseconds: longer than a platform may take.
const HELD_MS: i64 = 60_000;

/// A notice that is to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// The job that was given up.
    pub job: Job,
    /// What is to be sent.
    pub piece: Delivery,
}

impl Board {
    /// Takes notices that are to be sent now.
    pub async fn job_notices_take(&self, limit: i64) -> Result<Vec<Notice>> {
        let mut work = self.begin_rows().await?;
        let now = work.now;
        let held_until = now.plus_millis(HELD_MS);
        let mut notices = Vec::new();
        for piece in
            store::job_deliveries::take_notices(&mut work.tx, now, held_until, limit).await?
        {
            if let Some(job) = store::jobs::find(&mut work.tx, piece.job_id).await? {
                notices.push(Notice { job, piece });
            }
        }
        work.commit().await?;
        Ok(notices)
    }

    /// Whether a notice is to be sent; costs no turn to write.
    pub async fn job_notices_due(&self) -> Result<bool> {
        let mut db = self.snapshot().await?;
        Ok(store::job_deliveries::notice_due(&mut db, self.clock.now()).await?)
    }

    /// A notice has arrived.
    pub async fn job_notice_sent(&self, piece: &Delivery, platform_message_id: &str) -> Result<()> {
        let mut work = self.begin_rows().await?;
        let now = work.now;
        let _: Write = store::job_deliveries::settle(
            &mut work.tx,
            piece,
            ChunkState::Delivered,
            Some(platform_message_id),
            now,
        )
        .await?;
        work.commit().await
    }

    /// A notice was not taken: it is tried again some times, or left.
    pub async fn job_notice_failed(
        &self,
        piece: &Delivery,
        failure: &Failure,
        jitter: f64,
    ) -> Result<()> {
        let mut work = self.begin_rows().await?;
        let now = work.now;
        let attempt = piece.attempts + 1;
        let _: Write =
            if failure.class == ErrorClass::DeliveryPermanent || attempt >= MAX_DELIVERY_ATTEMPTS {
                store::job_deliveries::settle(&mut work.tx, piece, ChunkState::Abandoned, None, now)
                    .await?
            } else {
                let wait = backoff_ms(ErrorClass::DeliveryTransient, attempt, jitter)
                    .max(failure.retry_after_ms.unwrap_or_default());
                let at: Timestamp = now.plus_millis(wait);
                store::job_deliveries::postpone(&mut work.tx, piece, at).await?
            };
        work.commit().await
    }
}
