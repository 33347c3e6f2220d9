//! What is told of a call, for the log and for metrics: numbers, ids and words of closed sets.
//!
//! No field can hold what anybody wrote: there is no string among them but those of the program itself. The key of a thread is
//! left out too, since whoever has it can go on with the thread.

use super::ledger::Ledger;
use board::Board;
use domain::ids::{CallId, RunId};
use domain::run::RunStatus;
use domain::run::call::{CallOutcome, ClientKind, RunCall, RunTool};
use domain::run::refuse::RunErrorCode;
use domain::time::Timestamp;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// One call, told when it is over; also when its client is cut off and its future thrown away.
#[derive(Debug)]
pub(in crate::mcp) struct CallRecord<'a> {
    metrics: &'a RunMetrics,
    tool: RunTool,
    client: ClientKind,
    began: Instant,
    pub(in crate::mcp) run: Option<RunId>,
    pub(in crate::mcp) status: Option<RunStatus>,
    pub(in crate::mcp) poll: Option<i64>,
    pub(in crate::mcp) requested_wait_ms: Option<u64>,
    pub(in crate::mcp) waited_ms: Option<u64>,
    pub(in crate::mcp) duplicate: bool,
    pub(in crate::mcp) first_retrieval: bool,
    pub(in crate::mcp) tasks: Option<usize>,
    pub(in crate::mcp) log_events: Option<usize>,
    pub(in crate::mcp) log_cursor: Option<i64>,
    pub(in crate::mcp) bytes: usize,
    pub(in crate::mcp) error: Option<RunErrorCode>,
    pub(in crate::mcp) outcome: CallOutcome,
}

impl<'a> CallRecord<'a> {
    pub(in crate::mcp) fn begin(
        metrics: &'a RunMetrics,
        tool: RunTool,
        client: ClientKind,
    ) -> Self {
        Self {
            metrics,
            tool,
            client,
            began: Instant::now(),
            run: None,
            status: None,
            poll: None,
            requested_wait_ms: None,
            waited_ms: None,
            duplicate: false,
            first_retrieval: false,
            tasks: None,
            log_events: None,
            log_cursor: None,
            bytes: 0,
            error: None,
            // Until it is told otherwise.
            outcome: CallOutcome::Disconnected,
        }
    }

    fn took(&self) -> Duration {
        self.began.elapsed()
    }

    fn took_ms(&self) -> i64 {
        i64::try_from(self.took().as_millis()).unwrap_or(i64::MAX)
    }

    /// What is kept of it, when it was about a run.
    fn kept(&self) -> Option<RunCall> {
        Some(RunCall {
            id: CallId::new(),
            run_id: self.run?,
            tool: self.tool,
            client: self.client,
            status: self.status,
            outcome: self.outcome,
            error: self.error,
            poll: self.poll,
            requested_wait_ms: self.requested_wait_ms.map(whole),
            waited_ms: self.waited_ms.map(whole),
            duration_ms: self.took_ms(),
            bytes: i64::try_from(self.bytes).unwrap_or(i64::MAX),
            duplicate: self.duplicate,
            first_retrieval: self.first_retrieval,
            ended_at: self.metrics.now(),
        })
    }
}

impl Drop for CallRecord<'_> {
    fn drop(&mut self) {
        self.metrics.count(self);
        if let Some(call) = self.kept() {
            self.metrics.keep(call);
        }
        let run = self.run.map(|id| id.to_string()).unwrap_or_default();
        tracing::info!(
            tool = self.tool.as_str(),
            task_id = run.as_str(),
            job_id = run.as_str(),
            status = self.status.map(RunStatus::as_str),
            poll_count = self.poll,
            requested_wait_ms = self.requested_wait_ms,
            waited_ms = self.waited_ms,
            duration_ms = self.took_ms(),
            duplicate_job = self.duplicate,
            terminal_retrieval = self.first_retrieval,
            task_count = self.tasks,
            payload_bytes = self.bytes,
            log_events_returned = self.log_events,
            log_cursor = self.log_cursor,
            client = self.client.as_str(),
            transport = "http",
            outcome = self.outcome.as_str(),
            error_code = self.error.map(RunErrorCode::as_str),
            "run tool called"
        );
    }
}

fn whole(millis: u64) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}

/// Ends of the classes of seconds after which clients hang up; a cliff at one of them shows a client's limit.
const CUTS: [u64; 7] = [10, 30, 45, 60, 120, 240, 300];

/// What is counted of runs since the start.
#[derive(Debug, Default)]
pub struct RunMetrics {
    counts: Mutex<Counts>,
    waiting: AtomicUsize,
    ledger: Option<Ledger>,
}

#[derive(Debug, Default, Clone)]
struct Counts {
    calls: BTreeMap<(RunTool, CallOutcome), u64>,
    duplicates: u64,
    first_retrievals: u64,
    polls: u64,
    cuts: [u64; CUTS.len() + 1],
}

impl RunMetrics {
    /// Counts, and keeps in the board what is told of calls about runs.
    pub(in crate::mcp) fn keeping(board: Board, shutdown: CancellationToken) -> Self {
        Self {
            ledger: Some(Ledger::start(board, shutdown)),
            ..Self::default()
        }
    }

    fn now(&self) -> Timestamp {
        let clock = self.ledger.as_ref().map(|ledger| ledger.clock.clone());
        clock.unwrap_or_default().now()
    }

    fn keep(&self, call: RunCall) {
        if let Some(ledger) = &self.ledger {
            ledger.note(call);
        }
    }

    fn count(&self, call: &CallRecord<'_>) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.calls.entry((call.tool, call.outcome)).or_default() += 1;
        counts.duplicates += u64::from(call.duplicate);
        counts.first_retrievals += u64::from(call.first_retrieval);
        if call.first_retrieval {
            counts.polls += call.poll.unwrap_or_default().unsigned_abs();
        }
        if call.outcome == CallOutcome::Disconnected {
            let seconds = call.took().as_secs();
            let class = CUTS.iter().position(|end| seconds < *end);
            counts.cuts[class.unwrap_or(CUTS.len())] += 1;
        }
    }

    pub(in crate::mcp) fn set_waiting(&self, number: usize) {
        self.waiting.store(number, Ordering::Relaxed);
    }

    /// In the text format of Prometheus.
    #[must_use]
    pub fn render(&self) -> String {
        let counts = self
            .counts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let mut out = String::new();
        let mut head = |name: &str, kind: &str, help: &str, lines: Vec<(String, u64)>| {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in lines {
                let _ = writeln!(out, "{name}{labels} {value}");
            }
        };
        head(
            "flightdeck_run_calls_total",
            "counter",
            "Calls of the outside contract's tools by tool and outcome.",
            counts
                .calls
                .iter()
                .map(|((tool, outcome), number)| {
                    let outcome = outcome.as_str();
                    (
                        format!("{{tool=\"{tool}\",outcome=\"{outcome}\"}}"),
                        *number,
                    )
                })
                .collect(),
        );
        for (name, help, number) in [
            (
                "flightdeck_run_duplicates_total",
                "Starts that found their run already there.",
                counts.duplicates,
            ),
            (
                "flightdeck_run_retrievals_total",
                "Runs whose outcome was handed out.",
                counts.first_retrievals,
            ),
            (
                "flightdeck_run_polls_of_retrieved_total",
                "Waits that were made for those runs.",
                counts.polls,
            ),
        ] {
            head(name, "counter", help, vec![(String::new(), number)]);
        }
        let ends = CUTS.iter().map(u64::to_string).chain(["+Inf".to_owned()]);
        head(
            "flightdeck_run_disconnects_total",
            "counter",
            "Calls whose client hung up, by the seconds that it had waited for less than.",
            ends.zip(counts.cuts)
                .map(|(end, number)| (format!("{{below=\"{end}\"}}"), number))
                .collect(),
        );
        head(
            "flightdeck_run_waiters",
            "gauge",
            "Calls that wait for a run on this node.",
            vec![(
                String::new(),
                self.waiting
                    .load(Ordering::Relaxed)
                    .try_into()
                    .unwrap_or(u64::MAX),
            )],
        );
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_how_they_ended() {
        let metrics = RunMetrics::default();
        let call = |outcome| {
            CallRecord::begin(&metrics, RunTool::Check, ClientKind::Other).outcome = outcome;
        };
        call(CallOutcome::TimedOut);
        call(CallOutcome::TimedOut);
        drop(CallRecord::begin(
            &metrics,
            RunTool::Check,
            ClientKind::Other,
        ));
        let text = metrics.render();
        for line in [
            "flightdeck_run_calls_total{tool=\"check_task\",outcome=\"timeout\"} 2",
            "flightdeck_run_calls_total{tool=\"check_task\",outcome=\"disconnected\"} 1",
            "flightdeck_run_disconnects_total{below=\"10\"} 1",
            "flightdeck_run_waiters 0",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
