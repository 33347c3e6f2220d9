//! What is counted, and how it is written in the text format of Prometheus.

use board::{JobStats, Stats};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper ends of the classes of duration, in seconds.
const BUCKETS: [f64; 6] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5];

/// What is counted since the start.
#[derive(Debug, Default)]
pub struct Metrics(Mutex<BTreeMap<Key, Times>>);

/// Which requests are counted together. The route, not the address: ids would make a series each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) method: &'static str,
    pub(crate) route: String,
    pub(crate) status: u16,
}

#[derive(Debug, Clone, Copy, Default)]
struct Times {
    count: u64,
    seconds: f64,
    within: [u64; BUCKETS.len()],
}

impl Metrics {
    pub(crate) fn count(&self, key: Key, took: Duration) {
        let seconds = took.as_secs_f64();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let times = all.entry(key).or_default();
        times.count += 1;
        times.seconds += seconds;
        for (number, _) in times
            .within
            .iter_mut()
            .zip(BUCKETS)
            .filter(|(_, end)| seconds <= *end)
        {
            *number += 1;
        }
    }

    pub(crate) fn render(&self, stats: &Stats, live_agents: usize, listeners: usize) -> String {
        let mut out = Page::default();
        let all = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        out.head(
            "flightdeck_http_requests_total",
            "counter",
            "Requests by method, route and status.",
        );
        for (key, times) in &all {
            out.line("flightdeck_http_requests_total", &key.labels(), times.count);
        }
        out.head(
            "flightdeck_http_request_duration_seconds",
            "histogram",
            "Time to the first byte of the answer.",
        );
        for (key, times) in &all {
            let labels = key.labels();
            let name = "flightdeck_http_request_duration_seconds";
            for (number, end) in times.within.iter().zip(BUCKETS) {
                out.line(
                    &format!("{name}_bucket"),
                    &format!("{labels},le=\"{end}\""),
                    number,
                );
            }
            out.line(
                &format!("{name}_bucket"),
                &format!("{labels},le=\"+Inf\""),
                times.count,
            );
            out.line(&format!("{name}_sum"), &labels, times.seconds);
            out.line(&format!("{name}_count"), &labels, times.count);
        }
        out.head("flightdeck_tasks", "gauge", "Unarchived tasks by state.");
        for (state, number) in &stats.tasks {
            out.line("flightdeck_tasks", &format!("state=\"{state}\""), number);
        }
        out.head("flightdeck_sessions", "gauge", "Sessions by state.");
        for (state, number) in &stats.sessions {
            out.line("flightdeck_sessions", &format!("state=\"{state}\""), number);
        }
        for (name, help, number) in [
            (
                "flightdeck_effects_due",
                "Follow-ups that are due and not being carried out.",
                stats.effects_due,
            ),
            (
                "flightdeck_live_agents",
                "Agents that run on this node.",
                i64::try_from(live_agents).unwrap_or(i64::MAX),
            ),
            (
                "flightdeck_event_listeners",
                "Clients that listen to the event feed of this node.",
                i64::try_from(listeners).unwrap_or(i64::MAX),
            ),
        ] {
            out.head(name, "gauge", help);
            out.line(name, "", number);
        }
        out.0
    }

    /// The numbers of AI jobs, to be put behind the others.
    #[must_use]
    pub fn render_jobs(stats: &JobStats, running: usize, open_breakers: usize) -> String {
        let mut out = Page::default();
        out.jobs(stats, running, open_breakers);
        out.0
    }
}

impl Key {
    fn labels(&self) -> String {
        format!(
            "method=\"{}\",route=\"{}\",status=\"{}\"",
            self.method, self.route, self.status
        )
    }
}

#[derive(Default)]
struct Page(String);

// Writing to a string cannot fail.
impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = if labels.is_empty() {
            writeln!(self.0, "{name} {value}")
        } else {
            writeln!(self.0, "{name}{{{labels}}} {value}")
        };
    }
}

impl Page {
    /// `flightdeck_jobs_oldest_due_seconds` is the one to alert on: it grows when nobody takes what is due.
    fn jobs(&mut self, stats: &JobStats, running: usize, open_breakers: usize) {
        self.head(
            "flightdeck_jobs",
            "gauge",
            "AI jobs that are kept, by status.",
        );
        for (status, number) in &stats.jobs {
            self.line("flightdeck_jobs", &format!("status=\"{status}\""), number);
        }
        let gauge = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        for (name, help, number) in [
            (
                "flightdeck_jobs_running_here",
                "AI jobs that run on this node.",
                gauge(running),
            ),
            (
                "flightdeck_job_breakers_open",
                "Chains of providers that are left alone at present.",
                gauge(open_breakers),
            ),
        ] {
            self.head(name, "gauge", help);
            self.line(name, "", number);
        }
        self.head(
            "flightdeck_jobs_oldest_due_seconds",
            "gauge",
            "How long the longest due AI job has been due.",
        );
        self.line(
            "flightdeck_jobs_oldest_due_seconds",
            "",
            seconds(stats.oldest_due_ms.unsigned_abs()),
        );
        self.head(
            "flightdeck_job_events_total",
            "counter",
            "Entries in timelines of AI jobs, by type.",
        );
        for (event, number) in &stats.events {
            self.line(
                "flightdeck_job_events_total",
                &format!("type=\"{event}\""),
                number,
            );
        }
        for (name, help, classes) in [
            (
                "flightdeck_job_retries_total",
                "Runs of AI jobs that failed and are tried again, by class.",
                &stats.retries,
            ),
            (
                "flightdeck_job_failures_total",
                "AI jobs given up after a failed run, by class.",
                &stats.failures,
            ),
        ] {
            self.head(name, "counter", help);
            for (class, number) in classes {
                self.line(name, &format!("class=\"{class}\""), number);
            }
        }
        for (name, help, (count, millis)) in [
            (
                "flightdeck_job_claim_latency_seconds",
                "From the making of an AI job to its first run.",
                stats.claims,
            ),
            (
                "flightdeck_job_run_seconds",
                "From the first run of an AI job to its completion.",
                stats.completions,
            ),
        ] {
            self.head(name, "summary", help);
            self.line(&format!("{name}_sum"), "", seconds(millis));
            self.line(&format!("{name}_count"), "", count);
        }
        for (name, help, number) in [
            (
                "flightdeck_job_attempts_total",
                "Runs that completed AI jobs took.",
                stats.attempts,
            ),
            (
                "flightdeck_job_answers_total",
                "Answers generated.",
                stats.answers,
            ),
            (
                "flightdeck_job_actions_not_performed_total",
                "Answers that say that nothing was done.",
                stats.actions_not_performed,
            ),
            (
                "flightdeck_job_guard_retries_total",
                "Times the action guard asked for another turn.",
                stats.guard_retries,
            ),
            (
                "flightdeck_job_queue_errors_total",
                "Hints refused in sweeps.",
                stats.queue_errors,
            ),
        ] {
            self.head(name, "counter", help);
            self.line(name, "", number);
        }
        self.head(
            "flightdeck_job_tokens_total",
            "counter",
            "Tokens of models.",
        );
        self.line(
            "flightdeck_job_tokens_total",
            "direction=\"input\"",
            stats.tokens.0,
        );
        self.line(
            "flightdeck_job_tokens_total",
            "direction=\"output\"",
            stats.tokens.1,
        );
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a sum of milliseconds that a float cannot hold exactly takes millennia"
)]
fn seconds(millis: u64) -> f64 {
    millis as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_route_and_class_of_duration() {
        let metrics = Metrics::default();
        let key = Key {
            method: "GET",
            route: "/api/v1/tasks/{id}".to_owned(),
            status: 200,
        };
        metrics.count(key.clone(), Duration::from_millis(3));
        metrics.count(key, Duration::from_secs(9));
        let text = metrics.render(&Stats::default(), 2, 0);
        let labels = "method=\"GET\",route=\"/api/v1/tasks/{id}\",status=\"200\"";
        for line in [
            format!("flightdeck_http_requests_total{{{labels}}} 2"),
            format!("flightdeck_http_request_duration_seconds_bucket{{{labels},le=\"0.001\"}} 0"),
            format!("flightdeck_http_request_duration_seconds_bucket{{{labels},le=\"0.005\"}} 1"),
            format!("flightdeck_http_request_duration_seconds_bucket{{{labels},le=\"2.5\"}} 1"),
            format!("flightdeck_http_request_duration_seconds_bucket{{{labels},le=\"+Inf\"}} 2"),
            "flightdeck_live_agents 2".to_owned(),
        ] {
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
    }
}
