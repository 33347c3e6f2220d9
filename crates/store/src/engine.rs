//! Which database a store is on.

/// The database behind a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Embedded, one file.
    Sqlite,
    /// A server.
    Postgres,
}
