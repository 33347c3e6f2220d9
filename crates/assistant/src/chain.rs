//! Providers in the order in which they are asked.
//!
//! When one does not answer, the next is asked, unless it would answer the same (a refusal) or nobody waits any more. The one that
//! answered goes on with the conversation. With a rotation each answer begins at the next of them, so that they share the work.

use crate::chat::{Chat, Reply};
use crate::error::{ProviderError, Trouble};
use crate::provider::{Provider, Words};
use crate::settings::Settings;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The providers. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    providers: Vec<Provider>,
    /// How many answers were begun, when they are to go round.
    rotation: Option<Arc<AtomicUsize>>,
}

/// An answer and who gave it.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The answer.
    pub reply: Reply,
    /// The place of its provider in the chain.
    pub place: usize,
}

impl Chain {
    /// The chain that is configured; one without any provider is possible, and says so when asked.
    ///
    /// # Errors
    ///
    /// When an address cannot be used.
    pub fn new(settings: &Settings) -> Result<Self, ProviderError> {
        let providers = settings
            .endpoints
            .iter()
            .cloned()
            .map(Provider::new)
            .collect::<Result<_, _>>()?;
        Ok(Self {
            providers,
            rotation: settings.round_robin.then(Arc::default),
        })
    }

    /// The place at which the next answer begins.
    pub(crate) fn next_place(&self) -> usize {
        match &self.rotation {
            Some(begun) if !self.providers.is_empty() => {
                begun.fetch_add(1, Ordering::Relaxed) % self.providers.len()
            }
            _ => 0,
        }
    }

    /// Only the providers of these names, in their order: a wish is not rotated. No names are no wish; names of which none is configured too.
    #[must_use]
    pub fn ordered_by(&self, names: &[String]) -> Self {
        let providers: Vec<Provider> = names
            .iter()
            .flat_map(|name| {
                self.providers
                    .iter()
                    .filter(move |one| one.name() == name.trim())
            })
            .cloned()
            .collect();
        if providers.is_empty() {
            self.clone()
        } else {
            Self {
                providers,
                rotation: None,
            }
        }
    }

    /// Whether nobody can be asked.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.providers.is_empty()
    }

    /// The providers, in order.
    #[must_use]
    pub fn providers(&self) -> &[Provider] {
        &self.providers
    }

    /// Asks the provider at `from`, and those after it, and then those before it, until one answers.
    ///
    /// # Errors
    ///
    /// When none does: the failure that passes by itself if there was one, with the shortest advice to wait; the first otherwise.
    pub async fn ask(
        &self,
        chat: &Chat,
        from: usize,
        words: Option<&Words>,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Answered, ProviderError> {
        let mut failures: Vec<ProviderError> = Vec::new();
        let count = self.providers.len();
        for place in (0..count).map(|step| (from + step) % count) {
            let provider = &self.providers[place];
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                failures.push(out_of_time(provider.name()));
                break;
            }
            match ask_one(provider, chat, words, left, cancel, place != from).await {
                Ok(reply) => return Ok(Answered { reply, place }),
                Err(error) => {
                    let go_on = error.trouble.another_may_help();
                    tracing::warn!(provider = provider.name(), model = provider.model(), %error, "a model gave no answer");
                    failures.push(error);
                    if !go_on {
                        break;
                    }
                }
            }
        }
        Err(the_one_to_report(&failures))
    }
}

async fn ask_one(
    provider: &Provider,
    chat: &Chat,
    words: Option<&Words>,
    left: Duration,
    cancel: &CancellationToken,
    is_another: bool,
) -> Result<Reply, ProviderError> {
    let Some(words) = words else {
        return whole(provider, provider.ask(chat, None, left, cancel).await);
    };
    // What was heard of a failed answer cannot be taken back; the listener must see where the next begins.
    let (sender, mut heard) = mpsc::unbounded_channel();
    let asked = provider.ask(chat, Some(&sender), left, cancel);
    tokio::pin!(asked);
    let mut fresh = is_another;
    let mut pass_on = |piece: String| {
        let piece = if std::mem::take(&mut fresh) {
            format!("\n\n{piece}")
        } else {
            piece
        };
        let _ = words.send(piece);
    };
    let reply = loop {
        tokio::select! {
            biased;
            Some(piece) = heard.recv() => pass_on(piece),
            reply = &mut asked => break reply,
        }
    };
    while let Ok(piece) = heard.try_recv() {
        pass_on(piece);
    }
    whole(provider, reply)
}

/// Nothing at all is no answer; another provider may have one.
fn whole(provider: &Provider, reply: Result<Reply, ProviderError>) -> Result<Reply, ProviderError> {
    match reply {
        Ok(reply) if reply.text.trim().is_empty() && reply.calls.is_empty() => Err(
            ProviderError::new(provider.name(), Trouble::Empty, "the answer is empty"),
        ),
        other => other,
    }
}

fn out_of_time(provider: &str) -> ProviderError {
    ProviderError::new(
        provider,
        Trouble::Timeout,
        "the time for this answer is over",
    )
}

fn the_one_to_report(failures: &[ProviderError]) -> ProviderError {
    let last = failures
        .last()
        .filter(|last| !last.trouble.another_may_help());
    if let Some(last) = last {
        return last.clone();
    }
    let passing = failures
        .iter()
        .filter(|error| error.trouble.passes())
        .min_by_key(|error| error.retry_after.unwrap_or_default());
    match passing.or_else(|| failures.first()) {
        Some(error) => error.clone(),
        None => ProviderError::new(
            "assistant",
            Trouble::Setup,
            "no model is configured: set OPENAI_BASE_URL and OPENAI_MODEL, ANTHROPIC_API_KEY and ANTHROPIC_MODEL, or OLLAMA_MODEL",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(trouble: Trouble, retry_after: Option<u64>) -> ProviderError {
        ProviderError {
            retry_after: retry_after.map(Duration::from_secs),
            ..ProviderError::new("p", trouble, format!("{trouble:?}"))
        }
    }

    #[test]
    fn the_failure_that_passes_soonest_is_reported() {
        let told = |failures: &[(Trouble, Option<u64>)]| {
            let failures: Vec<_> = failures
                .iter()
                .map(|(t, after)| failure(*t, *after))
                .collect();
            the_one_to_report(&failures)
        };
        assert_eq!(
            told(&[(Trouble::Credentials, None), (Trouble::Server, None)]).trouble,
            Trouble::Server
        );
        let soonest = told(&[
            (Trouble::RateLimited, Some(40)),
            (Trouble::RateLimited, Some(5)),
        ]);
        assert_eq!(soonest.retry_after, Some(Duration::from_secs(5)));
        assert_eq!(
            told(&[(Trouble::Server, None), (Trouble::Refused, None)]).trouble,
            Trouble::Refused
        );
        assert_eq!(
            told(&[(Trouble::Credentials, None), (Trouble::Rejected, None)]).trouble,
            Trouble::Credentials
        );
        assert_eq!(told(&[]).trouble, Trouble::Setup);
    }
}
