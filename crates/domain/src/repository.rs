//! Repositories of a workspace: where code is that its tasks are about, here and with a provider.
//!
//! What is said of a repository is a name for it, never a credential: an address that holds one is refused, and Flightdeck itself
//! fetches nothing from there. Which provider keeps it decides about the tools of the sessions on its tasks.

use crate::error::Refusal;
use crate::ids::{RepositoryId, TaskId, WorkspaceId};
use crate::name;
use crate::params::double_option;
use crate::question::check_length;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Longest name, in code points.
const MAX_NAME: usize = 120;
/// Longest path, host, branch or address, in code points.
const MAX_PLACE: usize = 1_000;
/// Most repositories of a workspace.
pub const MAX_REPOSITORIES: usize = 1_000;
/// Most repositories of a task.
pub const MAX_ATTACHED: usize = 20;
/// So many of the tasks that are about a repository are named.
pub const MAX_USES: i64 = 10;

words! {
    /// Who keeps a repository for others.
    Provider("provider") {
        /// Nobody that Flightdeck has tools for.
        Unknown = "none",
        /// GitHub, or a GitHub Enterprise server.
        Github = "github",
        /// GitLab, here or there.
        Gitlab = "gitlab",
    }
}

impl Provider {
    /// Where its repositories are when nobody says otherwise.
    #[must_use]
    pub const fn usual_host(self) -> Option<&'static str> {
        match self {
            Self::Unknown => None,
            Self::Github => Some("github.com"),
            Self::Gitlab => Some("gitlab.com"),
        }
    }

    /// The provider for whom there are tools.
    #[must_use]
    pub const fn with_tools(self) -> Option<&'static str> {
        match self {
            Self::Unknown => None,
            Self::Github | Self::Gitlab => Some(self.as_str()),
        }
    }

    /// The variable of the server's environment that holds the token.
    #[must_use]
    pub const fn token_variable(self) -> Option<&'static str> {
        match self {
            Self::Unknown => None,
            Self::Github => Some("GITHUB_TOKEN"),
            Self::Gitlab => Some("GITLAB_TOKEN"),
        }
    }

    /// The variable of the server's environment that holds the address of the provider's API.
    #[must_use]
    pub const fn base_variable(self) -> Option<&'static str> {
        match self {
            Self::Unknown => None,
            Self::Github => Some("GITHUB_API_BASE"),
            Self::Gitlab => Some("GITLAB_API_BASE"),
        }
    }
}

/// A repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// Its id.
    pub id: RepositoryId,
    /// Whose it is.
    pub workspace_id: WorkspaceId,
    /// What people call it.
    pub name: String,
    /// Where it is on this machine.
    pub local_path: Option<String>,
    /// Who keeps it.
    pub provider: Provider,
    /// At which server, in lower case, with the port if it is not the usual one.
    pub host: Option<String>,
    /// Where there: `owner/name`, `group/sub/name`.
    pub project_path: Option<String>,
    /// The branch that work begins from.
    pub default_branch: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Last change.
    pub updated_at: Timestamp,
}

/// A repository as the projection of its task shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRepository {
    /// Its id.
    pub id: RepositoryId,
    /// See [`Repository`].
    pub name: String,
    /// See [`Repository`].
    pub local_path: Option<String>,
    /// See [`Repository`].
    pub provider: Provider,
    /// See [`Repository`].
    pub host: Option<String>,
    /// See [`Repository`].
    pub project_path: Option<String>,
    /// See [`Repository`].
    pub default_branch: Option<String>,
}

impl From<Repository> for TaskRepository {
    fn from(repository: Repository) -> Self {
        Self {
            id: repository.id,
            name: repository.name,
            local_path: repository.local_path,
            provider: repository.provider,
            host: repository.host,
            project_path: repository.project_path,
            default_branch: repository.default_branch,
        }
    }
}

/// Makes a repository of a workspace: where it is must be said in one way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CreateRepository {
    /// Its path when left out.
    pub name: Option<String>,
    /// Its folder on this machine, an absolute path.
    pub local_path: Option<String>,
    /// Its address; says provider, host and path at once.
    pub repository_url: Option<String>,
    /// Who keeps it.
    pub provider: Option<Provider>,
    /// The provider's own server when left out.
    pub host: Option<String>,
    /// `owner/name`, `group/sub/name`.
    pub project_path: Option<String>,
    /// The branch that work begins from.
    pub default_branch: Option<String>,
}

/// Changes a repository. What is left out stays; `Some(None)` clears.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UpdateRepository {
    /// See [`CreateRepository`].
    pub name: Option<String>,
    /// See [`CreateRepository`].
    #[serde(with = "double_option", skip_serializing_if = "Option::is_none")]
    pub local_path: Option<Option<String>>,
    /// See [`CreateRepository`].
    #[serde(with = "double_option", skip_serializing_if = "Option::is_none")]
    pub default_branch: Option<Option<String>>,
}

/// Attaches a repository to a task, named in one way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AttachRepository {
    /// One of the workspace.
    pub repository_id: Option<RepositoryId>,
    /// By its address; it is made in the workspace when it is not there.
    pub repository_url: Option<String>,
    /// By its folder on this machine; it is made in the workspace when it is not there.
    pub local_path: Option<String>,
}

/// The tasks on the board that are about a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryUse {
    /// How many there are.
    pub total: i64,
    /// The newest of them, at most [`MAX_USES`].
    pub tasks: Vec<NamedTask>,
}

/// A task by its title.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedTask {
    /// Its id.
    pub id: TaskId,
    /// Its title.
    pub title: String,
}

/// Where a repository is with its provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Who keeps it.
    pub provider: Provider,
    /// At which server.
    pub host: String,
    /// Where there.
    pub project_path: String,
}

/// A server of a provider that is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownHost {
    /// As in addresses, in lower case.
    pub host: String,
    /// Whose it is.
    pub provider: Provider,
    /// Whether there is a token to be shown to it.
    pub has_token: bool,
}

/// Whether the requests of a repository can be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// They can.
    Reached,
    /// They could, with a token for its provider.
    NoToken,
    /// It is at another server of its provider than the one that is reached, which is this one.
    Elsewhere(String),
    /// No provider keeps it.
    Nobody,
}

/// How a repository of this provider at this server is reached. A token is shown to the server it was set for, and to no other that a
/// repository names.
#[must_use]
pub fn reach(provider: Provider, host: Option<&str>, hosts: &[KnownHost]) -> Reach {
    let Some(known) = hosts.iter().find(|known| known.provider == provider) else {
        return Reach::Nobody;
    };
    if host != Some(known.host.as_str()) {
        Reach::Elsewhere(known.host.clone())
    } else if known.has_token {
        Reach::Reached
    } else {
        Reach::NoToken
    }
}

/// The places that somebody may name a repository by in the creation of a task: at most one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// One of the workspace, by its id.
    Id(RepositoryId),
    /// A folder of this machine.
    Folder(String),
    /// An address.
    Url(String),
}

/// The one way in which a repository is named, if it is.
pub fn named(
    id: Option<RepositoryId>,
    local_path: Option<&str>,
    url: Option<&str>,
) -> Result<Option<Named>, Refusal> {
    let said = |text: Option<&str>| {
        text.map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let given = [
        id.map(Named::Id),
        said(local_path).map(Named::Folder),
        said(url).map(Named::Url),
    ];
    let mut given = given.into_iter().flatten();
    match (given.next(), given.next()) {
        (_, Some(_)) => Err(Refusal::validation(
            "give one of repository_id, local_path and repository_url: each names a repository by itself",
        )),
        (only, None) => Ok(only),
    }
}

/// Reads an address as people copy it: `https://host/owner/name`, `ssh://git@host/owner/name`, `git@host:owner/name`, with `.git`
/// or without. `hosts` are servers of providers beside the usual ones; a server that nobody knows is nobody's.
pub fn read_url(text: &str, hosts: &[KnownHost]) -> Result<Place, Refusal> {
    check_length("repository_url", text, MAX_PLACE)?;
    let refuse = |what: &str| Refusal::validation(format!("repository_url {what}"));
    let (host, path) = match text.split_once("://") {
        Some((scheme, rest)) => {
            let secure_shell = scheme.eq_ignore_ascii_case("ssh");
            let web = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
            if !secure_shell && !web {
                return Err(refuse(
                    "must begin with https:// or ssh://, or be like git@host:owner/name",
                ));
            }
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            let (user, host) = match authority.rsplit_once('@') {
                Some((user, host)) => (Some(user), host),
                None => (None, authority),
            };
            if user.is_some_and(|user| web || user.contains(':')) {
                return Err(refuse(
                    "must not hold a user name, a password or a token: give it without what stands before the @",
                ));
            }
            // The port of a secure shell says nothing about where the repository is shown.
            let host = if secure_shell {
                host.split(':').next().unwrap_or(host)
            } else {
                host
            };
            (host, path)
        }
        None => {
            let (authority, path) = text
                .split_once(':')
                .filter(|(authority, _)| !authority.contains('/'))
                .ok_or_else(|| {
                    refuse("must be an address such as https://host/owner/name or git@host:owner/name; a folder is a local_path")
                })?;
            (authority.rsplit('@').next().unwrap_or(authority), path)
        }
    };
    if path.contains(['?', '#']) {
        return Err(refuse("must end with the repository's name"));
    }
    let path = path.trim_matches('/');
    check_is_no_request(path)?;
    let host = check_host(host).map_err(|_| refuse("names no server"))?;
    let provider = provider_of(&host, hosts);
    let project_path = check_project_path(provider, path)?;
    Ok(Place {
        provider,
        host,
        project_path,
    })
}

/// An address of a request to change code is none of a repository.
fn check_is_no_request(path: &str) -> Result<(), Refusal> {
    let mut parts = path.split('/').skip(2);
    let request = parts.any(|part| matches!(part, "pull" | "pulls" | "merge_requests"));
    if request {
        return Err(Refusal::validation(
            "repository_url is the address of a pull or merge request: give the repository's, and name the request to the tools for \
             its automation",
        ));
    }
    if path.split('/').any(|part| part == "-") {
        return Err(Refusal::validation(
            "repository_url leads into a repository: give the address of the repository itself",
        ));
    }
    Ok(())
}

fn provider_of(host: &str, hosts: &[KnownHost]) -> Provider {
    if let Some(known) = hosts.iter().find(|known| known.host == host) {
        return known.provider;
    }
    [Provider::Github, Provider::Gitlab]
        .into_iter()
        .find(|provider| provider.usual_host() == Some(host))
        .unwrap_or(Provider::Unknown)
}

fn check_host(text: &str) -> Result<String, Refusal> {
    let host = text.trim().to_ascii_lowercase();
    check_length("host", &host, MAX_PLACE)?;
    let (name, port) = match host.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (host.as_str(), None),
    };
    let named = !name.is_empty()
        && name
            .split('.')
            .all(|label| !label.is_empty() && !label.starts_with('-'))
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
    if !named || port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err(Refusal::validation(
            "host must be a server's name, with its port if that is not the usual one",
        ));
    }
    Ok(host)
}

fn check_project_path(provider: Provider, text: &str) -> Result<String, Refusal> {
    let path = text.trim().trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    check_length("project_path", path, MAX_PLACE)?;
    let segment = |part: &str| {
        !part.is_empty()
            && part != "."
            && part != ".."
            && part.bytes().all(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'~' | b'+')
            })
    };
    let parts = path.split('/').count();
    let (fits, form) = match provider {
        Provider::Github => (parts == 2, "owner/name"),
        Provider::Gitlab => (
            parts >= 2,
            "group/name, with groups in between if there are",
        ),
        Provider::Unknown => (true, "the repository's path on its server"),
    };
    if !fits || !path.split('/').all(segment) {
        return Err(Refusal::validation(format!(
            "the path of the repository must be {form}"
        )));
    }
    Ok(path.to_owned())
}

/// A whole path of a folder, without the slash at its end.
pub fn check_folder(field: &str, text: &str) -> Result<String, Refusal> {
    let path = text.trim();
    check_length(field, path, MAX_PLACE)?;
    if !path.starts_with('/') || path.chars().any(char::is_control) {
        return Err(Refusal::validation(format!(
            "{field} must be an absolute path"
        )));
    }
    let path = path.trim_end_matches('/');
    Ok(if path.is_empty() { "/" } else { path }.to_owned())
}

fn check_branch(text: &str) -> Result<Option<String>, Refusal> {
    let branch = text.trim();
    check_length("default_branch", branch, MAX_PLACE)?;
    if branch.starts_with('-') || branch.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(Refusal::validation(
            "default_branch must be the name of a branch",
        ));
    }
    Ok((!branch.is_empty()).then(|| branch.to_owned()))
}

fn check_name(text: &str) -> Result<String, Refusal> {
    name::check("name", text, MAX_NAME, "call the repository something")
}

/// What somebody is called who has no name but a place.
fn usual_name(place: Option<&Place>, folder: Option<&str>) -> String {
    let whole = match (place, folder) {
        (Some(place), _) => place.project_path.as_str(),
        (None, Some(folder)) => folder.rsplit('/').next().unwrap_or(folder),
        (None, None) => "",
    };
    let count = whole.chars().count();
    whole.chars().skip(count.saturating_sub(MAX_NAME)).collect()
}

/// The repository that somebody describes.
pub fn make(
    workspace_id: WorkspaceId,
    params: &CreateRepository,
    hosts: &[KnownHost],
    now: Timestamp,
) -> Result<Repository, Refusal> {
    let place = place(params, hosts)?;
    let local_path = params
        .local_path
        .as_deref()
        .filter(|path| !path.trim().is_empty())
        .map(|path| check_folder("local_path", path))
        .transpose()?;
    if place.is_none() && local_path.is_none() {
        return Err(Refusal::validation(
            "say where the repository is: repository_url, or provider with project_path, or local_path",
        ));
    }
    let name = match params.name.as_deref().map(str::trim) {
        Some(name) if !name.is_empty() => check_name(name)?,
        Some(_) | None => check_name(&usual_name(place.as_ref(), local_path.as_deref()))?,
    };
    Ok(Repository {
        id: RepositoryId::new(),
        workspace_id,
        name,
        local_path,
        provider: place
            .as_ref()
            .map_or(Provider::Unknown, |place| place.provider),
        host: place.as_ref().map(|place| place.host.clone()),
        project_path: place.map(|place| place.project_path),
        default_branch: match params.default_branch.as_deref() {
            Some(branch) => check_branch(branch)?,
            None => None,
        },
        created_at: now,
        updated_at: now,
    })
}

fn place(params: &CreateRepository, hosts: &[KnownHost]) -> Result<Option<Place>, Refusal> {
    let said = |text: &Option<String>| {
        text.as_deref()
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let (url, host, path) = (
        said(&params.repository_url),
        said(&params.host),
        said(&params.project_path),
    );
    if let Some(url) = url {
        if host.is_some() || path.is_some() {
            return Err(Refusal::validation(
                "give repository_url, or provider, host and project_path, not both",
            ));
        }
        let read = read_url(&url, hosts)?;
        // Whose a server is that nobody knows can be said beside its address.
        return Ok(Some(match params.provider {
            Some(provider) if provider != read.provider => {
                if read.provider != Provider::Unknown {
                    return Err(Refusal::validation(format!(
                        "repository_url is one of {}: leave provider out",
                        read.provider
                    )));
                }
                Place {
                    provider,
                    project_path: check_project_path(provider, &read.project_path)?,
                    ..read
                }
            }
            Some(_) | None => read,
        }));
    }
    let Some(path) = path else {
        if host.is_some() || params.provider.is_some_and(|p| p != Provider::Unknown) {
            return Err(Refusal::validation(
                "project_path is needed too: the repository's path with its provider",
            ));
        }
        return Ok(None);
    };
    let provider = params.provider.unwrap_or(Provider::Unknown);
    let host = match host.or_else(|| provider.usual_host().map(str::to_owned)) {
        Some(host) => check_host(&host)?,
        None => {
            return Err(Refusal::validation(
                "say with project_path whose it is: provider, or host",
            ));
        }
    };
    Ok(Some(Place {
        provider,
        host,
        project_path: check_project_path(provider, &path)?,
    }))
}

/// What is changed of a repository. Where it is with its provider stays: that is what it is known by.
pub fn change(
    repository: &Repository,
    params: &UpdateRepository,
    now: Timestamp,
) -> Result<Repository, Refusal> {
    let mut changed = repository.clone();
    if let Some(name) = &params.name {
        changed.name = check_name(name)?;
    }
    if let Some(path) = &params.local_path {
        changed.local_path = path
            .as_deref()
            .filter(|path| !path.trim().is_empty())
            .map(|path| check_folder("local_path", path))
            .transpose()?;
    }
    if let Some(branch) = &params.default_branch {
        changed.default_branch = match branch {
            Some(branch) => check_branch(branch)?,
            None => None,
        };
    }
    if changed.project_path.is_none() && changed.local_path.is_none() {
        return Err(Refusal::validation(
            "the repository is known by its folder alone: give another local_path, or remove it",
        ));
    }
    if changed != *repository {
        changed.updated_at = now;
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Vec<KnownHost> {
        vec![KnownHost {
            host: "git.example.com:8443".to_owned(),
            provider: Provider::Gitlab,
            has_token: true,
        }]
    }

    #[test]
    fn a_repository_is_reached_at_the_server_that_the_token_is_for() {
        let at = |provider, host| reach(provider, host, &own());
        let (here, other) = (Some("git.example.com:8443"), Some("gitlab.com"));
        assert_eq!(at(Provider::Gitlab, here), Reach::Reached);
        let reached = "git.example.com:8443".to_owned();
        assert_eq!(at(Provider::Gitlab, other), Reach::Elsewhere(reached));
        assert_eq!(at(Provider::Github, here), Reach::Nobody);
        assert_eq!(at(Provider::Unknown, None), Reach::Nobody);
        let mut without = own();
        without[0].has_token = false;
        assert_eq!(reach(Provider::Gitlab, here, &without), Reach::NoToken);
    }

    #[test]
    fn an_address_is_understood_in_each_of_its_forms() {
        for (text, provider, host, path) in [
            (
                "https://github.com/Owner/name",
                Provider::Github,
                "github.com",
                "Owner/name",
            ),
            (
                "https://GitHub.com/owner/name.git/",
                Provider::Github,
                "github.com",
                "owner/name",
            ),
            (
                "git@github.com:owner/na.me.git",
                Provider::Github,
                "github.com",
                "owner/na.me",
            ),
            (
                "ssh://git@github.com:22/owner/name.git",
                Provider::Github,
                "github.com",
                "owner/name",
            ),
            (
                "https://gitlab.com/group/sub/name",
                Provider::Gitlab,
                "gitlab.com",
                "group/sub/name",
            ),
            (
                "https://git.example.com:8443/a/b",
                Provider::Gitlab,
                "git.example.com:8443",
                "a/b",
            ),
            (
                "https://bitbucket.example/scm/~me/name",
                Provider::Unknown,
                "bitbucket.example",
                "scm/~me/name",
            ),
            (
                "http://127.0.0.1:9/a/b",
                Provider::Unknown,
                "127.0.0.1:9",
                "a/b",
            ),
        ] {
            let expected = Place {
                provider,
                host: host.to_owned(),
                project_path: path.to_owned(),
            };
            assert_eq!(read_url(text, &own()), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_of_a_repository_is_refused_and_no_secret_is_repeated() {
        for (text, says) in [
            (
                "https://github.com/owner/name/pull/7",
                "pull or merge request",
            ),
            (
                "https://gitlab.com/a/b/-/merge_requests/7",
                "pull or merge request",
            ),
            ("https://gitlab.com/a/b/-/tree/main", "leads into"),
            ("https://s3cret@github.com/owner/name", "must not hold"),
            ("https://me:s3cret@github.com/owner/name", "must not hold"),
            ("ssh://git:s3cret@github.com/owner/name", "must not hold"),
            ("https://github.com/owner", "owner/name"),
            ("https://github.com/owner/name/tree/main", "owner/name"),
            ("https://github.com/owner/name?tab=readme", "must end"),
            ("https:///owner/name", "names no server"),
            ("https://gitlab.com/a/../b", "group/name"),
            ("ftp://github.com/owner/name", "must begin"),
            ("/srv/code", "local_path"),
            ("owner/name", "must be an address"),
        ] {
            let refusal = read_url(text, &[]).unwrap_err();
            assert!(refusal.message.contains(says), "{text}: {refusal}");
            assert!(!refusal.message.contains("s3cret"), "{refusal}");
        }
    }

    #[test]
    fn a_task_names_its_repository_in_one_way() {
        let id = RepositoryId::new();
        assert_eq!(named(Some(id), None, Some(" ")), Ok(Some(Named::Id(id))));
        assert_eq!(named(None, None, None), Ok(None));
        assert_eq!(
            named(None, Some(" /srv "), None),
            Ok(Some(Named::Folder("/srv".to_owned())))
        );
        assert!(named(Some(id), None, Some("https://github.com/a/b")).is_err());
        assert!(named(None, Some("/srv"), Some("https://github.com/a/b")).is_err());
    }

    #[test]
    fn a_repository_is_somewhere_and_is_called_after_its_place() {
        let make = |params: CreateRepository| {
            make(WorkspaceId::new(), &params, &[], Timestamp::from_millis(0))
        };
        let hosted = make(CreateRepository {
            provider: Some(Provider::Gitlab),
            project_path: Some("a/b/c".to_owned()),
            ..CreateRepository::default()
        })
        .unwrap();
        assert_eq!(
            (hosted.name.as_str(), hosted.host.as_deref()),
            ("a/b/c", Some("gitlab.com"))
        );
        let folder = make(CreateRepository {
            local_path: Some("/srv/code/".to_owned()),
            default_branch: Some("main".to_owned()),
            ..CreateRepository::default()
        })
        .unwrap();
        assert_eq!(
            (folder.name.as_str(), folder.local_path.as_deref()),
            ("code", Some("/srv/code"))
        );
        // A server that nobody knows is somebody's when that is said.
        let said = make(CreateRepository {
            repository_url: Some("git@git.example.com:a/b.git".to_owned()),
            provider: Some(Provider::Github),
            ..CreateRepository::default()
        })
        .unwrap();
        assert_eq!(said.provider, Provider::Github);
        for wrong in [
            CreateRepository::default(),
            CreateRepository {
                provider: Some(Provider::Github),
                ..CreateRepository::default()
            },
            CreateRepository {
                project_path: Some("a/b".to_owned()),
                ..CreateRepository::default()
            },
            CreateRepository {
                repository_url: Some("https://github.com/a/b".to_owned()),
                provider: Some(Provider::Gitlab),
                ..CreateRepository::default()
            },
            CreateRepository {
                local_path: Some("code".to_owned()),
                ..CreateRepository::default()
            },
            CreateRepository {
                local_path: Some("/srv".to_owned()),
                default_branch: Some("-f".to_owned()),
                ..CreateRepository::default()
            },
        ] {
            assert!(make(wrong.clone()).is_err(), "{wrong:?}");
        }
        let nowhere = UpdateRepository {
            local_path: Some(None),
            ..UpdateRepository::default()
        };
        let now = Timestamp::from_millis(9);
        assert!(change(&folder, &nowhere, now).is_err());
        let unplaced = change(&hosted, &nowhere, now).unwrap();
        assert_eq!(unplaced, hosted, "nothing changed, the time neither");
    }
}
