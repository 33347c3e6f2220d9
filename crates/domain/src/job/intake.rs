//! What a gateway hands in, and how a job is spoken of.
//!
//! Gateways are not all careful: optional fields of a wrong kind count as absent. Only who asks and what for must be there.

use super::delivery::{Target, TargetKind};
use super::row::{HISTORY_KEPT, HistoryTurn};
use crate::digest::hex;
use crate::error::Refusal;
use crate::time::Timestamp;
use serde_json::Value;

/// Seconds a run may take when nothing is said.
pub const TIMEOUT_SECONDS: i64 = 300;
/// Seconds a run for a direct message may take.
pub const DM_TIMEOUT_SECONDS: i64 = 330;
/// Runs a job may take when nothing is said.
pub const MAX_ATTEMPTS: i64 = 6;
/// How long an answer is of use, in milliseconds.
pub const DEADLINE_MS: i64 = 24 * 60 * 60 * 1_000;
/// The order of direct messages: before batch work.
pub const INTERACTIVE: i64 = 1;
/// The order of work nobody waits for.
pub const BATCH: i64 = 5;
/// The last place in the order.
pub const LOWEST_PRIORITY: i64 = 9;
/// Whose the in-app conversation is: without accounts the person at this machine is the one operator.
pub const OPERATOR: &str = "operator";
/// Longest message, in bytes (ruling 21).
pub const MAX_CONTENT: usize = 256 * 1024;

/// A job that is to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Intake {
    /// By which gateway it came.
    pub source: String,
    /// Whose it is.
    pub user_id: String,
    /// The owner's name.
    pub user_name: Option<String>,
    /// The message.
    pub content: String,
    /// The conversation before it.
    pub history: Vec<HistoryTurn>,
    /// What the user manages.
    pub managed_guilds: Vec<Value>,
    /// What the user has selected.
    pub selected_guild: Option<Value>,
    /// Providers in order.
    pub provider_chain: Vec<String>,
    /// How often the model may use tools.
    pub max_tool_iterations: Option<i64>,
    /// As the holder of the service credential says.
    pub is_super_admin: bool,
    /// What the platform calls the message.
    pub message_id: Option<String>,
    /// Where the answer goes.
    pub target: Target,
    /// Seconds a run may take.
    pub timeout_seconds: i64,
    /// Runs it may take.
    pub max_attempts: i64,
    /// Lower goes first.
    pub priority: i64,
    /// Kind of work.
    pub queue: String,
}

impl Intake {
    /// A direct message, trimmed and within bounds.
    pub fn direct_message(
        kind: TargetKind,
        source: &str,
        user_id: &str,
        content: &str,
    ) -> Result<Self, Refusal> {
        let (user_id, content) = (user_id.trim(), content.trim());
        if user_id.is_empty() || content.is_empty() {
            return Err(Refusal::validation("userId and content are required"));
        }
        if content.len() > MAX_CONTENT {
            return Err(Refusal::validation(
                "content is longer than 256 KiB: send less of it, or a link",
            ));
        }
        Ok(Self {
            source: source.to_owned(),
            user_id: user_id.to_owned(),
            user_name: None,
            content: content.to_owned(),
            history: Vec::new(),
            managed_guilds: Vec::new(),
            selected_guild: None,
            provider_chain: Vec::new(),
            max_tool_iterations: None,
            is_super_admin: false,
            message_id: None,
            target: Target {
                kind,
                user_id: user_id.to_owned(),
                source: source.to_owned(),
            },
            timeout_seconds: DM_TIMEOUT_SECONDS,
            max_attempts: MAX_ATTEMPTS,
            priority: INTERACTIVE,
            queue: "dm".to_owned(),
        })
    }

    /// Reads a gateway's body.
    pub fn from_gateway(body: &Value, kind: TargetKind, source: &str) -> Result<Self, Refusal> {
        let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
        let list = |name: &str| {
            body.get(name)
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default()
        };
        let some = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let mut intake = Self::direct_message(kind, source, text("userId"), text("content"))?;
        intake.user_name = some(text("userName"));
        intake.message_id = some(text("messageId"));
        intake.history = last_turns(list("history").iter().filter_map(turn).collect());
        intake.managed_guilds = list("managedGuilds");
        intake.selected_guild = body
            .get("selectedGuild")
            .filter(|guild| guild.is_object())
            .cloned();
        intake.provider_chain = list("providerChain")
            .iter()
            .filter_map(Value::as_str)
            .filter_map(some)
            .collect();
        intake.max_tool_iterations = body
            .get("maxToolIterations")
            .and_then(Value::as_i64)
            .map(tool_iterations);
        intake.is_super_admin = body
            .get("isSuperAdmin")
            .and_then(Value::as_bool)
            .unwrap_or_default();
        Ok(intake)
    }

    /// Brings numbers into their bounds and the history to its length.
    #[must_use]
    pub fn clamped(mut self) -> Self {
        self.timeout_seconds = self.timeout_seconds.clamp(30, 3600);
        self.max_attempts = self.max_attempts.clamp(1, 20);
        self.priority = self.priority.clamp(0, LOWEST_PRIORITY);
        self.max_tool_iterations = self.max_tool_iterations.map(tool_iterations);
        self.history = last_turns(self.history);
        self
    }

    /// The selected server's id.
    #[must_use]
    pub fn guild_id(&self) -> Option<String> {
        match self.selected_guild.as_ref()?.get("id")? {
            Value::String(id) => Some(id.clone()),
            Value::Number(id) => Some(id.to_string()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// The same for every repeat of one message of the platform.
    #[must_use]
    pub fn unique_key(&self) -> Option<String> {
        self.message_id
            .as_ref()
            .map(|message| format!("{}:{}:{message}", self.source, self.user_id))
    }
}

fn turn(value: &Value) -> Option<HistoryTurn> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(HistoryTurn {
        role: text("role")?,
        content: text("content")?,
    })
}

fn last_turns(mut turns: Vec<HistoryTurn>) -> Vec<HistoryTurn> {
    turns.drain(..turns.len().saturating_sub(HISTORY_KEPT));
    turns
}

/// How often a model may use tools: 5, or what was asked for within 1 to 20.
#[must_use]
pub fn tool_iterations(asked: i64) -> i64 {
    asked.clamp(1, 20)
}

/// What users are told instead of a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorrelationId(String);

impl CorrelationId {
    /// `aij_`, the time in base 36, and ten random bytes in hexadecimal.
    #[must_use]
    pub fn new(now: Timestamp, random: [u8; 10]) -> Self {
        let time = base36(now.millis().max(0).unsigned_abs());
        Self(format!("aij_{time}_{}", hex(&random)))
    }

    /// The text.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        let digit = u32::try_from(number % 36).unwrap_or_default();
        digits.push(char::from_digit(digit, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// How a caller names a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobKey {
    /// By its number.
    Id(i64),
    /// By its correlation id.
    Correlation(String),
}

impl JobKey {
    /// Digits alone are a number, anything else is a correlation id.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Refusal::validation("jobId is required"));
        }
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        // A number beyond all rows is the number of no row.
        Ok(match text.parse() {
            Ok(number) if digits => Self::Id(number),
            Ok(_) | Err(_) => Self::Correlation(text.to_owned()),
        })
    }
}

/// Reads the `jobId` of an execute request: a whole number above 0, as a number or as text.
pub fn job_number(body: &Value) -> Result<i64, Refusal> {
    let number = match body.get("jobId") {
        Some(Value::Number(number)) => number.as_i64(),
        Some(Value::String(text)) if text.trim().bytes().all(|byte| byte.is_ascii_digit()) => {
            text.trim().parse().ok()
        }
        Some(
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_),
        )
        | None => None,
    };
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| Refusal::validation("jobId is required"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn correlation_ids_are_never_all_digits() {
        let id =
            CorrelationId::new(Timestamp::from_millis(1_796_000_123_456), [0xab; 10]).into_string();
        assert_eq!(id, "aij_mx2k3oe8_abababababababababab");
        assert_eq!(JobKey::parse(&id), Ok(JobKey::Correlation(id)));
        assert_eq!(JobKey::parse(" 17 "), Ok(JobKey::Id(17)));
        assert_eq!(
            JobKey::parse("99999999999999999999"),
            Ok(JobKey::Correlation("99999999999999999999".to_owned()))
        );
        assert!(JobKey::parse("  ").is_err());
    }

    #[test]
    fn wrong_kinds_of_optional_fields_count_as_absent() {
        let read = |body: &Value| Intake::from_gateway(body, TargetKind::DiscordDm, "gateway_dm");
        let intake = read(&json!({
            "userId": " u1 ", "content": " hello ", "userName": 7, "history": "no", "managedGuilds": {}, "selectedGuild": 3,
            "providerChain": [1, "a", ""], "maxToolIterations": "9", "isSuperAdmin": "true", "messageId": 5,
        }))
        .unwrap();
        assert_eq!(
            (intake.user_id.as_str(), intake.content.as_str()),
            ("u1", "hello")
        );
        assert_eq!(intake.user_name, None);
        assert_eq!(intake.provider_chain, ["a"]);
        assert_eq!(intake.max_tool_iterations, None);
        assert!(!intake.is_super_admin);
        assert_eq!(intake.unique_key(), None);
        for bad in [
            json!({}),
            json!({"userId": "u"}),
            json!({"userId": "u", "content": "  "}),
            json!([]),
            json!(null),
        ] {
            assert_eq!(
                read(&bad).unwrap_err().message,
                "userId and content are required"
            );
        }
    }

    #[test]
    fn the_last_twenty_turns_are_kept() {
        let history: Vec<Value> = (0..30)
            .map(|n| json!({"role": "user", "content": n.to_string()}))
            .collect();
        let body = json!({"userId": "u", "content": "c", "history": history, "messageId": "m", "selectedGuild": {"id": "g"}});
        let intake = Intake::from_gateway(&body, TargetKind::DiscordDm, "gateway_dm").unwrap();
        assert_eq!(intake.history.len(), 20);
        assert_eq!(intake.history[0].content, "10");
        assert_eq!(intake.unique_key().as_deref(), Some("gateway_dm:u:m"));
        assert_eq!(intake.guild_id().as_deref(), Some("g"));
    }

    #[test]
    fn numbers_are_brought_into_their_bounds() {
        let mut intake = Intake::direct_message(TargetKind::InApp, "in_app", "u", "c").unwrap();
        (intake.timeout_seconds, intake.max_attempts, intake.priority) = (0, 0, -3);
        let low = intake.clone().clamped();
        assert_eq!(
            (low.timeout_seconds, low.max_attempts, low.priority),
            (30, 1, 0)
        );
        (intake.timeout_seconds, intake.max_attempts, intake.priority) =
            (i64::MAX, i64::MAX, i64::MAX);
        let high = intake.clamped();
        assert_eq!(
            (high.timeout_seconds, high.max_attempts, high.priority),
            (3600, 20, 9)
        );
    }

    #[test]
    fn only_whole_numbers_above_zero_name_a_job() {
        for (body, number) in [
            (json!({"jobId": 7}), Some(7)),
            (json!({"jobId": "7"}), Some(7)),
            (json!({"jobId": 7.0}), None),
            (json!({"jobId": 7.5}), None),
            (json!({"jobId": "7.5"}), None),
            (json!({"jobId": "1e3"}), None),
            (json!({"jobId": 0}), None),
            (json!({"jobId": -1}), None),
            (json!({"jobId": "-1"}), None),
            (json!({"jobId": ""}), None),
            (json!({"jobId": true}), None),
            (json!({}), None),
            (json!([]), None),
        ] {
            assert_eq!(job_number(&body).ok(), number, "{body}");
        }
    }
}
