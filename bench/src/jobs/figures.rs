//! Figures of rounds, and what is said of them.

use std::fmt;

use super::ours::Pickup;
use crate::samples::Samples;

/// Rates, or times, one for each round.
#[derive(Debug, Default, Clone)]
pub(crate) struct Rounds(pub(crate) Vec<f64>);

impl Rounds {
    pub(crate) fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(crate) fn median(&self) -> f64 {
        median(self.0.clone())
    }

    /// The median of the rounds' ratios to `base`.
    pub(crate) fn to(&self, base: &Self) -> f64 {
        median(self.0.iter().zip(&base.0).map(|(a, b)| a / b).collect())
    }
}

impl fmt::Display for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let least = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.0.iter().copied().fold(0.0, f64::max);
        write!(
            f,
            "{:>9.0} jobs/s   (rounds {least:.0} to {most:.0})",
            self.median()
        )
    }
}

/// The pickup in several rounds: all samples, and the 99th percentile of each round.
#[derive(Debug, Default)]
pub(crate) struct Latency {
    pub(crate) called: Samples,
    pub(crate) accepted: Samples,
    pub(crate) ninety_ninth: Rounds,
}

impl Latency {
    pub(crate) fn add(&mut self, round: &Pickup) {
        self.ninety_ninth.add(round.called.at(0.99));
        self.called.extend(&round.called);
        self.accepted.extend(&round.accepted);
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        length if length % 2 == 1 => values[length / 2],
        length => f64::midpoint(values[length / 2 - 1], values[length / 2]),
    }
}

/// Jobs over nanoseconds, as jobs a second.
#[expect(clippy::cast_precision_loss, reason = "both are far below 2^52")]
pub(crate) fn rate(jobs: usize, nanoseconds: i64) -> f64 {
    jobs as f64 * 1e9 / nanoseconds.max(1) as f64
}

/// What was held against a gate, and what must never happen and did.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    lines: Vec<String>,
    pub(crate) faults: Vec<String>,
}

impl Verdicts {
    /// More is better.
    pub(crate) fn at_least(&mut self, what: &str, ratio: f64, gate: f64, goal: f64) {
        let verdict = if ratio >= goal {
            "met, and the goal"
        } else if ratio >= gate {
            "met"
        } else {
            "missed"
        };
        self.say(format!("{what}: {ratio:.2}x   gate {gate}x: {verdict}"));
    }

    /// Less is better.
    pub(crate) fn at_most(&mut self, what: &str, ratio: f64, gate: f64) {
        // Without samples there is no ratio.
        let met = ratio > 0.0 && ratio <= gate;
        let verdict = if met { "met" } else { "missed" };
        self.say(format!(
            "{what}: {ratio:.2}x   gate at most {gate}x: {verdict}"
        ));
    }

    /// A goal without a gate.
    pub(crate) fn goal(&mut self, what: &str, ratio: f64, goal: f64) {
        let verdict = if ratio >= goal {
            "reached"
        } else {
            "not reached"
        };
        self.say(format!("{what}: {ratio:.2}x   goal {goal}x: {verdict}"));
    }

    /// Something that must never happen.
    pub(crate) fn count(&mut self, what: &str, times: usize) {
        let verdict = if times == 0 { "met" } else { "missed" };
        self.say(format!("{what}: {times}   gate 0: {verdict}"));
        if times > 0 {
            self.faults.push(what.to_owned());
        }
    }

    fn say(&mut self, line: String) {
        println!("    {line}");
        self.lines.push(line);
    }
}

impl fmt::Display for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "all gates")?;
        for line in &self.lines {
            writeln!(f, "  {line}")?;
        }
        Ok(())
    }
}
