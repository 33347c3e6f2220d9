//! Pull requests, as GitHub's REST API shows them.

use super::error::ProviderError;
use super::settings::Account;
use super::wire::{self, Api, Dialect, number, text};
use domain::change_request::{Checks, FailedCheck, Mergeable, Observed, Remark, RequestState};
use serde_json::{Value, json};

static DIALECT: Dialect = Dialect {
    token: ("authorization", "Bearer "),
    headers: &[
        ("accept", "application/vnd.github+json"),
        ("x-github-api-version", "2022-11-28"),
    ],
    limits: ("x-ratelimit-remaining", "x-ratelimit-reset"),
    variable: "GITHUB_TOKEN",
};

/// GitHub.
#[derive(Debug)]
pub struct Github(Api);

impl Github {
    /// # Errors
    ///
    /// When its token cannot be used.
    pub fn new(account: &Account) -> Result<Self, ProviderError> {
        Api::new(account, &DIALECT).map(Self)
    }

    /// A pull request as it is now; `remarks` reads what people wrote too.
    ///
    /// # Errors
    ///
    /// Typed.
    pub async fn observe(
        &self,
        path: &str,
        request: i64,
        remarks: bool,
    ) -> Result<Observed, ProviderError> {
        let pull = self
            .0
            .get(&format!("/repos/{path}/pulls/{request}"))
            .await?;
        let state = state_of(&pull)?;
        let head = text(&pull["head"]["sha"]);
        let mut observed = Observed {
            title: text(&pull["title"]),
            url: text(&pull["html_url"]),
            state,
            head: head.clone(),
            mergeable: mergeable(&pull),
            checks: Checks::Nothing,
            failed: Vec::new(),
            remarks: Vec::new(),
            review_requested: false,
        };
        if state != RequestState::Open || head.is_empty() {
            return Ok(observed);
        }
        let me = self.me().await?;
        observed.review_requested = me.is_some()
            && pull["requested_reviewers"]
                .as_array()
                .is_some_and(|all| all.iter().any(|one| one["login"].as_str() == me.as_deref()));
        (observed.checks, observed.failed) = self.checks(path, &head).await?;
        if remarks {
            observed.remarks = self.remarks(path, request, me.as_deref()).await?;
        }
        Ok(observed)
    }

    /// Merges a pull request whose newest commit is still `head`.
    ///
    /// # Errors
    ///
    /// Typed; with GitHub's own words when it refuses.
    pub async fn merge(&self, path: &str, request: i64, head: &str) -> Result<(), ProviderError> {
        let path = format!("/repos/{path}/pulls/{request}/merge");
        let merged = self.0.put(&path, &json!({"sha": head})).await?;
        if merged["merged"] == true {
            return Ok(());
        }
        Err(ProviderError::Unreadable("does not say that it was merged"))
    }

    /// Whose token it is; tokens of applications are nobody's.
    async fn me(&self) -> Result<Option<String>, ProviderError> {
        match self.0.get("/user").await {
            Ok(user) => Ok(user["login"].as_str().map(str::to_owned)),
            Err(ProviderError::Refused { status: 403, .. } | ProviderError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn checks(
        &self,
        path: &str,
        head: &str,
    ) -> Result<(Checks, Vec<FailedCheck>), ProviderError> {
        let runs = format!("/repos/{path}/commits/{head}/check-runs?filter=latest&per_page=100");
        let runs = self
            .0
            .all(&runs, |page| page["check_runs"].as_array())
            .await?;
        // The older way of saying how a commit fares.
        let statuses = format!("/repos/{path}/commits/{head}/status?per_page=100");
        let statuses = self
            .0
            .all(&statuses, |page| page["statuses"].as_array())
            .await?;
        let mut pending = false;
        let mut failed = Vec::new();
        for run in &runs {
            if run["status"] != "completed" {
                pending = true;
            } else if matches!(
                run["conclusion"].as_str(),
                Some("failure" | "timed_out" | "startup_failure" | "action_required")
            ) {
                failed.push(FailedCheck {
                    id: format!("run-{}", number(&run["id"])),
                    name: text(&run["name"]),
                    url: run["html_url"].as_str().map(str::to_owned),
                });
            }
        }
        for status in &statuses {
            match status["state"].as_str() {
                Some("pending") => pending = true,
                Some("failure" | "error") => failed.push(FailedCheck {
                    id: format!("status-{}", number(&status["id"])),
                    name: text(&status["context"]),
                    url: status["target_url"].as_str().map(str::to_owned),
                }),
                Some(_) | None => {}
            }
        }
        let checks = if runs.is_empty() && statuses.is_empty() {
            Checks::Nothing
        } else if pending {
            Checks::Pending
        } else if failed.is_empty() {
            Checks::Passed
        } else {
            Checks::Failed
        };
        Ok((checks, failed))
    }

    async fn remarks(
        &self,
        path: &str,
        request: i64,
        me: Option<&str>,
    ) -> Result<Vec<Remark>, ProviderError> {
        let mut remarks = Vec::new();
        for (what, list) in [
            ("review", format!("/repos/{path}/pulls/{request}/reviews")),
            ("comment", format!("/repos/{path}/pulls/{request}/comments")),
            ("note", format!("/repos/{path}/issues/{request}/comments")),
        ] {
            let all = self
                .0
                .all(&format!("{list}?per_page=100"), Value::as_array)
                .await?;
            remarks.extend(all.iter().filter_map(|one| remark(what, one, me)));
        }
        Ok(remarks)
    }
}

fn state_of(pull: &Value) -> Result<RequestState, ProviderError> {
    match (pull["state"].as_str(), pull["merged"] == true) {
        (Some("open"), _) => Ok(RequestState::Open),
        (Some("closed"), true) => Ok(RequestState::Merged),
        (Some("closed"), false) => Ok(RequestState::Closed),
        (_, _) => Err(ProviderError::Unreadable("is no pull request")),
    }
}

fn mergeable(pull: &Value) -> Mergeable {
    match pull["mergeable_state"].as_str() {
        Some("dirty") => Mergeable::Conflict,
        Some("clean" | "has_hooks") if pull["draft"] != true => Mergeable::Ready,
        Some(_) | None => Mergeable::NotYet,
    }
}

/// Words of somebody else; an approval asks for nothing.
fn remark(what: &str, one: &Value, me: Option<&str>) -> Option<Remark> {
    if matches!(
        one["state"].as_str(),
        Some("APPROVED" | "DISMISSED" | "PENDING")
    ) {
        return None;
    }
    let id = format!("{what}:{}", number(&one["id"]));
    let at = (&one["path"], &one["line"]);
    wire::remark(id, &one["user"]["login"], &one["body"], at, me)
}
