//! Which providers are reached, from the environment: tokens stand in no file that `--print-config` shows.

use domain::repository::{KnownHost, Provider};

/// The usual address of GitHub's API; its repositories are shown elsewhere.
const GITHUB: &str = "https://api.github.com";
const GITLAB: &str = "https://gitlab.com/api/v4";

/// How one provider is reached.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    /// Address of the REST API, without a slash at the end.
    pub base_url: String,
    /// Whose eyes it is seen with; without one, nobody's.
    pub token: Option<String>,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Account").finish_non_exhaustive()
    }
}

impl Account {
    /// The server whose repositories it reaches, as it stands in their addresses.
    #[must_use]
    pub fn host(&self) -> String {
        if self.base_url == GITHUB {
            return "github.com".to_owned();
        }
        let rest = self.base_url.split("://").nth(1).unwrap_or_default();
        rest.split('/')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase()
    }
}

/// Both providers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSettings {
    /// GitHub.
    pub github: Account,
    /// GitLab.
    pub gitlab: Account,
}

impl Default for ProviderSettings {
    fn default() -> Self {
        Self::read(|_name| None)
    }
}

impl ProviderSettings {
    /// Reads this process's environment.
    #[must_use]
    pub fn from_env() -> Self {
        Self::read(|name| std::env::var(name).ok())
    }

    /// Reads the variables that `variable` knows; empty ones are not set.
    #[must_use]
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: Option<&str>| crate::environment::value(&variable, name?);
        let account = |provider: Provider, usual: &str| Account {
            base_url: value(provider.base_variable())
                .unwrap_or_else(|| usual.to_owned())
                .trim_end_matches('/')
                .to_owned(),
            token: value(provider.token_variable()),
        };
        let (github, gitlab) = (Provider::Github, Provider::Gitlab);
        Self {
            github: account(github, GITHUB),
            gitlab: account(gitlab, GITLAB),
        }
    }

    /// The servers whose repositories are theirs.
    #[must_use]
    pub fn hosts(&self) -> Vec<KnownHost> {
        [
            (&self.github, Provider::Github),
            (&self.gitlab, Provider::Gitlab),
        ]
        .into_iter()
        .map(|(account, provider)| KnownHost {
            host: account.host(),
            provider,
            has_token: account.token.is_some(),
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_reached_where_the_environment_says_and_no_token_is_shown() {
        let usual = ProviderSettings::default();
        assert_eq!(
            (usual.github.host(), usual.gitlab.host()),
            ("github.com".to_owned(), "gitlab.com".to_owned())
        );
        assert_eq!(usual.github.token, None);
        let own = ProviderSettings::read(|name| {
            Some(match name {
                "GITHUB_API_BASE" => "https://GHE.example/api/v3/".to_owned(),
                "GITHUB_TOKEN" => " s3cret ".to_owned(),
                _ => String::new(),
            })
        });
        assert_eq!(own.github.host(), "ghe.example");
        assert_eq!(own.github.base_url, "https://GHE.example/api/v3");
        assert_eq!(own.github.token.as_deref(), Some("s3cret"));
        assert_eq!(own.gitlab, usual.gitlab);
        let tokens: Vec<bool> = own.hosts().iter().map(|known| known.has_token).collect();
        assert_eq!(tokens, [true, false]);
        assert!(!format!("{own:?}").contains("s3cret"));
    }
}
