//! What a node is told about AI jobs.

use clap::Args;
use domain::job::retry::AssessorMode;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Settings of AI jobs. Keys never leave: not by a log, not by `--print-config`.
#[derive(Clone)]
pub struct JobsConfig {
    /// Whether gateways may hand in messages. Off stops new jobs; stored ones are worked off.
    pub dm_enabled: bool,
    /// Whether the operator can talk to the assistant in the app. Off stops new messages; stored ones are worked off.
    pub assistant: bool,
    /// Keys of services; empty ones never count. Two, so that one can be replaced without a gap.
    pub internal_keys: Vec<String>,
    /// The gateway's own key.
    pub bot_token: Option<String>,
    /// How retries are decided.
    pub assessor: AssessorMode,
    /// Whether this node takes due jobs by itself; otherwise workers do, by hints.
    pub scheduler: bool,
    /// Runs at once.
    pub concurrency: usize,
    /// Jobs a user may have run within a minute; 0 is unlimited.
    pub user_per_minute: u32,
    /// See [`board::JobSettings::lease_ms`].
    pub lease_ms: i64,
    /// Time between sweeps.
    pub watchdog: Duration,
    /// No run takes longer than this, whatever its job allows.
    pub longest_run: Duration,
    /// How long runs may take to end once the server stops, before they are given back.
    pub shutdown_grace: Duration,
}

impl std::fmt::Debug for JobsConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobsConfig")
            .field("dm_enabled", &self.dm_enabled)
            .field("internal_keys", &self.internal_keys.len())
            .field("scheduler", &self.scheduler)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}

impl Default for JobsConfig {
    fn default() -> Self {
        Self {
            dm_enabled: false,
            assistant: true,
            internal_keys: Vec::new(),
            bot_token: None,
            assessor: AssessorMode::Bounded,
            scheduler: true,
            concurrency: 4,
            user_per_minute: 30,
            lease_ms: board::JobSettings::default().lease_ms,
            watchdog: Duration::from_secs(15 * 60),
            longest_run: Duration::from_secs(60 * 60),
            shutdown_grace: Duration::from_secs(5),
        }
    }
}

/// What was said on the command line or in the environment.
#[derive(Debug, Default, Args)]
pub struct JobOverrides {
    /// Exactly "true" lets gateways hand in direct messages [default: off]
    #[arg(long, value_name = "BOOL", env = "DM_AUTOPILOT_ENABLED")]
    pub dm_autopilot_enabled: Option<String>,
    /// Whether the app has a conversation with the assistant [default: true]
    #[arg(long, value_name = "BOOL", env = "FLIGHTDECK_ASSISTANT_ENABLED")]
    pub assistant_enabled: Option<bool>,
    /// Key with which services and workers call the job endpoints
    #[arg(
        long,
        value_name = "KEY",
        env = "AI_AUTOPILOT_INTERNAL_KEY",
        hide_env_values = true
    )]
    pub ai_autopilot_internal_key: Option<String>,
    /// The key before it, for as long as some still use that
    #[arg(
        long,
        value_name = "KEY",
        env = "AI_AUTOPILOT_INTERNAL_KEY_PREVIOUS",
        hide_env_values = true
    )]
    pub ai_autopilot_internal_key_previous: Option<String>,
    /// Token of the Discord bot, which its gateway shows too
    #[arg(
        long,
        value_name = "TOKEN",
        env = "DISCORD_BOT_TOKEN",
        hide_env_values = true
    )]
    pub discord_bot_token: Option<String>,
    /// How retries of AI jobs are decided: bounded, or llm within the same bounds [default: bounded]
    #[arg(long, value_name = "MODE", env = "AI_RETRY_ASSESSOR_MODE")]
    pub ai_retry_assessor_mode: Option<String>,
    /// Whether this server takes due AI jobs by itself; false leaves them to "flightdeck worker" [default: true]
    #[arg(long, value_name = "BOOL", env = "FLIGHTDECK_JOBS_SCHEDULER")]
    pub jobs_scheduler: Option<bool>,
    /// AI jobs worked on at once [default: 4]
    #[arg(long, value_name = "N", env = "FLIGHTDECK_JOBS_CONCURRENCY")]
    pub jobs_concurrency: Option<u16>,
    /// AI jobs that one user may have run within a minute; 0 is unlimited [default: 30]
    #[arg(long, value_name = "N", env = "FLIGHTDECK_JOBS_USER_PER_MINUTE")]
    pub jobs_user_per_minute: Option<u32>,
    /// Milliseconds after which an AI job whose worker gives no sign of life is taken back [default: 60000]
    #[arg(long, value_name = "MS", env = "FLIGHTDECK_JOBS_LEASE_MS")]
    pub jobs_lease_ms: Option<u32>,
    /// Milliseconds between sweeps for AI jobs that were left lying [default: 900000]
    #[arg(long, value_name = "MS", env = "FLIGHTDECK_JOBS_WATCHDOG_MS")]
    pub jobs_watchdog_ms: Option<u32>,
    /// Milliseconds that a run of an AI job may take at most, whatever the job itself allows [default: 3600000]
    #[arg(long, value_name = "MS", env = "FLIGHTDECK_JOBS_LONGEST_RUN_MS")]
    pub jobs_longest_run_ms: Option<u32>,
}

/// The table `[jobs]` of a settings file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JobFile {
    #[serde(skip_serializing_if = "Option::is_none")]
    dm_autopilot_enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    assistant_enabled: Option<bool>,
    #[serde(skip_serializing)]
    internal_key: Option<String>,
    #[serde(skip_serializing)]
    internal_key_previous: Option<String>,
    #[serde(skip_serializing)]
    discord_bot_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_assessor_mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduler: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    concurrency: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_per_minute: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_ms: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    watchdog_ms: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    longest_run_ms: Option<u32>,
}

impl JobsConfig {
    /// Puts the sources together.
    #[must_use]
    pub fn load(said: JobOverrides, file: JobFile) -> Self {
        let usual = Self::default();
        let key = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        Self {
            // Anything but the one word is off, also a word that means yes elsewhere.
            dm_enabled: match said.dm_autopilot_enabled {
                Some(word) => word == "true",
                None => file.dm_autopilot_enabled.unwrap_or_default(),
            },
            assistant: said
                .assistant_enabled
                .or(file.assistant_enabled)
                .unwrap_or(usual.assistant),
            internal_keys: [
                key(said.ai_autopilot_internal_key).or(key(file.internal_key)),
                key(said.ai_autopilot_internal_key_previous).or(key(file.internal_key_previous)),
            ]
            .into_iter()
            .flatten()
            .collect(),
            bot_token: key(said.discord_bot_token).or(key(file.discord_bot_token)),
            assessor: said
                .ai_retry_assessor_mode
                .or(file.retry_assessor_mode)
                .map_or(usual.assessor, |word| AssessorMode::of(&word)),
            scheduler: said
                .jobs_scheduler
                .or(file.scheduler)
                .unwrap_or(usual.scheduler),
            concurrency: said
                .jobs_concurrency
                .or(file.concurrency)
                .map_or(usual.concurrency, |count| usize::from(count.max(1))),
            user_per_minute: said
                .jobs_user_per_minute
                .or(file.user_per_minute)
                .unwrap_or(usual.user_per_minute),
            // Three beats of a second at least: a shorter lease would be lost to a busy machine.
            lease_ms: said
                .jobs_lease_ms
                .or(file.lease_ms)
                .map_or(usual.lease_ms, |millis| i64::from(millis.max(1_000))),
            watchdog: at_least_a_second(said.jobs_watchdog_ms.or(file.watchdog_ms))
                .unwrap_or(usual.watchdog),
            longest_run: at_least_a_second(said.jobs_longest_run_ms.or(file.longest_run_ms))
                .unwrap_or(usual.longest_run),
            shutdown_grace: usual.shutdown_grace,
        }
    }

    /// As a settings file has it, without what is secret.
    #[must_use]
    pub fn to_file(&self) -> JobFile {
        JobFile {
            dm_autopilot_enabled: Some(self.dm_enabled),
            assistant_enabled: Some(self.assistant),
            retry_assessor_mode: Some(self.assessor.to_string()),
            scheduler: Some(self.scheduler),
            concurrency: u16::try_from(self.concurrency).ok(),
            user_per_minute: Some(self.user_per_minute),
            lease_ms: u32::try_from(self.lease_ms).ok(),
            watchdog_ms: u32::try_from(self.watchdog.as_millis()).ok(),
            longest_run_ms: u32::try_from(self.longest_run.as_millis()).ok(),
            ..JobFile::default()
        }
    }
}

fn at_least_a_second(millis: Option<u32>) -> Option<Duration> {
    millis.map(|millis| Duration::from_millis(u64::from(millis.max(1_000))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_from_the_command_line_before_the_file_and_are_a_second_at_least() {
        let file = || JobFile {
            watchdog_ms: Some(5_000),
            longest_run_ms: Some(90_000),
            ..JobFile::default()
        };
        let said = JobOverrides {
            jobs_longest_run_ms: Some(0),
            ..JobOverrides::default()
        };
        let config = JobsConfig::load(said, file());
        assert_eq!(
            (config.watchdog, config.longest_run),
            (Duration::from_secs(5), Duration::from_secs(1))
        );
        let config = JobsConfig::load(JobOverrides::default(), file());
        assert_eq!(config.longest_run, Duration::from_secs(90));
        let shown = toml::to_string(&config.to_file()).unwrap();
        assert!(shown.contains("longest_run_ms = 90000"), "{shown}");
    }

    #[test]
    fn only_the_word_true_lets_gateways_in() {
        for (word, on) in [
            ("true", true),
            ("TRUE", false),
            ("1", false),
            ("yes", false),
            ("", false),
            (" true", false),
        ] {
            let said = JobOverrides {
                dm_autopilot_enabled: Some(word.to_owned()),
                ..JobOverrides::default()
            };
            assert_eq!(
                JobsConfig::load(said, JobFile::default()).dm_enabled,
                on,
                "{word}"
            );
        }
        assert!(!JobsConfig::load(JobOverrides::default(), JobFile::default()).dm_enabled);
    }

    #[test]
    fn an_empty_key_is_no_key_and_none_is_shown() {
        let said = JobOverrides {
            ai_autopilot_internal_key: Some("  ".to_owned()),
            ai_autopilot_internal_key_previous: Some("s3cret".to_owned()),
            discord_bot_token: Some("s3cret".to_owned()),
            ..JobOverrides::default()
        };
        let config = JobsConfig::load(said, JobFile::default());
        assert_eq!(config.internal_keys, ["s3cret"]);
        let shown = toml::to_string(&config.to_file()).unwrap();
        assert!(!shown.contains("s3cret") && !format!("{config:?}").contains("s3cret"));
    }
}
