//! The least that could stand in Flightdeck's place: one durable commit, then a line to a process that waits for it.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection, SqliteConnection};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixDatagram;
use tokio::process::{Child, ChildStdin, Command};

use crate::agent::now;

/// A database as durable as Flightdeck's, and the same agent, without Flightdeck.
pub(crate) struct Raw {
    database: SqliteConnection,
    agent: ChildStdin,
    reports: UnixDatagram,
    _child: Child,
}

impl Raw {
    pub(crate) async fn start(folder: &Path) -> Result<Self> {
        let options = SqliteConnectOptions::new()
            .filename(folder.join("raw.db"))
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        let mut database = SqliteConnection::connect_with(&options).await?;
        sqlx::query("create table messages (id integer primary key, content text not null)")
            .execute(&mut database)
            .await?;
        let socket = folder.join("raw.sock");
        let reports = UnixDatagram::bind(&socket)?;
        let mut child = Command::new(std::env::current_exe()?)
            .args(["agent", "--report"])
            .arg(&socket)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let agent = child
            .stdin
            .take()
            .context("the agent has a standard input")?;
        Ok(Self {
            database,
            agent,
            reports,
            _child: child,
        })
    }

    /// Commits a message, writes it to the agent, and gives the nanoseconds from the beginning and from the commit until the
    /// agent has read it.
    pub(crate) async fn deliver(&mut self) -> Result<(i64, i64)> {
        let begun = now();
        sqlx::query("insert into messages (content) values ($1)")
            .bind("Hello.")
            .execute(&mut self.database)
            .await?;
        let committed = now();
        let text = "prompt_id: raw\ntask_id: raw\nsession_id: raw";
        let prompt = json!({
            "jsonrpc": "2.0", "id": 1, "method": "session/prompt",
            "params": {"sessionId": "1", "prompt": [{"type": "text", "text": text}]},
        });
        self.agent
            .write_all(format!("{prompt}\n").as_bytes())
            .await?;
        self.agent.flush().await?;
        let mut buffer = vec![0; 4_096];
        let length = self.reports.recv(&mut buffer).await?;
        let report: Value = serde_json::from_slice(&buffer[..length])?;
        let at = report["at"].as_i64().context("a report has a time")?;
        Ok((at - begun, at - committed))
    }
}
