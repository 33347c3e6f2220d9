//! Requests to change a repository's code that tasks care for: what is done about them by itself, and what came of looking at them.
//!
//! Looking is done outside of any transaction, by whoever reaches the provider. What it comes to is reported here: one transaction
//! notes what was seen, the subjects that are told, and the prompt that tells them, so that nothing is told twice, whichever node
//! looks and whenever it dies.

use crate::prompts::{NewPrompt, check_not_over};
use crate::reach::reachable;
use crate::transition::{Work, load_task};
use crate::{Actor, Board, BoardError, Result};
use domain::change_request::{
    ChangeRequest, ChangeRequestView, MAX_REQUESTS, News, Observed, Seen, UpdateAutomation, apply,
    follow, tell, told_at_once,
};
use domain::error::{ErrorCode, Refusal};
use domain::ids::{ChangeRequestId, RepositoryId, TaskId};
use domain::queue::QueuedBy;
use domain::repository::{Provider, Repository};
use domain::task::{Task, TaskState};
use domain::time::Timestamp;
use serde_json::json;
use store::Snapshot;

/// Which requests of a task are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestTarget<'a> {
    /// All that the task cares for with this provider.
    All(Provider),
    /// One, which the task cares for from now on.
    One {
        /// The provider, when whoever says it has to mean that one.
        provider: Option<Provider>,
        /// The repository, which the task must be about.
        repository: RepositoryId,
        /// Its path with the provider, when it is said too.
        project_path: Option<&'a str>,
        /// Its number there.
        number: i64,
    },
}

/// A request to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// The request.
    pub request: ChangeRequest,
    /// Where it is.
    pub repository: Repository,
}

impl Board {
    /// The requests that a task cares for, oldest first; with `provider`, those alone.
    pub async fn change_requests(
        &self,
        actor: &Actor,
        task: TaskId,
        provider: Option<Provider>,
    ) -> Result<Vec<ChangeRequestView>> {
        let mut db = self.snapshot().await?;
        let task = reachable(&mut db, actor, &self.settings, task).await?;
        check_own(actor, task.id)?;
        views(&mut db, task.id, provider).await
    }

    /// Changes what is done about requests by itself; answers those of the task. An agent says it of its own task. A request that is
    /// named is one that the task cares for from then on. Whatever is said of a request has it looked at at once.
    ///
    /// Refused: a repository that the task is not about or that no provider keeps, and a change of nothing.
    pub async fn change_request_automate(
        &self,
        actor: &Actor,
        task: TaskId,
        target: RequestTarget<'_>,
        change: &UpdateAutomation,
    ) -> Result<Vec<ChangeRequestView>> {
        let mut work = self.begin().await?;
        let task = reachable(&mut work.tx, actor, &self.settings, task).await?;
        check_own(actor, task.id)?;
        crate::prompts::check_open(&task)?;
        if !change.says_something() {
            return Err(Refusal::validation(
                "say what is to change: one of the five switches, or the words of the prompt",
            )
            .into());
        }
        let provider = match target {
            RequestTarget::All(provider) => Some(provider),
            RequestTarget::One { provider, .. } => provider,
        };
        let mut changed = false;
        for request in work.meant(&task, target).await? {
            changed |= work.automate(&request, change).await?;
        }
        if changed {
            work.task_event(&task).await?;
            work.wake_requests();
        }
        let views = views(&mut work.tx, task.id, provider).await?;
        work.commit().await?;
        Ok(views)
    }

    /// Lets a task no longer care for a request; one that it does not care for is a success.
    pub async fn change_request_forget(
        &self,
        actor: &Actor,
        task: TaskId,
        id: ChangeRequestId,
    ) -> Result<Vec<ChangeRequestView>> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let task = load_task(&mut work.tx, task).await?;
        let found = store::change_requests::find(&mut work.tx, id).await?;
        if found.is_some_and(|found| found.task_id == task.id)
            && store::change_requests::delete(&mut work.tx, id).await?
        {
            work.task_event(&task).await?;
        }
        let views = views(&mut work.tx, task.id, None).await?;
        work.commit().await?;
        Ok(views)
    }

    /// Takes requests that are due to be looked at, by putting their next look off: of several nodes one looks. Those of tasks that
    /// are over are left alone.
    pub async fn change_requests_claim(&self, limit: i64) -> Result<Vec<Watched>> {
        let now = self.clock.now();
        let due = store::change_requests::next_due(&mut self.snapshot().await?).await?;
        if due.is_none_or(|due| due > now) {
            return Ok(Vec::new());
        }
        let mut work = self.begin().await?;
        let next = work.now.plus_millis(self.settings.request_look_ms);
        let now = work.now;
        let claimed = store::change_requests::claim_due(&mut work.tx, now, next, limit).await?;
        let ids: Vec<RepositoryId> = claimed
            .iter()
            .map(|request| request.repository_id)
            .collect();
        let places = store::repositories::find_all(&mut work.tx, &ids).await?;
        work.commit().await?;
        Ok(claimed
            .into_iter()
            .filter_map(|request| {
                let repository = places
                    .iter()
                    .find(|repository| repository.id == request.repository_id)?;
                Some(Watched {
                    repository: repository.clone(),
                    request,
                })
            })
            .collect())
    }

    /// When the next look is due; never, when nothing is switched on.
    pub async fn change_requests_due(&self) -> Result<Option<Timestamp>> {
        Ok(store::change_requests::next_due(&mut self.snapshot().await?).await?)
    }

    /// What a look at a request showed. What there is to tell of it is told to the task's session, once; answers whether the request
    /// is to be merged now. About a task that is over nothing is noted.
    pub async fn change_request_observed(
        &self,
        id: ChangeRequestId,
        observed: &Observed,
    ) -> Result<bool> {
        match self.observe(id, observed, None).await {
            // Its queue is full, or its session is over: what was seen is noted all the same, and told another time.
            Err(BoardError::Refused(refusal)) if refusal.code != ErrorCode::Unavailable => {
                self.observe(id, observed, Some(refusal.message)).await
            }
            outcome => outcome,
        }
    }

    /// That a look, or a merge, came to nothing, in words for a person; it is tried again after the usual time, or at `again`.
    pub async fn change_request_failed(
        &self,
        id: ChangeRequestId,
        problem: &str,
        again: Option<Timestamp>,
    ) -> Result<()> {
        let mut work = self.begin().await?;
        let Some(mut request) = store::change_requests::find(&mut work.tx, id).await? else {
            return Ok(());
        };
        let is_new = request.problem.as_deref() != Some(problem);
        request.problem = Some(problem.to_owned());
        // Nothing is switched on, or it is over meanwhile: nobody looks again.
        request.next_look_at = request
            .next_look_at
            .filter(|_| request.automation.is_on())
            .map(|usual| again.map_or(usual, |again| again.max(usual)));
        store::change_requests::set_seen(&mut work.tx, &request).await?;
        if is_new {
            let task = load_task(&mut work.tx, request.task_id).await?;
            work.task_event(&task).await?;
        }
        work.commit().await
    }

    /// A request was merged: it is looked at again at once, so that this shows.
    pub async fn change_request_merged(&self, id: ChangeRequestId) -> Result<()> {
        let mut work = self.begin().await?;
        let Some(mut request) = store::change_requests::find(&mut work.tx, id).await? else {
            return Ok(());
        };
        request.next_look_at = Some(work.now);
        store::change_requests::set_seen(&mut work.tx, &request).await?;
        work.wake_requests();
        work.commit().await
    }

    async fn observe(
        &self,
        id: ChangeRequestId,
        observed: &Observed,
        untold: Option<String>,
    ) -> Result<bool> {
        let mut work = self.begin().await?;
        let Some(mut request) = store::change_requests::find(&mut work.tx, id).await? else {
            return Ok(false);
        };
        let task = load_task(&mut work.tx, request.task_id).await?;
        if !may_be_told(&task) {
            return Ok(false);
        }
        let seen = observed.seen(work.now);
        let mut told = Vec::new();
        if untold.is_none() {
            told = work.news(&request, observed).await?;
            if !told.is_empty() {
                work.tell_session(&task, &request, &seen, &told).await?;
            }
        }
        let shows_new = request.problem != untold
            || request.seen.as_ref().is_none_or(|before| {
                Seen {
                    at: seen.at,
                    ..before.clone()
                } != seen
            });
        let merge = request.automation.auto_merge_enabled
            && observed.is_ready()
            && told.iter().all(|news| !news.to_fix);
        if !request.automation.watches(Some(observed.state)) && untold.is_none() {
            request.next_look_at = None;
        }
        request.problem = untold;
        request.seen = Some(seen);
        store::change_requests::set_seen(&mut work.tx, &request).await?;
        if shows_new {
            work.task_event(&task).await?;
        }
        work.commit().await?;
        Ok(merge)
    }
}

impl Work {
    /// The requests that are meant; one that is named and new is added.
    async fn meant(
        &mut self,
        task: &Task,
        target: RequestTarget<'_>,
    ) -> Result<Vec<ChangeRequest>> {
        let known = store::change_requests::list(&mut self.tx, task.id).await?;
        let about = store::repositories::of_task(&mut self.tx, task.id).await?;
        let (provider, repository, project_path, number) = match target {
            RequestTarget::One {
                provider,
                repository,
                project_path,
                number,
            } => (provider, repository, project_path, number),
            RequestTarget::All(provider) => {
                let meant: Vec<ChangeRequest> = known
                    .into_iter()
                    .filter(|request| {
                        about.iter().any(|repository| {
                            repository.id == request.repository_id
                                && repository.provider == provider
                        })
                    })
                    .collect();
                if meant.is_empty() {
                    return Err(Refusal::validation(
                        "the task cares for no request yet: name one by its repository and number",
                    )
                    .into());
                }
                return Ok(meant);
            }
        };
        let repository = about
            .iter()
            .find(|known| known.id == repository)
            .filter(|known| provider.is_none_or(|provider| provider == known.provider))
            .filter(|known| known.provider.with_tools().is_some())
            .ok_or_else(|| {
                Refusal::validation(
                    "repository_id must be a repository of this provider that the task is about: the task's repositories show which",
                )
            })?;
        let path = repository.project_path.as_deref().unwrap_or_default();
        if project_path
            .is_some_and(|said| !said.trim().trim_matches('/').eq_ignore_ascii_case(path))
        {
            return Err(Refusal::validation(format!(
                "project_path must be that of the repository, {path}"
            ))
            .into());
        }
        if number < 1 {
            return Err(Refusal::validation("the number of a request is at least 1").into());
        }
        if let Some(found) = known
            .iter()
            .find(|request| request.repository_id == repository.id && request.number == number)
        {
            return Ok(vec![found.clone()]);
        }
        if known.len() >= MAX_REQUESTS {
            return Err(Refusal::conflict(format!(
                "a task cares for at most {MAX_REQUESTS} requests"
            ))
            .into());
        }
        let request = ChangeRequest {
            id: ChangeRequestId::new(),
            task_id: task.id,
            repository_id: repository.id,
            number,
            automation: domain::change_request::Automation::default(),
            auto_fix_prompt_override: None,
            seen: None,
            problem: None,
            next_look_at: None,
            created_at: self.now,
            updated_at: self.now,
        };
        store::change_requests::insert(&mut self.tx, &request).await?;
        self.task_event(task).await?;
        Ok(vec![request])
    }

    /// Applies a change; answers whether it is one.
    async fn automate(
        &mut self,
        request: &ChangeRequest,
        change: &UpdateAutomation,
    ) -> Result<bool> {
        let mut changed = apply(request, change)?;
        // Looked at at once, also one that was over, since it may have been opened again, and one about which nothing is switched on,
        // so that its state shows; but not because the last thing was switched off.
        let looks = changed.automation.is_on() || !request.automation.is_on();
        let is_due = request.next_look_at.is_some_and(|due| due <= self.now);
        if changed != *request {
            changed.updated_at = self.now;
        } else if is_due {
            return Ok(false);
        }
        changed.next_look_at = looks.then_some(self.now);
        store::change_requests::set_automation(&mut self.tx, &changed).await?;
        Ok(true)
    }

    /// What there is to tell and was not told before; from here on it counts as told.
    async fn news(&mut self, request: &ChangeRequest, observed: &Observed) -> Result<Vec<News>> {
        let news = follow(request.automation, observed);
        if news.is_empty() {
            return Ok(news);
        }
        let known = store::change_requests::told(&mut self.tx, request.id).await?;
        let fresh = news
            .into_iter()
            .filter(|one| !known.contains(&one.subject))
            .collect();
        let mut told = Vec::new();
        for one in told_at_once(fresh) {
            let now = self.now;
            if store::change_requests::tell(&mut self.tx, request.id, &one.subject, now).await? {
                told.push(one);
            }
        }
        Ok(told)
    }

    /// Queues the prompt that tells it.
    async fn tell_session(
        &mut self,
        task: &Task,
        request: &ChangeRequest,
        seen: &Seen,
        news: &[News],
    ) -> Result<()> {
        let repository = store::repositories::find(&mut self.tx, request.repository_id)
            .await?
            .ok_or_else(|| Refusal::not_found("repository"))?;
        let mut session = self.ensure_session(task).await?;
        check_not_over(&session)?;
        let path = repository.project_path.as_deref().unwrap_or_default();
        let told = tell(repository.provider, path, request, seen, news);
        let mut prompt = NewPrompt::plain(told.content, QueuedBy::Server);
        prompt.hidden_context = Some(told.hidden);
        prompt.pinned = false;
        // Nobody said it: Flightdeck did.
        prompt
            .metadata
            .insert("queued_by".to_owned(), json!(QueuedBy::Server));
        prompt
            .metadata
            .insert("change_request_id".to_owned(), json!(request.id));
        self.admit(task, &mut session, prompt).await?;
        Ok(())
    }
}

/// Nobody is at work, or will be, on a task that failed, was given up or put away.
const fn may_be_told(task: &Task) -> bool {
    task.archived_at.is_none() && !matches!(task.state, TaskState::Failed | TaskState::Cancelled)
}

fn check_own(actor: &Actor, task: TaskId) -> Result<()> {
    match actor.task() {
        Some(own) if own != task => Err(Refusal::forbidden(
            "an agent may only say what is done about the requests of its own task",
        )
        .into()),
        Some(_) | None => Ok(()),
    }
}

async fn views(
    db: &mut Snapshot,
    task: TaskId,
    provider: Option<Provider>,
) -> Result<Vec<ChangeRequestView>> {
    let about = store::repositories::of_task(db, task).await?;
    let requests = store::change_requests::list(db, task).await?;
    Ok(requests
        .into_iter()
        .filter_map(|request| {
            let repository = about
                .iter()
                .find(|known| known.id == request.repository_id)
                .filter(|known| provider.is_none_or(|provider| provider == known.provider))?;
            Some(ChangeRequestView::of(request, repository))
        })
        .collect())
}
