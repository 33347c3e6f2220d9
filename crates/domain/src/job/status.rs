//! The machine of a job's status.
//!
//! Whoever commands anything but a claim, a cap, an expiry or a cancel holds the job's lease; the store checks that in the
//! same statement. Ended jobs stay as they ended.

use super::event::JobEventType;
use crate::error::Refusal;

words! {
    /// Where a job stands.
    JobStatus("status") {
        /// Waits until it is due.
        Pending = "pending",
        /// Somebody holds its lease and works on it.
        Running = "running",
        /// The answer has reached the user.
        Completed = "completed",
        /// Given up; the user was told.
        FailedTerminal = "failed_terminal",
        /// Ended by its owner or an operator.
        Canceled = "canceled",
    }
}

impl JobStatus {
    /// Nothing changes it any more.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::FailedTerminal | Self::Canceled
        )
    }
}

/// What can happen to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobCommand {
    /// A worker takes it.
    Claim,
    /// Its answer was delivered.
    Complete,
    /// It failed, and is tried again later.
    Retry,
    /// It waits, without having failed: a breaker is open, a limit used up, its worker shuts down.
    Snooze,
    /// Its worker is gone and attempts are left.
    Recover,
    /// It failed for good, or its worker is gone and no attempt is left.
    Fail,
    /// Its hint was repeated as often as may be and nobody took it.
    Cap,
    /// It would come too late to be of use, or can no longer be claimed.
    Expire,
    /// Its owner does not want it any more.
    Cancel,
    /// Its worker saw the wish to cancel and stopped.
    FinishCancel,
}

impl JobCommand {
    /// Every command, for the transition table.
    pub const ALL: &'static [Self] = &[
        Self::Claim,
        Self::Complete,
        Self::Retry,
        Self::Snooze,
        Self::Recover,
        Self::Fail,
        Self::Cap,
        Self::Expire,
        Self::Cancel,
        Self::FinishCancel,
    ];
}

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobTransition {
    /// The status after it.
    pub next: JobStatus,
    /// What the timeline gets, in this order. Empty when nothing changes.
    pub events: &'static [JobEventType],
}

impl JobTransition {
    /// Whether anything is to be written.
    #[must_use]
    pub const fn is_change(&self) -> bool {
        !self.events.is_empty()
    }
}

/// The machine. A cancel of a job that runs stays: the wish is noted, and its worker ends it at the next checkpoint.
pub fn decide(status: JobStatus, command: JobCommand) -> Result<JobTransition, Refusal> {
    use JobCommand as C;
    use JobEventType as E;
    use JobStatus as S;
    let (next, events): (S, &'static [E]) = match (status, command) {
        (S::Pending, C::Claim) => (S::Running, &[E::Running]),
        (S::Running, C::Complete) => (S::Completed, &[E::Completed]),
        (S::Running, C::Retry) => (S::Pending, &[E::RetryScheduled]),
        (S::Running, C::Snooze) => (S::Pending, &[E::Snoozed]),
        (S::Running, C::Recover) => (S::Pending, &[E::StaleRecovered]),
        (S::Running, C::Fail) | (S::Pending, C::Expire) => {
            (S::FailedTerminal, &[E::FailedTerminal])
        }
        (S::Pending, C::Cap) => (S::FailedTerminal, &[E::RequeueCapped, E::FailedTerminal]),
        (S::Pending, C::Cancel) | (S::Running, C::FinishCancel) => (S::Canceled, &[E::Canceled]),
        (S::Running, C::Cancel) | (S::Completed | S::FailedTerminal | S::Canceled, C::Cancel) => {
            (status, &[])
        }
        (
            S::Pending,
            C::Complete | C::Retry | C::Snooze | C::Recover | C::Fail | C::FinishCancel,
        ) => {
            return Err(Refusal::conflict("nobody is working on the job"));
        }
        (S::Running, C::Claim | C::Cap | C::Expire) => {
            return Err(Refusal::conflict("somebody is working on the job"));
        }
        (S::Completed | S::FailedTerminal | S::Canceled, _) => {
            return Err(Refusal::conflict("the job is over"));
        }
    };
    Ok(JobTransition { next, events })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transition_table() {
        let mut table = String::new();
        for command in JobCommand::ALL {
            for status in JobStatus::ALL {
                let outcome = match decide(*status, *command) {
                    Ok(t) if !t.is_change() => "stays".to_owned(),
                    Ok(t) => {
                        let events: Vec<&str> =
                            t.events.iter().map(|event| event.as_str()).collect();
                        format!("{} ({})", t.next, events.join(", "))
                    }
                    Err(refusal) => format!("refused: {}", refusal.code),
                };
                table.push_str(&format!("{command:?} on {status}: {outcome}\n"));
            }
        }
        insta::assert_snapshot!(table);
    }

    #[test]
    fn what_is_over_never_changes() {
        for status in JobStatus::ALL.iter().filter(|status| status.is_final()) {
            for command in JobCommand::ALL {
                assert!(
                    decide(*status, *command).map_or(true, |t| t.next == *status && !t.is_change())
                );
            }
        }
    }
}
