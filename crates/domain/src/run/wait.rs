//! How long a wait may be.

use serde_json::Value;

/// The bounds of a wait, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitBounds {
    /// When the caller says nothing that can be understood.
    pub usual: u64,
    /// The longest. Many clients cut a remote call at 60 s.
    pub most: u64,
}

/// The shortest wait; less than that is moved up to it, but for 0.
const LEAST: u64 = 1_000;
/// The longest that an installation may allow.
const HARD_MOST: u64 = 120_000;

impl Default for WaitBounds {
    fn default() -> Self {
        Self {
            usual: 45_000,
            most: 55_000,
        }
    }
}

impl WaitBounds {
    /// The wait that `waitMs` asks for. Never an error: what is out of range is moved to the nearest bound, and what is no number
    /// means the default. Exactly 0 asks for the state as it is now.
    #[must_use]
    pub fn target(self, given: Option<&Value>) -> u64 {
        let most = self.most.clamp(LEAST, HARD_MOST);
        let usual = self.usual.clamp(LEAST, most);
        match given.and_then(Value::as_f64).filter(|ms| ms.is_finite()) {
            None => usual,
            Some(0.0) => 0,
            Some(ms) => {
                // Clamped first, so that the number fits whatever it was.
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    clippy::cast_precision_loss,
                    reason = "between 1,000 and 120,000 by now"
                )]
                {
                    ms.clamp(LEAST as f64, most as f64) as u64
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_wait_is_clamped_or_defaulted_and_never_an_error() {
        let bounds = WaitBounds::default();
        assert_eq!(bounds.target(None), 45_000);
        for (given, target) in [
            (json!(null), 45_000),
            (json!(0), 0),
            (json!(-0.0), 0),
            (json!(-1), 1_000),
            (json!(1), 1_000),
            (json!(20_000.7), 20_000),
            (json!(999_999), 55_000),
            (json!(1e300), 55_000),
            (json!("NaN"), 45_000),
            (json!("5000"), 45_000),
            (json!([1]), 45_000),
            (json!({"ms": 1}), 45_000),
            (json!(true), 45_000),
            // What JSON makes of NaN.
            (serde_json::to_value(f64::NAN).unwrap(), 45_000),
        ] {
            assert_eq!(bounds.target(Some(&given)), target, "{given}");
        }
    }

    #[test]
    fn settings_out_of_range_are_moved_to_the_nearest_bound() {
        let odd = WaitBounds {
            usual: 900_000,
            most: 900_000,
        };
        assert_eq!(odd.target(None), 120_000);
        let none = WaitBounds { usual: 0, most: 0 };
        assert_eq!(none.target(Some(&json!(5_000))), 1_000);
    }
}
