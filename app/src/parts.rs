//! Parts of the app that lie in files of their own, and come when they are first shown.
//!
//! A page that is a [`Part`] has one entry, a function marked `#[wasm_split]`: what only it reaches is not in the first file. The
//! function is asynchronous to its caller and is ready at once when the part is there, which it always is on the server. So a
//! page is hydrated in one go: [`arrive`] fetches the part of the address before. On a way within the app it is shown by
//! [`crate::lazy::view`].
//!
//! What such a page begins with is [`crate::carried::Carried`] to it. The dialogs of the frame are a part too, but no page's.

use crate::error::AppError;
use crate::{pages, paths};

/// A part that has files of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The page of a task.
    Task,
    /// The page of what needs the operator.
    Inbox,
    /// The conversation with the assistant.
    Assistant,
    /// The pages of AI jobs.
    Jobs,
    /// The pages of outside clients' runs.
    Runs,
    /// The page of settings.
    Settings,
}

impl Part {
    /// The part that the page at this path is made by; `None` for those that are in the first file.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        match path {
            paths::INBOX => Some(Self::Inbox),
            paths::ASSISTANT => Some(Self::Assistant),
            paths::JOBS => Some(Self::Jobs),
            paths::RUNS => Some(Self::Runs),
            paths::SETTINGS => Some(Self::Settings),
            _ if paths::job_of(path).is_some() => Some(Self::Jobs),
            _ if paths::run_of(path).is_some() => Some(Self::Runs),
            _ => paths::task_of(path).map(|_| Self::Task),
        }
    }

    /// Its name in `#[wasm_split]`, by which the build lists its files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Inbox => "inbox",
            Self::Assistant => "assistant",
            Self::Jobs => "jobs",
            Self::Runs => "runs",
            Self::Settings => "settings",
        }
    }

    /// Fetches it. A failed attempt leaves no trace; the next one begins anew.
    ///
    /// # Errors
    ///
    /// Unavailable, when its files do not come.
    pub async fn fetch(self) -> Result<(), AppError> {
        match self {
            Self::Task => pages::task::preload().await?,
            Self::Inbox => pages::inbox::preload().await?,
            Self::Assistant => pages::assistant::preload().await?,
            Self::Jobs => pages::jobs::fetch().await?,
            Self::Runs => pages::runs::fetch().await?,
            Self::Settings => pages::settings::preload().await?,
        }
        Ok(())
    }
}

/// Fetches what the page at this path is hydrated by.
///
/// # Errors
///
/// Unavailable, when its files do not come. The page must not be hydrated without them.
pub async fn arrive(path: &str) -> Result<(), AppError> {
    match Part::of_path(path) {
        Some(part) => part.fetch().await,
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ids::{RunId, TaskId};

    #[test]
    fn the_board_is_in_the_first_file_and_a_task_is_not() {
        assert_eq!(Part::of_path(paths::HOME), None);
        assert_eq!(Part::of_path(&paths::task(TaskId::new())), Some(Part::Task));
        assert_eq!(Part::of_path(paths::INBOX), Some(Part::Inbox));
        assert_eq!(Part::of_path(paths::ASSISTANT), Some(Part::Assistant));
        assert_eq!(Part::of_path(paths::SETTINGS), Some(Part::Settings));
        for path in [paths::JOBS.to_owned(), paths::job("aij_1"), paths::job("7")] {
            assert_eq!(Part::of_path(&path), Some(Part::Jobs), "{path}");
        }
        for path in [paths::RUNS.to_owned(), paths::run(RunId::new())] {
            assert_eq!(Part::of_path(&path), Some(Part::Runs), "{path}");
        }
    }
}
