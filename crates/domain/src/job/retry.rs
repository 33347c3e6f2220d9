//! Whether a failed run is tried again, and when.
//!
//! The decision is bounded: attempts, a wall-clock budget from the first run, and a cap a class. An assessor may only choose
//! within those bounds ([`constrain`]).

use super::failure::{ErrorClass, Failure};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// From the first run on, a job is tried for this long.
pub const WALL_CLOCK_BUDGET_MS: i64 = 15 * 60 * 1_000;
/// Tries to deliver one answer.
pub const MAX_DELIVERY_ATTEMPTS: i64 = 6;
/// A job whose worker vanished waits this long.
pub const STALE_DELAY_MS: i64 = 10_000;

words! {
    /// Why it is, or is not, tried again.
    RetryReason("reason") {
        /// It is.
        BoundedRetry = "bounded_retry",
        /// All attempts are used up.
        RetryExhausted = "retry_exhausted",
        /// It has been tried for too long.
        WallClockBudgetExhausted = "wall_clock_budget_exhausted",
        /// Only the user can mend it.
        UserActionRequired = "user_action_required",
        /// The platform will never take it.
        DeliveryRefused = "delivery_refused",
        /// Only an operator can mend it.
        ConfigurationRequired = "configuration_required",
        /// The model declines, and would again.
        SafetyRefused = "safety_refused",
        /// It was canceled.
        Canceled = "canceled",
        /// The assessor stopped it.
        AssessorStopped = "assessor_stopped",
    }
}

words! {
    /// How retries are decided.
    AssessorMode("mode") {
        /// By the rule here alone.
        Bounded = "bounded",
        /// By an assessor within the bounds of the rule.
        Llm = "llm",
    }
}

impl AssessorMode {
    /// Unknown words mean the rule alone.
    #[must_use]
    pub fn of(word: &str) -> Self {
        Self::parse(word.trim()).unwrap_or(Self::Bounded)
    }
}

/// From one provider to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderSwitch {
    /// The one that failed.
    pub from: String,
    /// The next one.
    pub to: String,
}

/// What was decided; stored, shown and sent as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetryDecision {
    /// Whether it is tried again.
    pub retry: bool,
    /// Why.
    pub reason: RetryReason,
    /// What kind of failure it was.
    pub error_class: ErrorClass,
    /// How long it waits; 0 when it is not tried again.
    pub next_retry_delay_ms: i64,
    /// A provider that may fare better.
    pub provider_switch_hint: Option<ProviderSwitch>,
}

/// What the rule looks at.
#[derive(Debug, Clone, Copy)]
pub struct RetryFacts<'a> {
    /// The failure.
    pub failure: &'a Failure,
    /// Runs so far, this one among them.
    pub attempt_count: i64,
    /// Runs allowed.
    pub max_attempts: i64,
    /// Begin of the first run.
    pub budget_start: Timestamp,
    /// Now.
    pub now: Timestamp,
    /// Providers in order.
    pub provider_chain: &'a [String],
    /// Drawn evenly from -1 to 1.
    pub jitter: f64,
}

/// Base and cap of the wait, in milliseconds. `None` when the class is never tried again.
const fn curve(class: ErrorClass) -> Option<(i64, i64)> {
    match class {
        ErrorClass::RunnerUnavailable => Some((15_000, 180_000)),
        ErrorClass::TransientTransport
        | ErrorClass::ToolSchema
        | ErrorClass::Unknown
        | ErrorClass::DeliveryTransient => Some((6_000, 120_000)),
        ErrorClass::UserActionable
        | ErrorClass::DeliveryPermanent
        | ErrorClass::Canceled
        | ErrorClass::Config
        | ErrorClass::SafetyRefusal => None,
    }
}

const fn refusal(class: ErrorClass) -> Option<RetryReason> {
    match class {
        ErrorClass::UserActionable => Some(RetryReason::UserActionRequired),
        ErrorClass::DeliveryPermanent => Some(RetryReason::DeliveryRefused),
        ErrorClass::Canceled => Some(RetryReason::Canceled),
        ErrorClass::Config => Some(RetryReason::ConfigurationRequired),
        ErrorClass::SafetyRefusal => Some(RetryReason::SafetyRefused),
        ErrorClass::RunnerUnavailable
        | ErrorClass::TransientTransport
        | ErrorClass::ToolSchema
        | ErrorClass::Unknown
        | ErrorClass::DeliveryTransient => None,
    }
}

/// The wait before the next try, in whole seconds as milliseconds: doubled with each attempt, spread by a quarter both ways,
/// never above the class's cap. 0 for a class that is never tried again.
#[must_use]
pub fn backoff_ms(class: ErrorClass, attempt: i64, jitter: f64) -> i64 {
    let Some((base, cap)) = curve(class) else {
        return 0;
    };
    let doublings = attempt.saturating_sub(1).clamp(0, 7);
    let nominal = (base << doublings).min(cap);
    let jitter = if jitter.is_finite() {
        jitter.clamp(-1.0, 1.0)
    } else {
        0.0
    };
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "the wait is below four minutes, which a float holds exactly"
    )]
    let spread = (nominal as f64 * (1.0 + jitter * 0.25)) as i64;
    whole_seconds(spread.clamp(1, cap))
}

/// Rounded up to whole seconds.
const fn whole_seconds(millis: i64) -> i64 {
    millis.saturating_add(999) / 1_000 * 1_000
}

/// The rule for a run that failed.
#[must_use]
pub fn decide(facts: &RetryFacts<'_>) -> RetryDecision {
    let class = facts.failure.class;
    let spent = facts.now.since(facts.budget_start);
    let stop = |reason| RetryDecision {
        retry: false,
        reason,
        error_class: class,
        next_retry_delay_ms: 0,
        provider_switch_hint: None,
    };
    if facts.attempt_count >= facts.max_attempts {
        return stop(RetryReason::RetryExhausted);
    }
    if spent >= WALL_CLOCK_BUDGET_MS {
        return stop(RetryReason::WallClockBudgetExhausted);
    }
    if let Some(reason) = refusal(class) {
        return stop(reason);
    }
    let Some(delay) = wait(facts, spent) else {
        return stop(RetryReason::WallClockBudgetExhausted);
    };
    let provider_switch_hint = match (class, facts.provider_chain) {
        (ErrorClass::TransientTransport, [from, to, ..]) => Some(ProviderSwitch {
            from: from.clone(),
            to: to.clone(),
        }),
        _ => None,
    };
    RetryDecision {
        retry: true,
        reason: RetryReason::BoundedRetry,
        error_class: class,
        next_retry_delay_ms: delay,
        provider_switch_hint,
    }
}

/// The computed wait, or the other side's advice when that is longer. Advice that leads beyond the budget ends the job: coming
/// back before the time would be refused again.
fn wait(facts: &RetryFacts<'_>, spent: i64) -> Option<i64> {
    let computed = backoff_ms(facts.failure.class, facts.attempt_count, facts.jitter);
    match facts.failure.retry_after_ms.map(whole_seconds) {
        Some(advised) if advised > computed => {
            (spent.saturating_add(advised) <= WALL_CLOCK_BUDGET_MS).then_some(advised)
        }
        Some(_) | None => Some(computed),
    }
}

/// The rule for an answer that could not be delivered. Its tries are counted apart, so that a platform that is down costs no
/// further model run.
#[must_use]
pub fn decide_delivery(facts: &RetryFacts<'_>) -> RetryDecision {
    decide(&RetryFacts {
        max_attempts: MAX_DELIVERY_ATTEMPTS,
        ..*facts
    })
}

/// What an assessor may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proposal {
    /// Try again after this wait.
    Retry {
        /// In milliseconds.
        delay_ms: i64,
        /// Whether the hinted switch of providers is wanted.
        switch_provider: bool,
    },
    /// Do not try again.
    Stop,
}

/// What is left of a proposal within the bounds of the rule. It cannot revive what the rule refused, wait beyond the cap, or
/// come back sooner than the other side allows.
#[must_use]
pub fn constrain(
    bounded: &RetryDecision,
    advised_ms: Option<i64>,
    proposal: Proposal,
) -> RetryDecision {
    if !bounded.retry {
        return bounded.clone();
    }
    match proposal {
        Proposal::Stop => RetryDecision {
            retry: false,
            reason: RetryReason::AssessorStopped,
            next_retry_delay_ms: 0,
            provider_switch_hint: None,
            ..bounded.clone()
        },
        Proposal::Retry {
            delay_ms,
            switch_provider,
        } => {
            let floor = advised_ms
                .map_or(1_000, whole_seconds)
                .clamp(1_000, bounded.next_retry_delay_ms.max(1_000));
            let cap = curve(bounded.error_class)
                .map_or(0, |(_, cap)| cap)
                .max(bounded.next_retry_delay_ms);
            RetryDecision {
                next_retry_delay_ms: whole_seconds(delay_ms.clamp(floor, cap)),
                provider_switch_hint: bounded
                    .provider_switch_hint
                    .clone()
                    .filter(|_| switch_provider),
                ..bounded.clone()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_millis(1_000_000 + minutes * 60_000)
    }

    fn facts<'a>(
        failure: &'a Failure,
        attempt: i64,
        minutes: i64,
        chain: &'a [String],
    ) -> RetryFacts<'a> {
        RetryFacts {
            failure,
            attempt_count: attempt,
            max_attempts: 6,
            budget_start: at(0),
            now: at(minutes),
            provider_chain: chain,
            jitter: 0.0,
        }
    }

    #[test]
    fn waits_double_up_to_the_cap() {
        let waits: Vec<i64> = (1..=6)
            .map(|attempt| backoff_ms(ErrorClass::Unknown, attempt, 0.0) / 1_000)
            .collect();
        assert_eq!(waits, [6, 12, 24, 48, 96, 120]);
        assert_eq!(backoff_ms(ErrorClass::RunnerUnavailable, 1, 0.0), 15_000);
        assert_eq!(backoff_ms(ErrorClass::RunnerUnavailable, 9, 0.0), 180_000);
        assert_eq!(backoff_ms(ErrorClass::UserActionable, 1, 0.0), 0);
    }

    #[test]
    fn every_wait_is_whole_within_bounds_and_below_its_cap() {
        let seed: u64 = rand::random();
        let mut rng = StdRng::seed_from_u64(seed);
        for _ in 0..20_000 {
            let class = ErrorClass::ALL[rng.random_range(0..ErrorClass::ALL.len())];
            let attempt = match rng.random_range(0..4) {
                0 => rng.random_range(-5..12),
                1 => i64::MIN,
                2 => i64::MAX,
                _ => rng.random(),
            };
            let jitter = match rng.random_range(0..12) {
                0 => f64::NAN,
                1 => f64::INFINITY,
                2 => -1e9,
                _ => rng.random_range(-1.0..=1.0),
            };
            let wait = backoff_ms(class, attempt, jitter);
            let Some((base, cap)) = curve(class) else {
                assert_eq!(wait, 0, "seed {seed}");
                continue;
            };
            let nominal = (base << attempt.saturating_sub(1).clamp(0, 7)).min(cap);
            assert_eq!(wait % 1_000, 0, "seed {seed}");
            assert!(
                wait >= nominal * 3 / 4 && wait <= cap,
                "seed {seed}: {class} {attempt} {jitter} {wait}"
            );
            assert!(
                wait <= whole_seconds(nominal * 5 / 4),
                "seed {seed}: {class} {attempt} {jitter} {wait}"
            );
        }
    }

    #[test]
    fn checks_come_in_order() {
        let user = Failure::new(ErrorClass::UserActionable, "no");
        let down = Failure::new(ErrorClass::TransientTransport, "503");
        let reason =
            |failure, attempt, minutes| decide(&facts(failure, attempt, minutes, &[])).reason;
        assert_eq!(reason(&user, 6, 20), RetryReason::RetryExhausted);
        assert_eq!(reason(&user, 1, 15), RetryReason::WallClockBudgetExhausted);
        assert_eq!(reason(&user, 1, 14), RetryReason::UserActionRequired);
        assert_eq!(reason(&down, 5, 14), RetryReason::BoundedRetry);
        for (class, expected) in [
            (ErrorClass::Config, RetryReason::ConfigurationRequired),
            (ErrorClass::SafetyRefusal, RetryReason::SafetyRefused),
            (ErrorClass::DeliveryPermanent, RetryReason::DeliveryRefused),
            (ErrorClass::Canceled, RetryReason::Canceled),
        ] {
            let failure = Failure::new(class, "");
            let decision = decide(&facts(&failure, 1, 0, &[]));
            assert_eq!((decision.retry, decision.reason), (false, expected));
        }
    }

    #[test]
    fn advice_is_kept_within_the_budget() {
        let after = |seconds: i64, minutes| {
            let failure = Failure::new(ErrorClass::TransientTransport, "429")
                .retry_after(Some(seconds * 1_000 - 1));
            decide(&facts(&failure, 1, minutes, &[]))
        };
        assert_eq!(after(3, 0).next_retry_delay_ms, 6_000);
        assert_eq!(after(40, 0).next_retry_delay_ms, 40_000);
        assert_eq!(after(300, 0).next_retry_delay_ms, 300_000);
        assert_eq!(after(300, 11).reason, RetryReason::WallClockBudgetExhausted);
        let absurd = Failure::new(ErrorClass::Unknown, "").retry_after(Some(i64::MAX));
        assert!(!decide(&facts(&absurd, 1, 0, &[])).retry);
    }

    #[test]
    fn another_provider_is_hinted_at_when_the_transport_fails() {
        let chain = ["a".to_owned(), "b".to_owned()];
        let down = Failure::new(ErrorClass::TransientTransport, "");
        let hint = decide(&facts(&down, 1, 0, &chain)).provider_switch_hint;
        assert_eq!(
            hint.map(|hint| (hint.from, hint.to)),
            Some(("a".to_owned(), "b".to_owned()))
        );
        assert_eq!(
            decide(&facts(&down, 1, 0, &chain[..1])).provider_switch_hint,
            None
        );
        let other = Failure::new(ErrorClass::Unknown, "");
        assert_eq!(
            decide(&facts(&other, 1, 0, &chain)).provider_switch_hint,
            None
        );
    }

    #[test]
    fn an_assessor_stays_within_the_bounds() {
        let down = Failure::new(ErrorClass::TransientTransport, "");
        let bounded = decide(&facts(&down, 1, 0, &[]));
        let ask = |delay_ms| {
            let proposal = Proposal::Retry {
                delay_ms,
                switch_provider: true,
            };
            constrain(&bounded, Some(4_000), proposal).next_retry_delay_ms
        };
        assert_eq!(ask(i64::MAX), 120_000);
        assert_eq!(ask(-7), 4_000);
        assert_eq!(ask(9_001), 10_000);
        let stopped = constrain(&bounded, None, Proposal::Stop);
        assert_eq!(
            (stopped.retry, stopped.reason),
            (false, RetryReason::AssessorStopped)
        );
        let refused = decide(&facts(&down, 6, 0, &[]));
        let proposal = Proposal::Retry {
            delay_ms: 1,
            switch_provider: true,
        };
        assert_eq!(constrain(&refused, None, proposal), refused);
        assert_eq!(AssessorMode::of(" llm "), AssessorMode::Llm);
        assert_eq!(AssessorMode::of("anything"), AssessorMode::Bounded);
    }

    #[test]
    fn a_decision_looks_as_stored_rows_expect() {
        let down = Failure::new(ErrorClass::TransientTransport, "");
        let json = serde_json::to_value(decide(&facts(&down, 1, 0, &[]))).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "retry": true, "reason": "bounded_retry", "errorClass": "transient_transport",
                "nextRetryDelayMs": 6000, "providerSwitchHint": null,
            })
        );
    }
}
