//! Repositories of workspaces, and which tasks are about which.
//!
//! Who keeps the repositories of a task decides about the tools of its sessions, so that attaching one and removing one rebuilds the
//! lists of its live sessions, when the providers are others afterwards (rulings 14).

use crate::reach::configures;
use crate::tasks::{named_folder, view};
use crate::transition::{Work, load_task};
use crate::{Actor, Board, BoardError, Result};
use domain::effect::EffectKind;
use domain::error::Refusal;
use domain::event::{EventKind, NewEvent};
use domain::ids::{RepositoryId, TaskId, WorkspaceId};
use domain::params::CreateTask;
use domain::repository::{
    AttachRepository, CreateRepository, KnownHost, MAX_ATTACHED, MAX_REPOSITORIES, MAX_USES, Named,
    Provider, Repository, RepositoryUse, UpdateRepository, change, check_folder, make, named,
    read_url,
};
use domain::task::Task;
use domain::view::TaskView;
use store::{Snapshot, StoreError};

impl Board {
    /// The repositories of a workspace, oldest first. An agent reads them in a session that sets the board up.
    pub async fn repository_list(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
    ) -> Result<Vec<Repository>> {
        let mut db = self.snapshot().await?;
        configures(&mut db, actor, Some(workspace)).await?;
        Ok(store::repositories::list(&mut db, workspace).await?)
    }

    /// The servers of providers that are reached, and whether there is a token for each; never the token.
    pub fn provider_list(&self, actor: &Actor) -> Result<Vec<KnownHost>> {
        actor.require_operator()?;
        Ok(self.settings.provider_hosts.clone())
    }

    /// The tasks that stand in the way of removing a repository.
    pub async fn repository_uses(&self, actor: &Actor, id: RepositoryId) -> Result<RepositoryUse> {
        actor.require_operator()?;
        let mut db = self.snapshot().await?;
        known(&mut db, id).await?;
        Ok(store::repositories::uses(&mut db, id, MAX_USES).await?)
    }

    /// Adds a repository to a workspace. Refused when one of its place or of its folder is there.
    pub async fn repository_create(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        params: &CreateRepository,
    ) -> Result<Repository> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        configures(&mut work.tx, actor, Some(workspace)).await?;
        let repository = work.make_repository(workspace, params).await?;
        work.commit().await?;
        Ok(repository)
    }

    /// Changes what a repository is called, and where it is on this machine. Tasks that were made keep their folders.
    pub async fn repository_update(
        &self,
        actor: &Actor,
        id: RepositoryId,
        params: &UpdateRepository,
    ) -> Result<Repository> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let repository = known(&mut work.tx, id).await?;
        let changed = change(&repository, params, work.now)?;
        if changed != repository {
            store::repositories::update(&mut work.tx, &changed)
                .await
                .map_err(taken)?;
            work.repositories_event(changed.workspace_id).await?;
        }
        work.commit().await?;
        Ok(changed)
    }

    /// Removes a repository. Refused while a task on the board is about it; archived ones no longer are.
    pub async fn repository_delete(&self, actor: &Actor, id: RepositoryId) -> Result<()> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let repository = known(&mut work.tx, id).await?;
        let tasks = store::repositories::tasks_on_board(&mut work.tx, id).await?;
        if tasks > 0 {
            return Err(Refusal::conflict(format!(
                "{tasks} tasks are about this repository: take it from them first, or archive them"
            ))
            .into());
        }
        store::repositories::delete(&mut work.tx, id).await?;
        work.repositories_event(repository.workspace_id).await?;
        work.commit().await
    }

    /// Makes a task be about a repository of its workspace; one that is named by an address or a folder is made there when it is not
    /// known. Saying it again changes nothing. The folder that agents work in stays.
    pub async fn repository_attach(
        &self,
        actor: &Actor,
        task: TaskId,
        params: &AttachRepository,
    ) -> Result<TaskView> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let task = load_task(&mut work.tx, task).await?;
        crate::prompts::check_open(&task)?;
        let named = named(
            params.repository_id,
            params.local_path.as_deref(),
            params.repository_url.as_deref(),
        )?;
        let Some(named) = named else {
            return Err(Refusal::validation(
                "give one of repository_id, repository_url and local_path",
            )
            .into());
        };
        let repository = match work.named_repository(task.workspace_id, named).await? {
            Some(found) => found,
            // A folder that no repository of the workspace is in yet.
            None => {
                let there = CreateRepository {
                    local_path: params.local_path.clone(),
                    ..CreateRepository::default()
                };
                work.make_repository(task.workspace_id, &there).await?
            }
        };
        let before = store::repositories::of_task(&mut work.tx, task.id).await?;
        if before.len() >= MAX_ATTACHED && before.iter().all(|known| known.id != repository.id) {
            return Err(Refusal::conflict(format!(
                "a task is about at most {MAX_ATTACHED} repositories: take one from it first"
            ))
            .into());
        }
        let now = work.now;
        if store::repositories::attach(&mut work.tx, task.id, repository.id, now).await? {
            work.attached_changed(&task, &before).await?;
        }
        let view = view(&mut work.tx, task.id).await?;
        work.commit().await?;
        Ok(view)
    }

    /// Takes a repository from a task, which no longer cares for its requests either; one that it is not about is a success.
    pub async fn repository_detach(
        &self,
        actor: &Actor,
        task: TaskId,
        repository: RepositoryId,
    ) -> Result<TaskView> {
        actor.require_operator()?;
        let mut work = self.begin().await?;
        let task = load_task(&mut work.tx, task).await?;
        let before = store::repositories::of_task(&mut work.tx, task.id).await?;
        if store::repositories::detach(&mut work.tx, task.id, repository).await? {
            store::change_requests::delete_of(&mut work.tx, task.id, repository).await?;
            work.attached_changed(&task, &before).await?;
        }
        let view = view(&mut work.tx, task.id).await?;
        work.commit().await?;
        Ok(view)
    }
}

impl Work {
    /// What a new task is about: the repository that is named, or what its parent is about when its folder is taken too.
    pub(crate) async fn repositories_of_new(
        &mut self,
        params: &CreateTask,
        parent: Option<&Task>,
        workspace: WorkspaceId,
    ) -> Result<Vec<Repository>> {
        let named = named(
            params.repository_id,
            params.local_path.as_deref(),
            params.repository_url.as_deref(),
        )?;
        if let Some(named) = named {
            let found = self.named_repository(workspace, named).await?;
            return Ok(found.into_iter().collect());
        }
        match parent {
            Some(parent) if named_folder(params)?.is_none() => {
                Ok(store::repositories::of_task(&mut self.tx, parent.id).await?)
            }
            Some(_) | None => Ok(Vec::new()),
        }
    }

    /// The repository of a workspace that somebody names. One of an address is made; a folder need be none's.
    async fn named_repository(
        &mut self,
        workspace: WorkspaceId,
        named: Named,
    ) -> Result<Option<Repository>> {
        match named {
            Named::Id(id) => {
                let found = store::repositories::find(&mut self.tx, id)
                    .await?
                    .filter(|found| found.workspace_id == workspace);
                Ok(Some(found.ok_or_else(|| {
                    Refusal::missing(
                        "the workspace has no repository of this id: list_repositories_kandev shows them, and repository_url \
                         names one by its address",
                    )
                })?))
            }
            Named::Folder(folder) => {
                let folder = check_folder("local_path", &folder)?;
                Ok(store::repositories::in_folder(&mut self.tx, workspace, &folder).await?)
            }
            Named::Url(url) => {
                let place = read_url(&url, &self.settings.provider_hosts)?;
                let found = store::repositories::at_place(&mut self.tx, workspace, &place).await?;
                if found.is_some() {
                    return Ok(found);
                }
                let params = CreateRepository {
                    repository_url: Some(url),
                    ..CreateRepository::default()
                };
                Ok(Some(self.make_repository(workspace, &params).await?))
            }
        }
    }

    async fn make_repository(
        &mut self,
        workspace: WorkspaceId,
        params: &CreateRepository,
    ) -> Result<Repository> {
        let hosts = &self.settings.provider_hosts;
        let repository = make(workspace, params, hosts, self.now)?;
        let known = store::repositories::list(&mut self.tx, workspace).await?;
        if known.len() >= MAX_REPOSITORIES {
            return Err(Refusal::conflict(format!(
                "a workspace has at most {MAX_REPOSITORIES} repositories: remove some that are no longer used"
            ))
            .into());
        }
        store::repositories::insert(&mut self.tx, &repository)
            .await
            .map_err(taken)?;
        self.repositories_event(workspace).await?;
        Ok(repository)
    }

    async fn repositories_event(&mut self, workspace: WorkspaceId) -> Result<()> {
        self.event(NewEvent::new(EventKind::WorkspaceUpdated).workspace(workspace))
            .await
    }

    /// What a task is about has changed: the tools of its sessions follow, if they are others now.
    async fn attached_changed(&mut self, task: &Task, before: &[Repository]) -> Result<()> {
        let after = store::repositories::providers(&mut self.tx, task.id).await?;
        let had = |provider: Provider| before.iter().any(|known| known.provider == provider);
        let others = Provider::ALL
            .iter()
            .filter(|provider| provider.with_tools().is_some())
            .any(|provider| had(*provider) != after.contains(provider));
        if others {
            let sessions = store::sessions::list(&mut self.tx, task.id).await?;
            for session in sessions.iter().filter(|s| !s.state.is_terminal()) {
                self.effect(EffectKind::RefreshProfile, session, None)
                    .await?;
            }
        }
        self.task_event(task).await
    }
}

async fn known(db: &mut Snapshot, id: RepositoryId) -> Result<Repository> {
    let found = store::repositories::find(db, id).await?;
    Ok(found.ok_or_else(|| Refusal::not_found("repository"))?)
}

fn taken(error: StoreError) -> BoardError {
    if matches!(error, StoreError::Unique(_)) {
        return Refusal::conflict(
            "the workspace has a repository of this place or this folder already: list its repositories",
        )
        .into();
    }
    error.into()
}
