//! Failures of storage, told apart as far as a caller can act on the difference.

use crate::Engine;
use sqlx::migrate::MigrateError;
use std::borrow::Cow;

/// Why a statement failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A unique constraint refused the row. Carries the constraint's name on Postgres and `table.column, …` on SQLite, which
    /// does not name its indexes.
    #[error("a row like this exists already ({0})")]
    Unique(String),
    /// A check, foreign key or trigger refused the row: a fault of ours, since rules are checked before writing.
    #[error("the database refused the row ({0})")]
    Invariant(String),
    /// The disk is full or the database may not grow. Nothing of the transaction was kept.
    #[error("the database cannot grow: free some disk space, nothing was lost")]
    Full(#[source] sqlx::Error),
    /// The database does not answer at present.
    #[error("the database is not available")]
    Unavailable(#[source] sqlx::Error),
    /// Another transaction was in the way, and the database ended this one: a deadlock, or an order that cannot be. Nothing of it
    /// was kept, and it can be tried again.
    #[error("another change was in the way: nothing was kept, try again")]
    Raced(#[source] sqlx::Error),
    /// A stored value cannot be read back.
    #[error("column {column} holds a value that cannot be read: {reason}")]
    Corrupt {
        /// The column.
        column: Cow<'static, str>,
        /// What is wrong with it.
        reason: String,
    },
    /// The schema could not be brought up to date.
    #[error("the database could not be migrated")]
    Migration(#[source] MigrateError),
    /// The database's address or folder is not usable.
    #[error("{0}")]
    Config(String),
    /// Anything else.
    #[error("a database statement failed")]
    Other(#[source] sqlx::Error),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::error::ErrorKind;
        match Fault::of(&error) {
            Fault::Full => return Self::Full(error),
            Fault::Unavailable => return Self::Unavailable(error),
            Fault::Raced => return Self::Raced(error),
            Fault::Access | Fault::Statement => {}
        }
        let Some(database) = error.as_database_error() else {
            return Self::Other(error);
        };
        match database.kind() {
            ErrorKind::UniqueViolation => Self::Unique(constraint(database)),
            ErrorKind::CheckViolation
            | ErrorKind::ForeignKeyViolation
            | ErrorKind::NotNullViolation => Self::Invariant(constraint(database)),
            // SQLite reports a trigger's `raise` as a plain constraint failure: SQLITE_CONSTRAINT_TRIGGER.
            _ if database.code().as_deref() == Some("1811") => {
                Self::Invariant(database.message().to_owned())
            }
            ErrorKind::ExclusionViolation | ErrorKind::Other | _ => Self::Other(error),
        }
    }
}

impl StoreError {
    /// An error of the first connection: what an operator can put right is said in words.
    pub(crate) fn opening(error: sqlx::Error, engine: Engine) -> Self {
        if matches!(error, sqlx::Error::Configuration(_)) {
            return Self::Config("the database URL cannot be read".to_owned());
        }
        match (Fault::of(&error), engine) {
            (Fault::Access, Engine::Sqlite) => Self::Config(
                "the database file cannot be opened: check that its folder exists, that it may be written to, and that the \
                 file is Flightdeck's"
                    .to_owned(),
            ),
            (Fault::Access, Engine::Postgres) => Self::Config(
                "the database server refuses the connection: check that user, password and database in its URL exist there"
                    .to_owned(),
            ),
            (Fault::Full | Fault::Unavailable | Fault::Raced | Fault::Statement, _) => {
                Self::from(error)
            }
        }
    }
}

/// What an error speaks of, apart from constraints.
enum Fault {
    /// No room left.
    Full,
    /// The database is busy, broken off or going down.
    Unavailable,
    /// It chose this transaction to let others go on.
    Raced,
    /// The database cannot be reached as asked for.
    Access,
    /// The statement.
    Statement,
}

impl Fault {
    fn of(error: &sqlx::Error) -> Self {
        if matches!(
            error,
            sqlx::Error::PoolTimedOut
                | sqlx::Error::PoolClosed
                | sqlx::Error::Io(_)
                | sqlx::Error::WorkerCrashed
        ) {
            return Self::Unavailable;
        }
        let code = error
            .as_database_error()
            .and_then(|database| database.code());
        code.map_or(Self::Statement, |code| Self::of_code(&code))
    }

    /// Postgres has five characters, the first two of which are a class. SQLite has a number, the lowest byte of which is the
    /// primary code; the rest only says more.
    fn of_code(code: &str) -> Self {
        if code.len() == 5 {
            return match code {
                // disk_full; 53 is lack of other resources, 08 a lost connection, 57P a server going down.
                "53100" => Self::Full,
                // serialization_failure, deadlock_detected.
                "40001" | "40P01" => Self::Raced,
                // undefined database; 28 is a refused user or password.
                "3D000" => Self::Access,
                _ if code.starts_with("08")
                    || code.starts_with("53")
                    || code.starts_with("57P") =>
                {
                    Self::Unavailable
                }
                _ if code.starts_with("28") => Self::Access,
                _ => Self::Statement,
            };
        }
        match code.parse::<u32>().map(|code| code & 0xff) {
            Ok(13) => Self::Full,
            // BUSY, LOCKED, IOERR.
            Ok(5 | 6 | 10) => Self::Unavailable,
            // READONLY, CANTOPEN, NOTADB.
            Ok(8 | 14 | 26) => Self::Access,
            _ => Self::Statement,
        }
    }
}

impl From<MigrateError> for StoreError {
    /// A disk that is full or a database that is busy is that, also while the schema is brought up to date.
    fn from(error: MigrateError) -> Self {
        let (MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _)) = error
        else {
            return Self::Migration(error);
        };
        match Fault::of(&source) {
            Fault::Full => Self::Full(source),
            Fault::Unavailable => Self::Unavailable(source),
            Fault::Raced | Fault::Access | Fault::Statement => {
                Self::Migration(MigrateError::Execute(source))
            }
        }
    }
}

/// Postgres names the constraint; SQLite mostly just the columns.
fn constraint(error: &dyn sqlx::error::DatabaseError) -> String {
    error.constraint().map_or_else(
        || {
            error
                .message()
                .trim_start_matches("UNIQUE constraint failed: ")
                .to_owned()
        },
        str::to_owned,
    )
}

/// What became of a guarded write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Write {
    /// The row was as expected and is written.
    Changed,
    /// The row is there, but somebody was faster.
    Stale,
}

impl Write {
    pub(crate) const fn from_rows(rows: u64) -> Self {
        if rows == 0 {
            Self::Stale
        } else {
            Self::Changed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Fault;

    #[test]
    fn a_transaction_that_made_way_for_another_is_not_a_fault_of_its_statement() {
        for code in ["40001", "40P01"] {
            assert!(matches!(Fault::of_code(code), Fault::Raced), "{code}");
        }
        // SQLite's own numbers, and other classes of Postgres.
        for code in ["40", "40002", "23505", "42P01"] {
            assert!(!matches!(Fault::of_code(code), Fault::Raced), "{code}");
        }
    }
}
