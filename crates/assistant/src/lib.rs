//! The assistant: a model that answers messages and calls tools, and never claims what it has not done.
//!
//! It knows models, tools and promises, and no board, no store and no server. Its two users are the executor of AI jobs, in process,
//! and `flightdeck assistant-agent`, which offers it as an ACP agent.
//!
//! | Module | For |
//! |---|---|
//! | [`turn`] | one answer: model, calls, limits, guard |
//! | [`intent`], [`guard`] | whether something was asked for, and what may be said of it |
//! | [`preview`] | what waits for a user's consent |
//! | [`toolbox`] | the seam behind which tools are |
//! | [`call`], [`prose`], [`spec`] | calls on the wire and in text, and the schemas of parameters |
//! | [`chain`], [`provider`], [`settings`] | which models are asked, how, and where they are |
//! | [`chat`], [`error`] | what is said to a model, and why there was no answer |

pub mod call;
pub mod chain;
pub mod chat;
pub mod error;
pub mod guard;
pub mod intent;
pub mod preview;
pub mod prose;
pub mod provider;
pub mod settings;
pub mod spec;
#[cfg(feature = "testing")]
pub mod testing;
pub mod toolbox;
pub mod turn;

pub use chain::Chain;
pub use error::{ProviderError, Trouble};
pub use settings::Settings;
pub use toolbox::{CallContext, Effect, Ending, ToolAnswer, ToolSpec, Toolbox};
pub use turn::{Answer, Ask, Limits, Progress, answer};
