//! What an agent may see of the server's own troubles: the last log lines, freed of secrets.
//!
//! The lines are kept in memory only, as many as fit; the oldest go first. What pages report of themselves is logged like
//! everything else, under a target of its own, and told apart by it here.

pub use domain::redact::redact;

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Lines kept of each side.
const MOST_LINES: usize = 300;
/// Longest line kept, in bytes; the rest is cut.
const LONGEST_LINE: usize = 2 * 1024;

/// Which side a line is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The server.
    Backend,
    /// A page in a browser.
    Frontend,
}

#[derive(Debug, Default)]
struct Lines {
    kept: VecDeque<String>,
    dropped: u64,
}

impl Lines {
    fn push(&mut self, line: String) {
        if self.kept.len() == MOST_LINES {
            self.kept.pop_front();
            self.dropped += 1;
        }
        self.kept.push_back(line);
    }
}

/// The last lines of both sides. Cheap to clone; all clones share them.
#[derive(Debug, Clone, Default)]
pub struct LogBook(Arc<Mutex<[Lines; 2]>>);

static BOOK: LazyLock<LogBook> = LazyLock::new(LogBook::default);

impl LogBook {
    /// The book of this process.
    #[must_use]
    pub fn of_process() -> Self {
        BOOK.clone()
    }

    /// Keeps a line, without secrets and not longer than is read.
    pub fn note(&self, side: Side, line: &str) {
        let mut line = redact(line);
        if line.len() > LONGEST_LINE {
            let mut end = LONGEST_LINE;
            while !line.is_char_boundary(end) {
                end -= 1;
            }
            line.truncate(end);
            line.push('…');
        }
        // Nothing is left half done while it is held.
        let mut sides = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sides[side as usize].push(line);
    }

    /// The lines of a side, oldest first, and how many older ones are gone.
    #[must_use]
    pub fn lines(&self, side: Side) -> (Vec<String>, u64) {
        let sides = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = &sides[side as usize];
        (lines.kept.iter().cloned().collect(), lines.dropped)
    }
}

/// Writes what is logged into a book.
#[derive(Debug)]
pub struct Recorder {
    book: LogBook,
    clock: board::Clock,
}

impl Recorder {
    /// Into the book of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self::new(LogBook::of_process(), board::Clock::system())
    }

    /// Into a book of one's own.
    #[must_use]
    pub const fn new(book: LogBook, clock: board::Clock) -> Self {
        Self { book, clock }
    }
}

impl<S: Subscriber> Layer<S> for Recorder {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let about = event.metadata();
        let mut line = format!("{} {} {}", self.clock.now(), about.level(), about.target());
        event.record(&mut Fields(&mut line));
        let side = if about.target() == app::api::setup::FAULTS {
            Side::Frontend
        } else {
            Side::Backend
        };
        self.book.note(side, &line);
    }
}

/// Puts the fields of an event behind its line.
struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        // Writing into a string cannot fail.
        let _ = if field.name() == "message" {
            write!(self.0, " {value:?}")
        } else {
            write!(self.0, " {}={value:?}", field.name())
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::time::Timestamp;
    use tracing_subscriber::layer::SubscriberExt;

    #[test]
    fn what_is_logged_is_kept_by_side_and_without_secrets() {
        let book = LogBook::default();
        let clock = board::Clock::stepped(Timestamp::from_millis(0));
        let subscriber = tracing_subscriber::registry().with(Recorder::new(book.clone(), clock));
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(api_token = "s3cret", task = 7, "it failed");
            tracing::warn!(target: app::api::setup::FAULTS, "a page broke");
        });
        let (backend, dropped) = book.lines(Side::Backend);
        assert_eq!(dropped, 0);
        assert_eq!(backend.len(), 1);
        assert!(
            backend[0].starts_with("1970-01-01T00:00:00.000Z WARN "),
            "{}",
            backend[0]
        );
        assert!(backend[0].contains("it failed") && backend[0].contains("task=7"));
        assert!(!backend[0].contains("s3cret"), "{}", backend[0]);
        let (frontend, _) = book.lines(Side::Frontend);
        assert!(frontend[0].ends_with("a page broke"), "{frontend:?}");
    }

    #[test]
    fn the_oldest_lines_go_first_and_long_ones_are_cut() {
        let book = LogBook::default();
        for number in 0..MOST_LINES + 5 {
            book.note(Side::Backend, &format!("line {number}"));
        }
        let (lines, dropped) = book.lines(Side::Backend);
        assert_eq!((lines.len(), dropped), (MOST_LINES, 5));
        assert_eq!(lines[0], "line 5");
        book.note(Side::Frontend, &"é".repeat(LONGEST_LINE));
        assert!(book.lines(Side::Frontend).0[0].len() <= LONGEST_LINE + 3);
    }
}
