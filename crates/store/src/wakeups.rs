//! Words from node to node over Postgres: `listen` and `notify`. A hint and never the truth: who has heard nothing looks by the
//! clock, and who was cut off looks at once.
//!
//! A word is sent outside of the transactions that it tells of. Inside, it would have all commits of the server wait for one
//! another, since Postgres puts notifications into one order.

use crate::Result;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};

const CHANNEL: &str = "flightdeck_wakeups";

/// The connections for words. They are not the store's others: those know both engines, and nothing that one of them alone has.
#[derive(Debug, Clone)]
pub(crate) struct Wakeups(PgPool);

impl Wakeups {
    pub(crate) fn new(options: PgConnectOptions) -> Self {
        // One that listens for good, and one that speaks.
        Self(
            PgPoolOptions::new()
                .max_connections(2)
                .connect_lazy_with(options),
        )
    }

    pub(crate) async fn say(&self, word: &str) -> Result<()> {
        sqlx::query("select pg_notify($1, $2)")
            .bind(CHANNEL)
            .bind(word)
            .execute(&self.0)
            .await?;
        Ok(())
    }

    pub(crate) async fn hear(&self) -> Result<Hearing> {
        let mut listener = PgListener::connect_with(&self.0).await?;
        listener.listen(CHANNEL).await?;
        Ok(Hearing(listener))
    }

    pub(crate) async fn close(&self) {
        self.0.close().await;
    }
}

/// Hears what nodes say, this one included.
#[derive(Debug)]
pub struct Hearing(PgListener);

impl Hearing {
    /// The next word; `None` when words may have been missed, since the connection was lost and made again.
    pub async fn next(&mut self) -> Result<Option<String>> {
        let heard = self.0.try_recv().await?;
        Ok(heard.map(|heard| heard.payload().to_owned()))
    }
}
