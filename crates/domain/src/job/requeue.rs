//! How the watchdog repeats hints: ever more rarely, and not for ever.

/// After so many hints without a claim a job is given up.
pub const MAX_WATCHDOG_REQUEUES: i64 = 8;
/// The longest wait before the next hint, in minutes.
pub const MAX_DEFER_MINUTES: i64 = 1440;
/// Rows one sweep looks at.
pub const SWEEP_BATCH: i64 = 50;

/// How long the job's next hint waits, in minutes, after `done` hints that went nowhere.
#[must_use]
pub const fn defer_minutes(done: i64) -> i64 {
    let done = if done < 0 { 0 } else { done };
    if done >= 9 {
        return MAX_DEFER_MINUTES;
    }
    let minutes = 5 << done;
    if minutes > MAX_DEFER_MINUTES {
        MAX_DEFER_MINUTES
    } else {
        minutes
    }
}

/// Whether the next visit gives the job up instead.
#[must_use]
pub const fn is_capped(done: i64) -> bool {
    done >= MAX_WATCHDOG_REQUEUES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hint_waits_twice_as_long_up_to_a_day() {
        let waits: Vec<i64> = (0..8).map(defer_minutes).collect();
        assert_eq!(waits, [5, 10, 20, 40, 80, 160, 320, 640]);
        assert_eq!(waits.iter().sum::<i64>(), 21 * 60 + 15);
        for huge in [8, 9, 63, 64, i64::MAX] {
            assert!((640..=1440).contains(&defer_minutes(huge)), "{huge}");
        }
        assert_eq!(defer_minutes(9), 1440);
        assert_eq!(defer_minutes(-5), 5);
        assert!(!is_capped(7));
        assert!(is_capped(8));
    }
}
