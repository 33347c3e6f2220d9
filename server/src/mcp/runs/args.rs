//! Reading arguments. Models send `null` and `""` for what they leave out, and fields that nobody has heard of; neither is an
//! error. What is there and of the wrong kind is, and is named.

use domain::run::ask::{Asked, ListRuns, RunTarget, RunTask};
use domain::run::refuse::RunRefusal;
use domain::run::view::Detail;
use serde_json::Value;

/// The arguments of a call.
pub(super) struct Args<'a>(pub(super) &'a Value);

impl Args<'_> {
    fn given(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn text(&self, name: &'static str) -> Result<Option<String>, RunRefusal> {
        match self.given(name) {
            None => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(RunRefusal::invalid(
                name,
                format!("{name} must be a string."),
            )),
        }
    }

    fn flag(&self, name: &'static str) -> Result<bool, RunRefusal> {
        match self.given(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(RunRefusal::invalid(
                name,
                format!("{name} must be true or false."),
            )),
        }
    }

    pub(super) fn number(&self, name: &'static str) -> Result<Option<i64>, RunRefusal> {
        match self.given(name) {
            None => Ok(None),
            Some(value) => match value.as_i64() {
                Some(number) => Ok(Some(number)),
                None => Err(RunRefusal::invalid(
                    name,
                    format!("{name} must be a whole number."),
                )),
            },
        }
    }

    pub(super) fn target(&self) -> Result<RunTarget, RunRefusal> {
        Ok(RunTarget {
            task_id: self.text("taskId")?,
            job_id: self.text("jobId")?,
            session_key: self.text("sessionKey")?,
        })
    }

    pub(super) fn run_task(&self) -> Result<RunTask, RunRefusal> {
        Ok(RunTask {
            asked: Asked {
                task: self.text("task")?.unwrap_or_default(),
                context: self.text("context")?,
                sender_name: self.text("senderName")?,
            },
            session_key: self.text("sessionKey")?,
            agent: self.text("agent")?,
            idempotency_key: self.text("idempotencyKey")?,
            allow_duplicate: self.flag("allowDuplicate")?,
        })
    }

    pub(super) fn list(&self) -> Result<ListRuns, RunRefusal> {
        let all = match self.text("view")?.as_deref() {
            None | Some("active") => false,
            Some("all") => true,
            Some(_) => {
                return Err(RunRefusal::invalid("view", "view must be active or all."));
            }
        };
        Ok(ListRuns {
            all,
            session_key: self.text("sessionKey")?,
            agent: self.text("agent")?,
            limit: self.number("limit")?,
            cursor: self.text("cursor")?,
        })
    }

    pub(super) fn detail(&self) -> Result<Detail, RunRefusal> {
        match self.text("detail")? {
            None => Ok(Detail::Summary),
            Some(word) => Detail::parse(&word)
                .map_err(|refusal| RunRefusal::invalid("detail", refusal.message)),
        }
    }

    /// Whether the wait also ends when the log grows.
    pub(super) fn polls(&self) -> Result<bool, RunRefusal> {
        match self.text("mode")?.as_deref() {
            None | Some("wait") => Ok(false),
            Some("poll") => Ok(true),
            Some(_) => Err(RunRefusal::invalid("mode", "mode must be wait or poll.")),
        }
    }

    pub(super) fn wait_ms(&self) -> Option<&Value> {
        self.given("waitMs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_unknown_is_ignored_and_what_is_wrong_is_named() {
        let value = json!({"taskId": "", "jobId": null, "sessionKey": "s", "waitMs": "soon", "nonsense": {"a": 1}});
        let target = Args(&value).target().unwrap();
        assert_eq!(target.session_key.as_deref(), Some("s"));
        assert_eq!((target.task_id, target.job_id), (None, None));
        let value = json!({"task": 7, "view": "some", "detail": "prompts", "mode": "fast", "limit": "9", "allowDuplicate": 1});
        let args = Args(&value);
        assert_eq!(args.run_task().unwrap_err().field, Some("task"));
        assert_eq!(args.list().unwrap_err().field, Some("view"));
        assert_eq!(args.detail().unwrap_err().field, Some("detail"));
        assert_eq!(args.polls().unwrap_err().field, Some("mode"));
        assert_eq!(args.number("limit").unwrap_err().field, Some("limit"));
        assert_eq!(
            args.flag("allowDuplicate").unwrap_err().field,
            Some("allowDuplicate")
        );
    }
}
