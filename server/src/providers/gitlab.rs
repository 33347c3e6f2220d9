//! Merge requests, as GitLab's REST API shows them.

use super::error::ProviderError;
use super::settings::Account;
use super::wire::{self, Api, Dialect, number, text};
use domain::change_request::{Checks, FailedCheck, Mergeable, Observed, Remark, RequestState};
use serde_json::{Value, json};

static DIALECT: Dialect = Dialect {
    token: ("private-token", ""),
    headers: &[("accept", "application/json")],
    limits: ("ratelimit-remaining", "ratelimit-reset"),
    variable: "GITLAB_TOKEN",
};

/// GitLab.
#[derive(Debug)]
pub struct Gitlab(Api);

impl Gitlab {
    /// # Errors
    ///
    /// When its token cannot be used.
    pub fn new(account: &Account) -> Result<Self, ProviderError> {
        Api::new(account, &DIALECT).map(Self)
    }

    /// A merge request as it is now; `remarks` reads what people wrote too.
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
        let project = project(path);
        let merge = format!("{project}/merge_requests/{request}");
        let found = self.0.get(&merge).await?;
        let state = match found["state"].as_str() {
            Some("opened" | "locked") => RequestState::Open,
            Some("merged") => RequestState::Merged,
            Some("closed") => RequestState::Closed,
            Some(_) | None => return Err(ProviderError::Unreadable("is no merge request")),
        };
        let mut observed = Observed {
            title: text(&found["title"]),
            url: text(&found["web_url"]),
            state,
            head: text(&found["sha"]),
            mergeable: mergeable(&found),
            checks: Checks::Nothing,
            failed: Vec::new(),
            remarks: Vec::new(),
            review_requested: false,
        };
        if state != RequestState::Open {
            return Ok(observed);
        }
        let user = self.0.get("/user").await?;
        let me = user["username"].as_str();
        observed.review_requested = found["reviewers"].as_array().is_some_and(|all| {
            me.is_some() && all.iter().any(|one| one["username"].as_str() == me)
        });
        (observed.checks, observed.failed) = self.checks(&project, &found["head_pipeline"]).await?;
        if remarks {
            let list = format!("{merge}/discussions?per_page=100");
            let discussions = self.0.all(&list, Value::as_array).await?;
            observed.remarks = discussions
                .iter()
                .filter_map(|discussion| discussion["notes"].as_array())
                .flatten()
                .filter_map(|note| remark(note, me))
                .collect();
        }
        Ok(observed)
    }

    /// Merges a merge request whose newest commit is still `head`.
    ///
    /// # Errors
    ///
    /// Typed; with GitLab's own words when it refuses.
    pub async fn merge(&self, path: &str, request: i64, head: &str) -> Result<(), ProviderError> {
        let path = format!("{}/merge_requests/{request}/merge", project(path));
        let merged = self.0.put(&path, &json!({"sha": head})).await?;
        if merged["state"] == "merged" {
            return Ok(());
        }
        Err(ProviderError::Unreadable("does not say that it was merged"))
    }

    async fn checks(
        &self,
        project: &str,
        pipeline: &Value,
    ) -> Result<(Checks, Vec<FailedCheck>), ProviderError> {
        let checks = match pipeline["status"].as_str() {
            None | Some("skipped") => Checks::Nothing,
            Some("success") => Checks::Passed,
            Some("failed" | "canceled") => Checks::Failed,
            Some(_) => Checks::Pending,
        };
        // Whoever cancels a pipeline knows of it.
        if pipeline["status"] != "failed" {
            return Ok((checks, Vec::new()));
        }
        let id = number(&pipeline["id"]);
        let jobs = format!("{project}/pipelines/{id}/jobs?scope[]=failed&per_page=100");
        let jobs = self.0.all(&jobs, Value::as_array).await?;
        let mut failed: Vec<FailedCheck> = jobs
            .iter()
            .filter(|job| job["allow_failure"] != true)
            .map(|job| FailedCheck {
                id: format!("job-{}", number(&job["id"])),
                name: text(&job["name"]),
                url: job["web_url"].as_str().map(str::to_owned),
            })
            .collect();
        if failed.is_empty() {
            // One that never came to have jobs.
            failed.push(FailedCheck {
                id: format!("pipeline-{id}"),
                name: "pipeline".to_owned(),
                url: pipeline["web_url"].as_str().map(str::to_owned),
            });
        }
        Ok((checks, failed))
    }
}

/// A project by its path, which stands in the address as one part.
fn project(path: &str) -> String {
    format!("/projects/{}", path.replace('/', "%2F").replace('+', "%2B"))
}

fn mergeable(found: &Value) -> Mergeable {
    if found["has_conflicts"] == true {
        return Mergeable::Conflict;
    }
    match found["detailed_merge_status"].as_str() {
        Some("mergeable") => Mergeable::Ready,
        Some("conflict") => Mergeable::Conflict,
        Some(_) | None => Mergeable::NotYet,
    }
}

/// Words of somebody else that are still open.
fn remark(note: &Value, me: Option<&str>) -> Option<Remark> {
    if note["system"] == true || note["resolved"] == true {
        return None;
    }
    let id = format!("note:{}", number(&note["id"]));
    let at = (&note["position"]["new_path"], &note["position"]["new_line"]);
    wire::remark(id, &note["author"]["username"], &note["body"], at, me)
}
