//! Instants: milliseconds since 1970 in UTC inside, RFC 3339 on the wire.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// An instant with millisecond resolution, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From milliseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// The instant `millis` later (earlier when negative).
    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// Milliseconds from `earlier` to this instant; negative when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// RFC 3339 with milliseconds, for example `2026-11-29T18:48:11.000Z`.
    #[must_use]
    pub fn to_rfc3339(self) -> String {
        // An instant outside of the calendar cannot come from our clock; print it as the nearest end rather than fail.
        let bounded = self.0.clamp(-62_135_596_800_000, 253_402_300_799_999);
        // By hand: every page prints instants, and the general way is 20 kB of code in the browser.
        let (day, within) = (bounded.div_euclid(DAY), bounded.rem_euclid(DAY));
        let (year, month, day) = civil(day);
        let (hour, minute) = (within / 3_600_000, within / 60_000 % 60);
        let (second, millis) = (within / 1000 % 60, within % 1000);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }

    /// Reads RFC 3339 with any offset.
    #[must_use]
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let at = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        i64::try_from(at.unix_timestamp_nanos() / 1_000_000)
            .ok()
            .map(Self)
    }
}

/// A day in milliseconds.
const DAY: i64 = 86_400_000;

/// Year, month and day of the day that is so many days after 1970-01-01 (Hinnant's `civil_from_days`).
///
/// Years begin in March here, so that the leap day is a year's last, and are counted within eras of 400 years.
const fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_rfc3339())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_rfc3339())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse_rfc3339(&text)
            .ok_or_else(|| serde::de::Error::custom("expected an RFC 3339 time"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_form_round_trips_to_the_millisecond() {
        let at = Timestamp::from_millis(1_796_000_123_456);
        assert_eq!(Timestamp::parse_rfc3339(&at.to_rfc3339()), Some(at));
        assert_eq!(
            Timestamp::from_millis(0).to_rfc3339(),
            "1970-01-01T00:00:00.000Z"
        );
    }

    #[test]
    fn days_all_over_the_calendar_are_printed_as_a_library_prints_them() {
        let (first, last) = (-62_135_596_800_000_i64, 253_402_300_799_999);
        // Close to eleven days, and no whole number of anything: every day, hour, minute and millisecond gets its turn.
        for millis in (first..=last).step_by(950_399_981) {
            let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000);
            let at = at.unwrap();
            let expected = format!(
                "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
                at.year(),
                u8::from(at.month()),
                at.day(),
                at.hour(),
                at.minute(),
                at.second(),
                at.millisecond()
            );
            assert_eq!(Timestamp::from_millis(millis).to_rfc3339(), expected);
        }
    }

    #[test]
    fn absurd_instants_print_instead_of_panicking() {
        assert!(!Timestamp::from_millis(i64::MAX).to_rfc3339().is_empty());
        assert!(!Timestamp::from_millis(i64::MIN).to_rfc3339().is_empty());
    }
}
