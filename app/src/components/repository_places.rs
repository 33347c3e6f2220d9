//! Where a repository is, in small.

use crate::i18n::{Locale, t};
use domain::repository::{Provider, TaskRepository};
use leptos::prelude::*;

/// What a provider is called; nothing for one that nobody knows.
#[must_use]
pub fn provider_name(locale: Locale, provider: Provider) -> Option<&'static str> {
    match provider {
        Provider::Github => Some(t!(locale, repository.github)),
        Provider::Gitlab => Some(t!(locale, repository.gitlab)),
        Provider::Unknown => None,
    }
}

/// With whom it is, on which branch work begins, and where it is on this machine.
#[must_use]
pub fn repository_places(locale: Locale, repository: TaskRepository) -> AnyView {
    let whose = provider_name(locale, repository.provider).map(str::to_owned);
    let path = repository
        .project_path
        .filter(|path| *path != repository.name);
    let branch = repository
        .default_branch
        .map(|branch| t!(locale, repository.branch_is, branch = branch));
    let facts: Vec<String> = [whose.or(repository.host), path, branch]
        .into_iter()
        .flatten()
        .collect();
    let folder = repository
        .local_path
        .map(|path| view! { <p class="text-12 text-muted font-mono break-all">{path}</p> });
    view! {
        <p class="text-12 text-muted break-words" hidden=facts.is_empty()>{facts.join(" · ")}</p>
        {folder}
    }
    .into_any()
}
