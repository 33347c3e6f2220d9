//! Which ways there are, from the environment: tokens and secrets stand in no file that `--print-config` shows.

/// Discord.
#[derive(Clone, PartialEq, Eq)]
pub struct DiscordSettings {
    /// Address of the REST API, without a slash at the end.
    pub base_url: String,
    /// The bot's token.
    pub token: String,
}

/// A service that takes answers.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSettings {
    /// Where it listens.
    pub url: String,
    /// What requests are signed with.
    pub secret: String,
}

/// All ways. The app itself needs no settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliverySettings {
    /// Discord, when there is a bot.
    pub discord: Option<DiscordSettings>,
    /// The service, when there is one.
    pub webhook: Option<WebhookSettings>,
}

impl std::fmt::Debug for DiscordSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiscordSettings").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for WebhookSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookSettings").finish_non_exhaustive()
    }
}

impl DeliverySettings {
    /// Reads this process's environment.
    #[must_use]
    pub fn from_env() -> Self {
        Self::read(|name| std::env::var(name).ok())
    }

    /// Reads the variables that `variable` knows; empty ones are not set.
    #[must_use]
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| crate::environment::value(&variable, name);
        let discord = value("DISCORD_BOT_TOKEN").map(|token| DiscordSettings {
            base_url: value("DISCORD_API_BASE")
                .unwrap_or_else(|| "https://discord.com/api/v10".to_owned())
                .trim_end_matches('/')
                .to_owned(),
            token,
        });
        // Without a secret nobody could tell our requests from anybody's, so there is no way without it.
        let webhook = value("AI_WEBHOOK_URL")
            .zip(value("AI_WEBHOOK_SECRET"))
            .map(|(url, secret)| WebhookSettings { url, secret });
        Self { discord, webhook }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> DeliverySettings {
        DeliverySettings::read(|name| {
            let found = pairs.iter().find(|(known, _)| *known == name)?;
            Some(found.1.to_owned())
        })
    }

    #[test]
    fn a_way_exists_when_all_that_it_needs_is_set() {
        assert_eq!(
            read(&[
                ("DISCORD_API_BASE", "http://x"),
                ("AI_WEBHOOK_URL", "http://y")
            ]),
            DeliverySettings::default()
        );
        let all = read(&[
            ("DISCORD_BOT_TOKEN", " t "),
            ("DISCORD_API_BASE", "http://x/"),
            ("AI_WEBHOOK_URL", "http://y"),
            ("AI_WEBHOOK_SECRET", "s3cret"),
        ]);
        let discord = all.discord.as_ref().unwrap();
        assert_eq!(
            (discord.base_url.as_str(), discord.token.as_str()),
            ("http://x", "t")
        );
        assert!(all.webhook.is_some());
        assert!(!format!("{all:?}").contains("s3cret"));
        assert_eq!(
            read(&[("DISCORD_BOT_TOKEN", "t")])
                .discord
                .unwrap()
                .base_url,
            "https://discord.com/api/v10"
        );
    }
}
