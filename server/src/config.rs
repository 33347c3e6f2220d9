//! Settings: by flag, then `FLIGHTDECK_*` in the environment, then `flightdeck.toml`, then what is usual.

use crate::delivery::DeliverySettings;
use crate::jobs::{JobFile, JobOverrides, JobsConfig};
use crate::mcp::{NativeTasks, RunWaits, WaitLimits};
use crate::providers::ProviderSettings;
use crate::public_url::PublicUrl;
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use domain::guards::Guards;
use domain::queue::merge::AutoMerge;
use domain::run::wait::WaitBounds;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const ADDR: &str = "127.0.0.1:3000";
const FILE: &str = "flightdeck.toml";
const CANCEL_GRACE_MS: u64 = 10_000;
const RUN_KEPT_DAYS: u32 = 7;
/// Providers are not asked more often than this, whatever the settings say.
const LEAST_LOOK_MS: i64 = 1_000;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// How log lines look on standard error.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// What was said on the command line or in the environment.
#[derive(Debug, Default, Args)]
pub struct Overrides {
    /// Where to listen; port 0 takes any free one [default: 127.0.0.1:3000]
    #[arg(long, value_name = "HOST:PORT", env = "FLIGHTDECK_ADDR")]
    pub addr: Option<String>,
    /// Address under which people know the server, such as https://board.example, when a proxy stands before it
    #[arg(long, value_name = "URL", env = "FLIGHTDECK_PUBLIC_URL")]
    pub public_url: Option<String>,
    /// Folder of the database and the agents' work [default: $XDG_DATA_HOME/flightdeck, or ~/.local/share/flightdeck]
    #[arg(long, value_name = "DIR", env = "FLIGHTDECK_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// postgres://… to keep the board there instead of in the data folder
    #[arg(
        long,
        value_name = "URL",
        env = "FLIGHTDECK_DATABASE_URL",
        hide_env_values = true
    )]
    pub database_url: Option<String>,
    /// Folder of the web app's files [default: beside the program, or target/site]
    #[arg(long, value_name = "DIR", env = "FLIGHTDECK_SITE_DIR")]
    pub site_dir: Option<PathBuf>,
    /// How log lines look; RUST_LOG chooses which are written
    #[arg(long, value_name = "FORMAT", env = "FLIGHTDECK_LOG_FORMAT")]
    pub log_format: Option<LogFormat>,
    /// How deep tasks may nest [default: 8]
    #[arg(long, value_name = "N", env = "FLIGHTDECK_MAX_DEPTH")]
    pub max_depth: Option<usize>,
    /// Prompts that may wait for one session; 0 is unlimited [default: 10]
    #[arg(long, value_name = "N", env = "FLIGHTDECK_QUEUE_CAPACITY")]
    pub queue_capacity: Option<usize>,
    /// Prompts joined to the one before them as they come in: off, own (the operator's), all (also those of one agent) [default: off]
    #[arg(long, value_name = "WHICH", env = "FLIGHTDECK_QUEUE_AUTO_MERGE", value_parser = auto_merge)]
    pub queue_auto_merge: Option<AutoMerge>,
    /// Whether operators may join a prompt to the one above it [default: true]
    #[arg(long, value_name = "BOOL", env = "FLIGHTDECK_QUEUE_MANUAL_MERGE")]
    pub queue_manual_merge: Option<bool>,
    /// Messages of agents that may follow from one another before a person speaks; 0 is unlimited [default: 20]
    #[arg(long, value_name = "N", env = "FLIGHTDECK_MESSAGE_MAX_HOPS")]
    pub message_max_hops: Option<i64>,
    /// Messages that two tasks may exchange within the window; 0 is unlimited [default: 30]
    #[arg(long, value_name = "N", env = "FLIGHTDECK_MESSAGE_PAIR_LIMIT")]
    pub message_pair_limit: Option<i64>,
    /// The window of the limit above, in milliseconds [default: 600000]
    #[arg(long, value_name = "MS", env = "FLIGHTDECK_MESSAGE_PAIR_WINDOW_MS")]
    pub message_pair_window_ms: Option<i64>,
    /// One sender's share of a queue, in percent of its places; 0 is unlimited [default: 50]
    #[arg(long, value_name = "N", env = "FLIGHTDECK_MESSAGE_SHARE_PERCENT")]
    pub message_share_percent: Option<usize>,
    /// Milliseconds a cancelled agent may take to end its turn before it is ended by force [default: 10000]
    #[arg(long, value_name = "MS", env = "FLIGHTDECK_CANCEL_GRACE_MS")]
    pub cancel_grace_ms: Option<u64>,
    /// Milliseconds in which one author's writes to a plan share a revision; 0 gives each its own [default: 300000]
    #[arg(long, value_name = "MS", env = "FLIGHTDECK_PLAN_MERGE_MS")]
    pub plan_merge_ms: Option<u32>,
    /// Milliseconds a check_task call waits when it does not say how long [default: 45000]
    #[arg(long, value_name = "MS", env = "FLIGHTDECK_RUN_WAIT_MS")]
    pub run_wait_ms: Option<u64>,
    /// The longest wait of a check_task call, in milliseconds; many clients cut a call at 60 seconds [default: 55000]
    #[arg(long, value_name = "MS", env = "FLIGHTDECK_RUN_MAX_WAIT_MS")]
    pub run_max_wait_ms: Option<u64>,
    /// Calls of one client that may wait at once; more are answered at once [default: 100]
    #[arg(long, value_name = "N", env = "FLIGHTDECK_RUN_WAITERS_PER_CLIENT")]
    pub run_waiters_per_client: Option<usize>,
    /// Calls of all clients that may wait at once [default: 20000]
    #[arg(long, value_name = "N", env = "FLIGHTDECK_RUN_WAITERS")]
    pub run_waiters: Option<usize>,
    /// Days for which the outcome of an outside client's task can be read after its end [default: 7]
    #[arg(long, value_name = "DAYS", env = "FLIGHTDECK_RUN_KEPT_DAYS")]
    pub run_kept_days: Option<u32>,
    /// Milliseconds between two looks at a pull or merge request that something is switched on for; at least 1000 [default: 60000]
    #[arg(long, value_name = "MS", env = "FLIGHTDECK_REQUEST_LOOK_MS")]
    pub request_look_ms: Option<u32>,
    /// Whether runs are MCP's own tasks too: off, on, or auto to let run_task make one for clients that know them [default: on]
    #[arg(long, value_name = "WHEN", env = "NATIVE_TASKS")]
    pub native_tasks: Option<NativeTasks>,
    /// AI jobs.
    #[command(flatten)]
    pub jobs: JobOverrides,
    /// Settings file; flightdeck.toml in the current folder when there is one
    #[arg(long, value_name = "FILE", env = "FLIGHTDECK_CONFIG")]
    pub config: Option<PathBuf>,
}

/// The file's content.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    #[serde(skip_serializing_if = "Option::is_none")]
    addr: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    public_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data_dir: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    database_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    site_dir: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_format: Option<LogFormat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_depth: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_capacity: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_auto_merge: Option<AutoMerge>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_manual_merge: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_max_hops: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_pair_limit: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_pair_window_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_share_percent: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cancel_grace_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan_merge_ms: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_wait_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_max_wait_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_waiters_per_client: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_waiters: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_kept_days: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_look_ms: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    native_tasks: Option<NativeTasks>,
    // A table: in a settings file it comes after all values.
    jobs: JobFile,
}

/// The settings in force.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen.
    pub addr: String,
    /// Address under which people know the server.
    pub public_url: Option<PublicUrl>,
    /// Folder of the database and the agents' work; absolute.
    pub data_dir: PathBuf,
    /// The database, when it is not in `data_dir`.
    pub database_url: Option<String>,
    /// Folder of the web app's files, when it was said.
    pub site_dir: Option<PathBuf>,
    /// How log lines look.
    pub log_format: LogFormat,
    /// See [`board::Settings::max_depth`].
    pub max_depth: usize,
    /// See [`board::Settings::queue_capacity`].
    pub queue_capacity: usize,
    /// See [`board::Settings::queue_auto_merge`].
    pub queue_auto_merge: AutoMerge,
    /// See [`board::Settings::queue_manual_merge`].
    pub queue_manual_merge: bool,
    /// See [`Guards::max_hops`].
    pub message_max_hops: i64,
    /// See [`Guards::pair_limit`].
    pub message_pair_limit: i64,
    /// See [`Guards::pair_window_ms`].
    pub message_pair_window_ms: i64,
    /// See [`Guards::share_percent`].
    pub message_share_percent: usize,
    /// See [`crate::runtime::RuntimeConfig::cancel_grace`].
    pub cancel_grace_ms: u64,
    /// See [`board::Settings::plan_merge_ms`].
    pub plan_merge_ms: i64,
    /// How long calls may wait for runs, and how many.
    pub runs: RunWaits,
    /// For how many days the outcome of a run is kept.
    pub run_kept_days: u32,
    /// See [`board::Settings::request_look_ms`].
    pub request_look_ms: i64,
    /// Whether runs are shown as MCP's own tasks.
    pub native_tasks: NativeTasks,
    /// AI jobs.
    pub jobs: JobsConfig,
    /// The models of the assistant; from the environment alone, since they hold keys.
    pub models: assistant::Settings,
    /// How its answers reach their users; from the environment alone, since it holds secrets.
    pub delivery: DeliverySettings,
    /// How the providers of repositories are reached; from the environment alone, since it holds tokens.
    pub providers: ProviderSettings,
}

impl Config {
    /// Puts the sources together. A settings file that was named must exist; one that holds an unknown name is refused.
    pub fn load(said: Overrides) -> anyhow::Result<Self> {
        let file = match &said.config {
            Some(path) => read(path)?,
            None if Path::new(FILE).exists() => read(Path::new(FILE))?,
            None => File::default(),
        };
        let usual = board::Settings::default();
        let data_dir = match said.data_dir.or(file.data_dir) {
            Some(dir) => dir,
            None => usual_data_dir(|name| std::env::var_os(name).map(PathBuf::from))
                .context("there is no home folder to keep data in: name one with --data-dir")?,
        };
        Ok(Self {
            addr: said.addr.or(file.addr).unwrap_or_else(|| ADDR.to_owned()),
            public_url: said
                .public_url
                .or(file.public_url)
                .map(|url| url.parse())
                .transpose()?,
            // Agents are started in folders below it, so it must not depend on the current one.
            data_dir: std::path::absolute(&data_dir).with_context(|| {
                format!("the data folder {} cannot be used", data_dir.display())
            })?,
            database_url: said.database_url.or(file.database_url),
            site_dir: said.site_dir.or(file.site_dir),
            log_format: said.log_format.or(file.log_format).unwrap_or_default(),
            max_depth: said.max_depth.or(file.max_depth).unwrap_or(usual.max_depth),
            queue_capacity: said
                .queue_capacity
                .or(file.queue_capacity)
                .unwrap_or(usual.queue_capacity),
            queue_auto_merge: said
                .queue_auto_merge
                .or(file.queue_auto_merge)
                .unwrap_or(usual.queue_auto_merge),
            queue_manual_merge: said
                .queue_manual_merge
                .or(file.queue_manual_merge)
                .unwrap_or(usual.queue_manual_merge),
            message_max_hops: said
                .message_max_hops
                .or(file.message_max_hops)
                .unwrap_or(usual.guards.max_hops),
            message_pair_limit: said
                .message_pair_limit
                .or(file.message_pair_limit)
                .unwrap_or(usual.guards.pair_limit),
            message_pair_window_ms: said
                .message_pair_window_ms
                .or(file.message_pair_window_ms)
                .unwrap_or(usual.guards.pair_window_ms),
            message_share_percent: said
                .message_share_percent
                .or(file.message_share_percent)
                .unwrap_or(usual.guards.share_percent),
            cancel_grace_ms: said
                .cancel_grace_ms
                .or(file.cancel_grace_ms)
                .unwrap_or(CANCEL_GRACE_MS),
            plan_merge_ms: said
                .plan_merge_ms
                .or(file.plan_merge_ms)
                .map_or(usual.plan_merge_ms, i64::from),
            runs: RunWaits {
                bounds: WaitBounds {
                    usual: said
                        .run_wait_ms
                        .or(file.run_wait_ms)
                        .unwrap_or(RunWaits::default().bounds.usual),
                    most: said
                        .run_max_wait_ms
                        .or(file.run_max_wait_ms)
                        .unwrap_or(RunWaits::default().bounds.most),
                },
                limits: WaitLimits {
                    per_client: said
                        .run_waiters_per_client
                        .or(file.run_waiters_per_client)
                        .unwrap_or(WaitLimits::default().per_client),
                    in_all: said
                        .run_waiters
                        .or(file.run_waiters)
                        .unwrap_or(WaitLimits::default().in_all),
                },
            },
            run_kept_days: said
                .run_kept_days
                .or(file.run_kept_days)
                .unwrap_or(RUN_KEPT_DAYS),
            request_look_ms: said
                .request_look_ms
                .or(file.request_look_ms)
                .map_or(usual.request_look_ms, |ms| i64::from(ms).max(LEAST_LOOK_MS)),
            native_tasks: said.native_tasks.or(file.native_tasks).unwrap_or_default(),
            jobs: JobsConfig::load(said.jobs, file.jobs),
            models: assistant::Settings::from_env(),
            delivery: DeliverySettings::from_env(),
            providers: ProviderSettings::from_env(),
        })
    }

    /// The usual settings with this data folder, on a free port.
    #[must_use]
    pub fn for_data_dir(data_dir: impl Into<PathBuf>) -> Self {
        let usual = board::Settings::default();
        Self {
            addr: "127.0.0.1:0".to_owned(),
            public_url: None,
            data_dir: data_dir.into(),
            database_url: None,
            site_dir: None,
            log_format: LogFormat::default(),
            max_depth: usual.max_depth,
            queue_capacity: usual.queue_capacity,
            queue_auto_merge: usual.queue_auto_merge,
            queue_manual_merge: usual.queue_manual_merge,
            message_max_hops: usual.guards.max_hops,
            message_pair_limit: usual.guards.pair_limit,
            message_pair_window_ms: usual.guards.pair_window_ms,
            message_share_percent: usual.guards.share_percent,
            cancel_grace_ms: CANCEL_GRACE_MS,
            plan_merge_ms: usual.plan_merge_ms,
            runs: RunWaits::default(),
            run_kept_days: RUN_KEPT_DAYS,
            request_look_ms: usual.request_look_ms,
            native_tasks: NativeTasks::default(),
            jobs: JobsConfig::default(),
            models: assistant::Settings::default(),
            delivery: DeliverySettings::default(),
            providers: ProviderSettings::default(),
        }
    }

    /// How to open the database.
    #[must_use]
    pub fn store_options(&self) -> store::Options {
        match &self.database_url {
            Some(url) => store::Options::new(url.clone()),
            None => store::Options::embedded(&self.data_dir),
        }
    }

    /// The waits' share of the settings.
    #[must_use]
    pub const fn run_waits(&self) -> RunWaits {
        self.runs
    }

    /// The board's share of the settings.
    #[must_use]
    pub fn board_settings(&self) -> board::Settings {
        board::Settings {
            max_depth: self.max_depth,
            queue_capacity: self.queue_capacity,
            plan_merge_ms: self.plan_merge_ms,
            queue_auto_merge: self.queue_auto_merge,
            queue_manual_merge: self.queue_manual_merge,
            guards: Guards {
                max_hops: self.message_max_hops,
                pair_limit: self.message_pair_limit,
                pair_window_ms: self.message_pair_window_ms,
                share_percent: self.message_share_percent,
            },
            jobs: board::JobSettings {
                lease_ms: self.jobs.lease_ms,
                ..board::JobSettings::default()
            },
            runs: board::RunSettings {
                kept_ms: i64::from(self.run_kept_days) * DAY_MS,
                words_kept_ms: i64::from(self.run_kept_days) * DAY_MS,
                ..board::RunSettings::default()
            },
            request_look_ms: self.request_look_ms,
            provider_hosts: self.providers.hosts(),
            workspaces_dir: self.data_dir.join("workspaces"),
            ..board::Settings::default()
        }
    }

    /// The settings as a settings file. A password in the database's address is left out.
    pub fn to_toml(&self) -> anyhow::Result<String> {
        Ok(toml::to_string(&File {
            addr: Some(self.addr.clone()),
            public_url: self.public_url.as_ref().map(ToString::to_string),
            data_dir: Some(self.data_dir.clone()),
            database_url: self.database_url.as_deref().map(without_password),
            site_dir: self.site_dir.clone(),
            log_format: Some(self.log_format),
            max_depth: Some(self.max_depth),
            queue_capacity: Some(self.queue_capacity),
            queue_auto_merge: Some(self.queue_auto_merge),
            queue_manual_merge: Some(self.queue_manual_merge),
            message_max_hops: Some(self.message_max_hops),
            message_pair_limit: Some(self.message_pair_limit),
            message_pair_window_ms: Some(self.message_pair_window_ms),
            message_share_percent: Some(self.message_share_percent),
            cancel_grace_ms: Some(self.cancel_grace_ms),
            plan_merge_ms: u32::try_from(self.plan_merge_ms).ok(),
            run_wait_ms: Some(self.runs.bounds.usual),
            run_max_wait_ms: Some(self.runs.bounds.most),
            run_waiters_per_client: Some(self.runs.limits.per_client),
            run_waiters: Some(self.runs.limits.in_all),
            run_kept_days: Some(self.run_kept_days),
            request_look_ms: u32::try_from(self.request_look_ms).ok(),
            native_tasks: Some(self.native_tasks),
            jobs: self.jobs.to_file(),
        })?)
    }
}

fn auto_merge(word: &str) -> Result<AutoMerge, String> {
    AutoMerge::parse(word).map_err(|refusal| refusal.message)
}

fn read(path: &Path) -> anyhow::Result<File> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("the settings file {} cannot be read", path.display()))?;
    match toml::from_str(&text) {
        Ok(file) => Ok(file),
        // The parser's own text shows the line, which may hold the database's password.
        Err(error) => bail!(
            "the settings file {} is not right: {}",
            path.display(),
            error.message()
        ),
    }
}

/// `$XDG_DATA_HOME/flightdeck`, or `~/.local/share/flightdeck`.
fn usual_data_dir(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |dir: &PathBuf| dir.is_absolute();
    variable("XDG_DATA_HOME")
        .filter(absolute)
        .or_else(|| {
            variable("HOME")
                .filter(absolute)
                .map(|home| home.join(".local/share"))
        })
        .map(|data| data.join("flightdeck"))
}

/// A password may stand before the host, or among the parameters.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) => {
            let name = user.split(':').next().unwrap_or_default();
            format!("{name}@{host}")
        }
        None => authority.to_owned(),
    };
    let (path, parameters) = path.split_once('?').unwrap_or((path, ""));
    let parameters: Vec<&str> = parameters
        .split('&')
        .filter(|parameter| {
            let name = parameter.split('=').next().unwrap_or_default();
            !name.is_empty() && !name.to_ascii_lowercase().contains("password")
        })
        .collect();
    let mark = if parameters.is_empty() { "" } else { "?" };
    format!("{scheme}://{authority}{path}{mark}{}", parameters.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown_wherever_it_stands_in_the_url() {
        for (url, shown) in [
            ("postgres://me:secret@db:5432/x", "postgres://me@db:5432/x"),
            ("postgres://me@db/x?password=secret", "postgres://me@db/x"),
            (
                "postgres://db/x?user=me&PASSWORD=secret&sslmode=require&sslpassword=secret",
                "postgres://db/x?user=me&sslmode=require",
            ),
            ("postgres://db/x", "postgres://db/x"),
            ("no url", "no url"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }

    #[test]
    fn the_data_folder_follows_the_desktop_standard() {
        let with = |xdg: Option<&str>, home: Option<&str>| {
            usual_data_dir(|name| match name {
                "XDG_DATA_HOME" => xdg.map(PathBuf::from),
                _ => home.map(PathBuf::from),
            })
        };
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(with(Some("/x"), Some("/h")), path("/x/flightdeck"));
        assert_eq!(with(None, Some("/h")), path("/h/.local/share/flightdeck"));
        // The standard says that a relative path is to be ignored.
        assert_eq!(
            with(Some("x"), Some("/h")),
            path("/h/.local/share/flightdeck")
        );
        assert_eq!(with(None, None), None);
    }

    #[test]
    fn a_flag_beats_the_file_and_the_file_beats_what_is_usual() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.toml");
        let text = "addr = \"127.0.0.1:1\"\nmax_depth = 3\nmessage_max_hops = 4\nqueue_auto_merge = \"own\"\n";
        std::fs::write(&file, text).unwrap();
        let config = Config::load(Overrides {
            addr: Some("127.0.0.1:2".to_owned()),
            data_dir: Some(folder.path().to_owned()),
            config: Some(file),
            ..Overrides::default()
        })
        .unwrap();
        assert_eq!(config.addr, "127.0.0.1:2");
        assert_eq!(config.max_depth, 3);
        assert_eq!(config.queue_capacity, 10);
        let board = config.board_settings();
        assert_eq!(board.guards.max_hops, 4);
        assert_eq!(board.guards.pair_limit, 30);
        assert_eq!(board.queue_auto_merge, AutoMerge::Own);
        assert!(board.queue_manual_merge);
    }

    #[test]
    fn an_unknown_setting_is_refused_and_no_line_of_the_file_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.toml");
        std::fs::write(&file, "database_urk = \"postgres://me:s3cret@db/x\"\n").unwrap();
        let error = Config::load(Overrides {
            data_dir: Some(folder.path().to_owned()),
            config: Some(file),
            ..Overrides::default()
        })
        .unwrap_err()
        .to_string();
        assert!(error.contains("database_urk"), "{error}");
        assert!(!error.contains("s3cret"), "{error}");
    }

    #[test]
    fn printed_settings_hold_no_password_and_can_be_read_again() {
        let mut config = Config::for_data_dir("/data");
        config.database_url = Some("postgres://me:s3cret@db:5432/board?sslmode=require".to_owned());
        let text = config.to_toml().unwrap();
        assert!(!text.contains("s3cret"), "{text}");
        assert!(
            text.contains("postgres://me@db:5432/board?sslmode=require"),
            "{text}"
        );
        let again: File = toml::from_str(&text).unwrap();
        assert_eq!(again.data_dir, Some(config.data_dir));
    }
}
