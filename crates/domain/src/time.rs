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
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(bounded) * 1_000_000)
            .ok()
            .and_then(|at| {
                at.format(time::macros::format_description!(
                    "[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z"
                ))
                .ok()
            })
            .unwrap_or_default()
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
    fn absurd_instants_print_instead_of_panicking() {
        assert!(!Timestamp::from_millis(i64::MAX).to_rfc3339().is_empty());
        assert!(!Timestamp::from_millis(i64::MIN).to_rfc3339().is_empty());
    }
}
