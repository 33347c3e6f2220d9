//! Who keeps repositories for others: looking at the requests that tasks care for, and merging them.
//!
//! | Module | For |
//! |---|---|
//! | [`settings`] | where the providers are, and in whose name they are asked |
//! | [`wire`] | one client with limits, conditional requests, pages and pauses |
//! | [`github`], [`gitlab`] | what each provider shows, in one form |
//! | [`watcher`] | when to look, and whom to tell |
//!
//! Nothing here decides what is told or merged: that is `domain::change_request`'s, through the board.

mod error;
mod github;
mod gitlab;
mod settings;
mod watcher;
mod wire;

pub use error::ProviderError;
pub use github::Github;
pub use gitlab::Gitlab;
pub use settings::{Account, ProviderSettings};
pub use watcher::Watcher;

use domain::change_request::Observed;
use domain::repository::{KnownHost, Provider, Reach, Repository, reach};

/// The providers that are set up.
#[derive(Debug)]
pub struct Providers {
    hosts: Vec<KnownHost>,
    github: Github,
    gitlab: Gitlab,
}

impl Providers {
    /// # Errors
    ///
    /// When a token cannot be used.
    pub fn new(settings: &ProviderSettings) -> Result<Self, ProviderError> {
        Ok(Self {
            github: Github::new(&settings.github)?,
            gitlab: Gitlab::new(&settings.gitlab)?,
            hosts: settings.hosts(),
        })
    }

    /// A request as it is now; `remarks` reads what people wrote too.
    ///
    /// # Errors
    ///
    /// Typed.
    pub async fn observe(
        &self,
        repository: &Repository,
        number: i64,
        remarks: bool,
    ) -> Result<Observed, ProviderError> {
        let path = self.path(repository)?;
        match repository.provider {
            Provider::Github => self.github.observe(path, number, remarks).await,
            Provider::Gitlab => self.gitlab.observe(path, number, remarks).await,
            Provider::Unknown => Err(nobody()),
        }
    }

    /// Merges a request whose newest commit is still `head`.
    ///
    /// # Errors
    ///
    /// Typed.
    pub async fn merge(
        &self,
        repository: &Repository,
        number: i64,
        head: &str,
    ) -> Result<(), ProviderError> {
        let path = self.path(repository)?;
        match repository.provider {
            Provider::Github => self.github.merge(path, number, head).await,
            Provider::Gitlab => self.gitlab.merge(path, number, head).await,
            Provider::Unknown => Err(nobody()),
        }
    }

    /// Where the repository is with its provider, if that is reached.
    fn path<'a>(&self, repository: &'a Repository) -> Result<&'a str, ProviderError> {
        let provider = repository.provider;
        match reach(provider, repository.host.as_deref(), &self.hosts) {
            // Who asks without a token is told so there.
            Reach::Reached | Reach::NoToken => {
                repository.project_path.as_deref().ok_or_else(nobody)
            }
            Reach::Elsewhere(reached) => {
                let base = provider.base_variable().unwrap_or_default();
                Err(ProviderError::NotSetUp(format!(
                    "{base} reaches {reached}, and this repository is elsewhere"
                )))
            }
            Reach::Nobody => Err(nobody()),
        }
    }
}

fn nobody() -> ProviderError {
    ProviderError::NotSetUp("no provider keeps this repository".to_owned())
}
