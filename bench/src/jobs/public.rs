//! The public queues for Postgres, in a process of Node's: one request and one answer at a time, both a line of JSON.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::ours::{PAUSE, Pickup};
use super::{PRODUCERS, TEXT, figures::rate};

pub(crate) struct Public {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Public {
    pub(crate) async fn start(folder: &Path, server: &str) -> Result<Self> {
        let database = super::postgres::database(server, "public_queues").await?;
        let mut child = Command::new(folder.join("node_modules/node/bin/node"))
            .arg(folder.join("queues.mjs"))
            .arg(database)
            .env("NO_LOG_SUCCESS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("starting Node")?;
        let input = child.stdin.take().context("standard input")?;
        let output = BufReader::new(child.stdout.take().context("standard output")?).lines();
        Ok(Self {
            child,
            input,
            output,
        })
    }

    async fn ask(&mut self, request: &Value) -> Result<Value> {
        self.input
            .write_all(format!("{request}\n").as_bytes())
            .await?;
        let line = self.output.next_line().await?.context("Node ended")?;
        let answer: Value =
            serde_json::from_str(&line).with_context(|| format!("Node said {line}"))?;
        if let Some(error) = answer["error"].as_str() {
            bail!("{request}: {error}");
        }
        Ok(answer)
    }

    /// Jobs a second.
    pub(crate) async fn rate(&mut self, queue: &str, what: &str, jobs: usize) -> Result<f64> {
        let answer = self
            .ask(&json!({"queue": queue, "do": what, "jobs": jobs, "producers": PRODUCERS, "text": TEXT}))
            .await?;
        let took = answer["ns"].as_i64().context("Node said no time")?;
        Ok(rate(jobs, took))
    }

    pub(crate) async fn pickup(&mut self, queue: &str, samples: usize) -> Result<Pickup> {
        let pause = u64::try_from(PAUSE.as_millis())?;
        let answer = self
            .ask(&json!({"queue": queue, "do": "pickup", "jobs": samples, "text": TEXT, "pause": pause}))
            .await?;
        let mut pickup = Pickup::default();
        for (name, samples) in [
            ("called", &mut pickup.called),
            ("accepted", &mut pickup.accepted),
        ] {
            for sample in answer[name].as_array().context("Node said no times")? {
                samples.add(sample.as_i64().context("a time")?.max(0));
            }
        }
        Ok(pickup)
    }

    pub(crate) async fn stop(mut self) -> Result<()> {
        drop(self.input);
        self.child.wait().await?;
        Ok(())
    }
}
