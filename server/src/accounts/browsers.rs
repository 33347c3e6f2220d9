//! Where the session layer keeps what it knows of browsers: in the board's database, under a hash of the cookie's secret.

use async_trait::async_trait;
use board::{Board, BoardError};
use domain::ids::OperatorId;
use domain::time::Timestamp;
use serde_json::Value;
use std::collections::HashMap;
use tower_sessions::SessionStore;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::{Error, Result};

/// See the module.
#[derive(Debug, Clone)]
pub struct Browsers {
    board: Board,
}

impl Browsers {
    pub(super) const fn new(board: Board) -> Self {
        Self { board }
    }

    /// A session belongs to an operator. One that is nobody's is not kept.
    async fn keep(&self, record: &Record) -> Result<()> {
        let key = record.id.to_string();
        let Some(operator) = record
            .data
            .get(super::OPERATOR)
            .and_then(Value::as_str)
            .and_then(|id| id.parse::<OperatorId>().ok())
        else {
            return self.board.web_session_end(&key).await.map_err(failed);
        };
        let data = serde_json::to_string(&record.data)
            .map_err(|error| Error::Encode(error.to_string()))?;
        let until = record.expiry_date.unix_timestamp_nanos() / 1_000_000;
        let until = Timestamp::from_millis(i64::try_from(until).unwrap_or(i64::MAX));
        self.board
            .web_session_save(&key, operator, &data, until)
            .await
            .map_err(failed)
    }
}

#[async_trait]
impl SessionStore for Browsers {
    /// 128 random bits do not meet twice.
    async fn create(&self, record: &mut Record) -> Result<()> {
        self.keep(record).await
    }

    async fn save(&self, record: &Record) -> Result<()> {
        self.keep(record).await
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let Some((data, until)) = self
            .board
            .web_session_find(&id.to_string())
            .await
            .map_err(failed)?
        else {
            return Ok(None);
        };
        let data: HashMap<String, Value> =
            serde_json::from_str(&data).map_err(|error| Error::Decode(error.to_string()))?;
        let expiry_date =
            time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(until.millis()) * 1_000_000)
                .map_err(|error| Error::Decode(error.to_string()))?;
        Ok(Some(Record {
            id: *id,
            data,
            expiry_date,
        }))
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        self.board
            .web_session_end(&id.to_string())
            .await
            .map_err(failed)
    }
}

/// What went wrong stands in the log; what the layer passes on says nothing of it.
fn failed(error: BoardError) -> Error {
    Error::Backend(crate::error::refusal_of(error).message)
}
