//! Counts of tests, read from what the runners print.

use std::fmt;
use std::ops::AddAssign;

use anyhow::{Context, Result};

/// How many tests ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl Counts {
    /// One check that held.
    pub(crate) const PASSED: Self = Self {
        passed: 1,
        failed: 0,
        skipped: 0,
    };
    /// One check that did not hold, or a stage that could not say.
    pub(crate) const FAILED: Self = Self {
        passed: 0,
        failed: 1,
        skipped: 0,
    };
    /// One check that could not be made here.
    pub(crate) const SKIPPED: Self = Self {
        passed: 0,
        failed: 0,
        skipped: 1,
    };

    /// From the summary of `cargo nextest run`.
    pub(crate) fn of_nextest(output: &str) -> Option<Self> {
        let line = output
            .lines()
            .rev()
            .find(|line| line.trim_start().starts_with("Summary ["))?;
        let (run, parts) = line.split_once(" run: ")?;
        let mut counts = Self::default();
        // Remarks like "(2 slow, 1 flaky)" are about tests that are counted already.
        let mut plain = String::new();
        let mut depth = 0;
        for c in parts.chars() {
            depth += i32::from(c == '(') - i32::from(c == ')');
            if depth == 0 {
                plain.push(c);
            }
        }
        for part in plain.split(',') {
            let (number, word) = part.trim().trim_start_matches(')').split_once(' ')?;
            let number: usize = number.parse().ok()?;
            match word.trim().trim_end_matches(')').trim() {
                "passed" => counts.passed += number,
                "skipped" => counts.skipped += number,
                // "failed", "timed out", "exec failed": none of them is a pass.
                _ => counts.failed += number,
            }
        }
        // "16/22 tests": a run that was broken off. What did not run did not pass.
        if let Some((ran, all)) = run
            .split_whitespace()
            .rev()
            .find_map(|word| word.split_once('/'))
        {
            counts.failed += all.parse::<usize>().ok()?.saturating_sub(ran.parse().ok()?);
        }
        Some(counts)
    }

    /// From the result lines of `cargo test`, one a test binary; nothing when there are none.
    pub(crate) fn of_cargo_test(output: &str) -> Option<Self> {
        let mut counts = None::<Self>;
        for line in output.lines() {
            let Some((_, parts)) = line
                .trim_start()
                .strip_prefix("test result: ")
                .and_then(|rest| rest.split_once(". "))
            else {
                continue;
            };
            let counts = counts.get_or_insert_default();
            for part in parts.split(';') {
                let Some((number, word)) = part.trim().split_once(' ') else {
                    continue;
                };
                let Ok(number) = number.parse::<usize>() else {
                    continue;
                };
                match word {
                    "passed" => counts.passed += number,
                    "failed" => counts.failed += number,
                    "ignored" => counts.skipped += number,
                    _ => {}
                }
            }
        }
        counts
    }

    /// From the closing lines of Node's TAP reporter; nothing when there are none.
    pub(crate) fn of_node_test(report: &str) -> Option<Self> {
        let number = |name: &str| {
            let lines = report.lines().rev();
            lines
                .filter_map(|line| {
                    line.strip_prefix("# ")?
                        .strip_prefix(name)?
                        .strip_prefix(' ')
                })
                .find_map(|number| number.parse::<usize>().ok())
        };
        Some(Self {
            passed: number("pass")?,
            failed: number("fail")? + number("cancelled")?,
            skipped: number("skipped")? + number("todo")?,
        })
    }

    /// From the report of Playwright's JSON reporter. A test that passed only on a second try failed.
    pub(crate) fn of_playwright(report: &str) -> Result<Self> {
        let report: serde_json::Value =
            serde_json::from_str(report).context("reading Playwright's report")?;
        let number = |name: &str| {
            report["stats"][name]
                .as_u64()
                .and_then(|number| usize::try_from(number).ok())
                .with_context(|| format!("Playwright's report has no `{name}`"))
        };
        Ok(Self {
            passed: number("expected")?,
            failed: number("unexpected")? + number("flaky")?,
            skipped: number("skipped")?,
        })
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(passed: usize, failed: usize, skipped: usize) -> Option<Counts> {
        Some(Counts {
            passed,
            failed,
            skipped,
        })
    }

    #[test]
    fn reads_nextest_summaries() {
        for (line, expected) in [
            (
                "     Summary [   0.113s] 22 tests run: 22 passed, 0 skipped",
                counts(22, 0, 0),
            ),
            (
                "     Summary [   0.113s] 1 test run: 1 passed, 3 skipped",
                counts(1, 0, 3),
            ),
            (
                "     Summary [ 60.113s] 9 tests run: 6 passed (2 slow, 1 leaky), 1 failed, 2 timed out, 1 skipped",
                counts(6, 3, 1),
            ),
            (
                "     Summary [   0.113s] 16/22 tests run: 15 passed, 1 failed, 0 skipped",
                counts(15, 7, 0),
            ),
            ("error: could not compile", None),
        ] {
            assert_eq!(
                Counts::of_nextest(&format!("x\n{line}\nerror: test run failed\n")),
                expected,
                "{line}"
            );
        }
    }

    #[test]
    fn sums_cargo_test_results() {
        let output = "running 2 tests\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
                      noise\ntest result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 3 filtered out; finished in 1.00s\n";
        assert_eq!(Counts::of_cargo_test(output), counts(3, 2, 1));
        assert_eq!(Counts::of_cargo_test("error: could not compile"), None);
    }

    #[test]
    fn reads_reports_of_nodes_runner() {
        let report = "TAP version 13\n# fail 9 lives\nok 1 - a\n1..4\n# tests 7\n# suites 0\n# pass 3\n# fail 1\n\
                      # cancelled 1\n# skipped 1\n# todo 1\n# duration_ms 4.2\n";
        assert_eq!(Counts::of_node_test(report), counts(3, 2, 2));
        assert_eq!(Counts::of_node_test("TAP version 13\n"), None);
    }

    #[test]
    fn reads_playwright_reports() {
        let report = r#"{"stats": {"expected": 4, "skipped": 1, "unexpected": 2, "flaky": 1}}"#;
        assert_eq!(Counts::of_playwright(report).ok(), counts(4, 3, 1));
        assert!(Counts::of_playwright("{}").is_err());
    }
}
