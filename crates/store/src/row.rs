//! Reading columns into domain values. A value that cannot be read is an error that names its column, never a panic.

use crate::{Result, StoreError};
use domain::error::Refusal;
use domain::time::Timestamp;
use serde::de::DeserializeOwned;
use sqlx::Row;
use sqlx::any::AnyRow;
use std::borrow::Cow;
use std::str::FromStr;

/// Typed access to a row by column name.
pub(crate) trait Columns {
    fn text(&self, column: &'static str) -> Result<String>;
    fn opt_text(&self, column: &'static str) -> Result<Option<String>>;
    fn int(&self, column: &'static str) -> Result<i64>;
    fn opt_int(&self, column: &'static str) -> Result<Option<i64>>;

    fn flag(&self, column: &'static str) -> Result<bool> {
        Ok(self.int(column)? != 0)
    }

    fn id<T: FromStr<Err = Refusal>>(&self, column: &'static str) -> Result<T> {
        self.text(column)?
            .parse()
            .map_err(|refusal: Refusal| corrupt(column, refusal.message))
    }

    fn opt_id<T: FromStr<Err = Refusal>>(&self, column: &'static str) -> Result<Option<T>> {
        self.opt_text(column)?
            .map(|text| {
                text.parse()
                    .map_err(|refusal: Refusal| corrupt(column, refusal.message))
            })
            .transpose()
    }

    fn word<T>(
        &self,
        column: &'static str,
        parse: fn(&str) -> std::result::Result<T, Refusal>,
    ) -> Result<T> {
        parse(&self.text(column)?).map_err(|refusal| corrupt(column, refusal.message))
    }

    fn opt_word<T>(
        &self,
        column: &'static str,
        parse: fn(&str) -> std::result::Result<T, Refusal>,
    ) -> Result<Option<T>> {
        self.opt_text(column)?
            .map(|text| parse(&text).map_err(|refusal| corrupt(column, refusal.message)))
            .transpose()
    }

    fn time(&self, column: &'static str) -> Result<Timestamp> {
        self.int(column).map(Timestamp::from_millis)
    }

    fn opt_time(&self, column: &'static str) -> Result<Option<Timestamp>> {
        Ok(self.opt_int(column)?.map(Timestamp::from_millis))
    }

    fn json<T: DeserializeOwned>(&self, column: &'static str) -> Result<T> {
        serde_json::from_str(&self.text(column)?)
            .map_err(|error| corrupt(column, error.to_string()))
    }

    fn opt_json<T: DeserializeOwned>(&self, column: &'static str) -> Result<Option<T>> {
        self.opt_text(column)?
            .map(|text| {
                serde_json::from_str(&text).map_err(|error| corrupt(column, error.to_string()))
            })
            .transpose()
    }
}

impl Columns for AnyRow {
    fn text(&self, column: &'static str) -> Result<String> {
        Ok(self.try_get(column)?)
    }

    fn opt_text(&self, column: &'static str) -> Result<Option<String>> {
        Ok(self.try_get(column)?)
    }

    fn int(&self, column: &'static str) -> Result<i64> {
        Ok(self.try_get(column)?)
    }

    fn opt_int(&self, column: &'static str) -> Result<Option<i64>> {
        Ok(self.try_get(column)?)
    }
}

fn corrupt(column: &'static str, reason: String) -> StoreError {
    StoreError::Corrupt {
        column: Cow::Borrowed(column),
        reason,
    }
}

/// A flag as the schema keeps it.
pub(crate) const fn flag(value: bool) -> i64 {
    if value { 1 } else { 0 }
}

/// An optional id, word or the like as the schema keeps it.
pub(crate) fn opt<T: ToString>(value: Option<&T>) -> Option<String> {
    value.map(ToString::to_string)
}

/// An optional time as the schema keeps it.
pub(crate) fn opt_millis(value: Option<Timestamp>) -> Option<i64> {
    value.map(Timestamp::millis)
}

/// JSON as the schema keeps it. Our own types always serialise; if one did not, the write must fail rather than lose it.
pub(crate) fn to_json<T: serde::Serialize + ?Sized>(
    column: &'static str,
    value: &T,
) -> Result<String> {
    serde_json::to_string(value).map_err(|error| corrupt(column, error.to_string()))
}

/// Text from outside as the schema keeps it. Postgres cannot store U+0000 and SQLite can, so on both it becomes U+FFFD: an
/// agent that prints one must not lose its message.
pub(crate) fn text(value: &str) -> String {
    value.replace('\0', "\u{FFFD}")
}

/// As [`text`], when there is any.
pub(crate) fn opt_text(value: Option<&str>) -> Option<String> {
    value.map(text)
}
