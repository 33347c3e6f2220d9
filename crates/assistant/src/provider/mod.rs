//! Providers of models: thin clients over HTTP, one a wire format
//! ([why not a library](../../../../docs/decisions/0006-thin-model-clients.md)).
//!
//! | Module | Speaks |
//! |---|---|
//! | [`openai`] | the chat completions of OpenAI and of whoever is compatible |
//! | [`anthropic`] | Anthropic's messages |
//! | [`ollama`] | Ollama's chat; never gets a list of tools, calls are read from its text |
//! | [`http`] | one request: limits, time-outs, what a failure is |
//! | [`lines`] | streams of events and of JSON lines |
//!
//! What they promise: every failure is typed, with status and `Retry-After`; an answer that breaks off is a failure and never a
//! short answer; nothing waits longer than it may; no key is in an error, and none follows a redirect.

mod anthropic;
mod http;
mod lines;
mod ollama;
mod openai;

use crate::chat::{Chat, Reply};
use crate::error::{ProviderError, Trouble};
use http::Http;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Which wire a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Chat completions.
    OpenAi,
    /// Messages.
    Anthropic,
    /// Ollama's own.
    Ollama,
}

impl Kind {
    /// Its name in a chain.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Ollama => "ollama",
        }
    }

    /// Whether it is given tools natively. The others read in their instructions how to write a call.
    #[must_use]
    pub const fn native_tools(self) -> bool {
        match self {
            Self::OpenAi | Self::Anthropic => true,
            Self::Ollama => false,
        }
    }
}

/// How to reach a model.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Which wire it speaks.
    pub kind: Kind,
    /// Without a slash at the end.
    pub base_url: String,
    /// Goes to `base_url` only.
    pub key: Option<String>,
    /// The model.
    pub model: String,
    /// How long one request may take; of a stream, how long it may be silent.
    pub timeout: Duration,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Neither the key nor the address, which may hold one.
        f.debug_struct("Endpoint")
            .field("kind", &self.kind)
            .field("model", &self.model)
            .field("has_key", &self.key.is_some())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Takes the words of a reply while they come.
pub type Words = mpsc::UnboundedSender<String>;

/// A model that can be asked.
#[derive(Debug, Clone)]
pub struct Provider {
    endpoint: Endpoint,
    http: Http,
}

impl Provider {
    /// A client; nothing is sent yet.
    ///
    /// # Errors
    ///
    /// When the address cannot be used.
    pub fn new(endpoint: Endpoint) -> Result<Self, ProviderError> {
        let http = Http::new(&endpoint)?;
        Ok(Self { endpoint, http })
    }

    /// Which wire it speaks.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.endpoint.kind
    }

    /// Its name in the chain.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.endpoint.kind.name()
    }

    /// The model it asks.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.endpoint.model
    }

    /// Asks. With `words` the reply is streamed, and its words are handed on as they come; a reply that then fails was not one.
    ///
    /// `limit` is what is left of the caller's time; it can only shorten the provider's own time-out.
    ///
    /// # Errors
    ///
    /// When there is no complete reply; see [`Trouble`].
    pub async fn ask(
        &self,
        chat: &Chat,
        words: Option<&Words>,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<Reply, ProviderError> {
        let asked = async {
            match self.endpoint.kind {
                Kind::OpenAi => openai::ask(&self.http, &self.endpoint, chat, words).await,
                Kind::Anthropic => anthropic::ask(&self.http, &self.endpoint, chat, words).await,
                Kind::Ollama => ollama::ask(&self.http, &self.endpoint, chat, words).await,
            }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ProviderError::new(self.name(), Trouble::Canceled, "canceled")),
            asked = tokio::time::timeout(limit, asked) => asked.unwrap_or_else(|_| {
                Err(ProviderError::new(self.name(), Trouble::Timeout, "the time for this answer is over"))
            }),
        }
    }
}
