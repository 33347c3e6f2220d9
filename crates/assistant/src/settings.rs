//! Which models there are, from the environment (rulings 50, durable-jobs 12).
//!
//! Keys are read from the environment only: a settings file is shown by `--print-config` and copied about.

use crate::provider::{Endpoint, Kind};
use std::time::Duration;

/// How long a model may take for one answer.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The models, in the order in which they are asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// What can be asked.
    pub endpoints: Vec<Endpoint>,
    /// Each answer begins at the next of them; otherwise all begin at the first.
    pub round_robin: bool,
    /// What was set and cannot be used: sentences for the operator.
    pub problems: Vec<String>,
}

impl Settings {
    /// Reads this process's environment.
    #[must_use]
    pub fn from_env() -> Self {
        Self::read(|name| std::env::var(name).ok())
    }

    /// Reads the variables that `variable` knows; empty ones are not set.
    #[must_use]
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| {
            variable(name)
                .map(|value| value.trim().to_owned())
                .filter(|value| !value.is_empty())
        };
        let mut settings = Self::default();
        let chain = value("AI_PROVIDER_CHAIN").or_else(|| value("AI_PROVIDER"));
        let named: Vec<String> = chain
            .as_deref()
            .unwrap_or_default()
            .split(',')
            .map(|name| name.trim().to_lowercase())
            .filter(|name| !name.is_empty())
            .collect();
        if named.is_empty() {
            for kind in [Kind::OpenAi, Kind::Anthropic, Kind::Ollama] {
                if is_meant(kind, &value) {
                    settings.add(kind, &value);
                }
            }
        }
        for name in named {
            match name.as_str() {
                "openai" => settings.add(Kind::OpenAi, &value),
                "anthropic" => settings.add(Kind::Anthropic, &value),
                "ollama" => settings.add(Kind::Ollama, &value),
                // A user's own machine is no model; the engine knows what to do with it.
                "runner" => {}
                _ => settings.problems.push(format!(
                    "AI_PROVIDER_CHAIN names \"{name}\", which is none of openai, anthropic, ollama"
                )),
            }
        }
        match value("AI_PROVIDER_ROTATION").as_deref() {
            None | Some("none") => {}
            Some("round_robin") => settings.round_robin = true,
            Some(other) => settings.problems.push(format!(
                "AI_PROVIDER_ROTATION is \"{other}\", which is none of none, round_robin"
            )),
        }
        settings
    }

    fn add(&mut self, kind: Kind, value: &impl Fn(&str) -> Option<String>) {
        let (base, key, model, usual_base) = names(kind);
        let Some(models) = value(model) else {
            self.problems.push(format!(
                "{} is in use without a model: set {model}",
                kind.name()
            ));
            return;
        };
        let key = key.and_then(value);
        let base_url = value(base);
        if key.is_none() && base_url.is_none() && kind != Kind::Ollama {
            self.problems.push(format!(
                "{} is in use without a key or an address: set {} or {base}",
                kind.name(),
                names(kind).1.unwrap_or(base)
            ));
            return;
        }
        let base_url = base_url.unwrap_or_else(|| usual_base.to_owned());
        if !base_url.starts_with("http://") && !base_url.starts_with("https://") {
            self.problems
                .push(format!("{base} must begin with http:// or https://"));
            return;
        }
        let timeout = match kind {
            Kind::Ollama => value("OLLAMA_TIMEOUT_MS"),
            Kind::OpenAi | Kind::Anthropic => value("AI_PROVIDER_TIMEOUT_MS"),
        };
        let timeout = timeout
            .and_then(|ms| ms.parse().ok())
            .filter(|ms| *ms > 0)
            .map_or(TIMEOUT, Duration::from_millis);
        for model in models
            .split(',')
            .map(str::trim)
            .filter(|model| !model.is_empty())
        {
            self.endpoints.push(Endpoint {
                kind,
                base_url: base_url.trim_end_matches('/').to_owned(),
                key: key.clone(),
                model: model.to_owned(),
                timeout,
            });
        }
    }
}

/// Variables of address, key and model, and the usual address.
const fn names(
    kind: Kind,
) -> (
    &'static str,
    Option<&'static str>,
    &'static str,
    &'static str,
) {
    match kind {
        Kind::OpenAi => (
            "OPENAI_BASE_URL",
            Some("OPENAI_API_KEY"),
            "OPENAI_MODEL",
            "https://api.openai.com/v1",
        ),
        Kind::Anthropic => (
            "ANTHROPIC_BASE_URL",
            Some("ANTHROPIC_API_KEY"),
            "ANTHROPIC_MODEL",
            "https://api.anthropic.com",
        ),
        Kind::Ollama => (
            "OLLAMA_BASE_URL",
            None,
            "OLLAMA_MODEL",
            "http://127.0.0.1:11434",
        ),
    }
}

/// Without a chain, a model's name says that its provider is meant: keys alone may be there for other programs.
fn is_meant(kind: Kind, value: &impl Fn(&str) -> Option<String>) -> bool {
    value(names(kind).2).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn read(pairs: &[(&str, &str)]) -> Settings {
        let map: HashMap<String, String> = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Settings::read(|name| map.get(name).cloned())
    }

    fn order(settings: &Settings) -> Vec<(&'static str, &str)> {
        settings
            .endpoints
            .iter()
            .map(|one| (one.kind.name(), one.model.as_str()))
            .collect()
    }

    #[test]
    fn the_chain_orders_what_is_configured() {
        let all = [
            ("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1/"),
            ("OPENAI_MODEL", "big, small"),
            ("ANTHROPIC_API_KEY", "k"),
            ("ANTHROPIC_MODEL", "c"),
            ("OLLAMA_MODEL", "l"),
        ];
        let usual = read(&all);
        assert_eq!(
            order(&usual),
            [
                ("openai", "big"),
                ("openai", "small"),
                ("anthropic", "c"),
                ("ollama", "l")
            ]
        );
        assert_eq!(usual.endpoints[0].base_url, "http://127.0.0.1:8000/v1");
        assert_eq!(usual.problems, [""; 0]);
        let mut wished = all.to_vec();
        wished.push(("AI_PROVIDER_CHAIN", "ollama, Anthropic,runner,acme"));
        let wished = read(&wished);
        assert_eq!(order(&wished), [("ollama", "l"), ("anthropic", "c")]);
        assert_eq!(wished.problems.len(), 1);
        assert!(wished.problems[0].contains("\"acme\""));
    }

    #[test]
    fn models_share_the_work_when_that_is_wished() {
        assert!(read(&[("AI_PROVIDER_ROTATION", "round_robin")]).round_robin);
        assert!(!read(&[("AI_PROVIDER_ROTATION", "none")]).round_robin);
        let odd = read(&[("AI_PROVIDER_ROTATION", "dice")]);
        assert!(!odd.round_robin && odd.problems[0].contains("\"dice\""));
    }

    #[test]
    fn what_is_half_configured_is_said() {
        assert_eq!(read(&[("OPENAI_API_KEY", "k")]), Settings::default());
        for (pairs, names) in [
            (vec![("AI_PROVIDER", "ollama")], "OLLAMA_MODEL"),
            (vec![("OPENAI_MODEL", "m")], "OPENAI_API_KEY"),
            (
                vec![("OPENAI_MODEL", "m"), ("OPENAI_BASE_URL", "localhost:8000")],
                "OPENAI_BASE_URL",
            ),
        ] {
            let settings = read(&pairs);
            assert_eq!(settings.endpoints, []);
            assert!(
                settings.problems[0].contains(names),
                "{:?}",
                settings.problems
            );
        }
    }

    #[test]
    fn the_local_model_has_its_own_patience() {
        let settings = read(&[
            ("AI_PROVIDER", "ollama"),
            ("OLLAMA_MODEL", "l"),
            ("OLLAMA_TIMEOUT_MS", "5000"),
        ]);
        assert_eq!(settings.endpoints[0].timeout, Duration::from_secs(5));
        assert_eq!(settings.endpoints[0].base_url, "http://127.0.0.1:11434");
    }

    #[test]
    fn a_debug_print_shows_no_key() {
        let settings = read(&[
            ("OPENAI_MODEL", "m"),
            ("OPENAI_API_KEY", "s3cret"),
            ("OPENAI_BASE_URL", "http://u:s3cret@h"),
        ]);
        assert!(!format!("{settings:?}").contains("s3cret"));
    }
}
