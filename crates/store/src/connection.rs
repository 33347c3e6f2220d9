//! Connections: one writer and many readers, whichever the engine.
//!
//! **Writers take turns, on both engines.** SQLite has a single writer anyway: a [`Tx`] takes its write lock at the start
//! (`begin immediate`), so a transaction never has to be repeated because a read in it went stale. On Postgres a `Tx` takes
//! one advisory lock for its whole length. That costs concurrency that a board does not need, and buys three things that are
//! hard to have otherwise: transitions over several rows (child, parent, queues) cannot deadlock, what a rule was decided on
//! is still so when it is written, and ids of events grow in the order of commits, so "everything since N" misses nothing.
//! The versions and guards on rows stay, as the second wall. (`docs/decisions/0005-writers-take-turns.md`) AI jobs, which may
//! come by the thousand, take no turn on Postgres ([`Store::write_rows`]).
//!
//! **Acknowledged means on disk.** SQLite runs with WAL and `synchronous=full`; writers that wait for one another share a
//! commit (`group`). The one exception tells nobody anything: that a worker took a job ([`Store::write_rows_lightly`]).

use crate::group::{Turn, Writers};
use crate::wakeups::{Hearing, Wakeups};
use crate::{Engine, Result, StoreError, migrations};
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Any, AnyConnection, AnyPool, Connection, Executor, Transaction};
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// How to open a store.
#[derive(Debug, Clone)]
pub struct Options {
    /// `sqlite://PATH` or `postgres://…`.
    pub url: String,
    /// Connections for reading.
    pub readers: u32,
    /// SQLite only: refuse to grow beyond this many pages, to rehearse a full disk.
    pub max_pages: Option<u32>,
}

impl Options {
    /// Eight readers on the database at `url`.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            readers: 8,
            max_pages: None,
        }
    }

    /// The embedded database in `data_dir`, whatever characters are in its name.
    #[must_use]
    pub fn embedded(data_dir: &Path) -> Self {
        let file = data_dir.join("flightdeck.db");
        // In a relative path the URL's reader would take the first folder for a host. Without a current folder there is no
        // absolute one either; opening the file says so better than we can here.
        let file = std::path::absolute(&file).unwrap_or(file);
        let mut url = "sqlite://".to_owned();
        for byte in file.as_os_str().as_encoded_bytes() {
            match byte {
                b'/' | b'-' | b'_' | b'.' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                    url.push(char::from(*byte));
                }
                _ => url.push_str(&format!("%{byte:02X}")),
            }
        }
        Self::new(url)
    }
}

/// A database, open and up to date. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    engine: Engine,
    writer: Writer,
    readers: AnyPool,
    wakeups: Option<Wakeups>,
}

#[derive(Debug, Clone)]
enum Writer {
    Sqlite(Writers),
    Postgres {
        /// For those who take turns; most of them wait.
        turns: AnyPool,
        /// For those who do not, and must not wait for those who do.
        rows: AnyPool,
    },
}

/// How long a database that others are just making is waited for, and how often it is looked at.
const OPENING: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(20);

/// What is asked of AI jobs has the same plan whatever the values are, and planning it for each call costs more than doing it.
const PLAN_ONCE: &str = "set plan_cache_mode = force_generic_plan";

/// A connection that was not used for this long may have been cut.
const REST: Duration = Duration::from_secs(1);

/// The advisory lock that writers on Postgres take turns with; any fixed number serves.
const WRITER_LOCK: &str = "select pg_advisory_xact_lock(7014201)";

impl Store {
    /// Opens the database and brings its schema up to date.
    pub async fn open(options: &Options) -> Result<Self> {
        sqlx::any::install_default_drivers();
        let engine = match options.url.split_once(':').map(|(scheme, _)| scheme) {
            Some("sqlite") => Engine::Sqlite,
            Some("postgres" | "postgresql") => Engine::Postgres,
            _ => {
                return Err(StoreError::Config(
                    "the database URL must begin with sqlite:// or postgres://".to_owned(),
                ));
            }
        };
        let url = match engine {
            Engine::Sqlite if !options.url.contains('?') => format!("{}?mode=rwc", options.url),
            Engine::Sqlite | Engine::Postgres => options.url.clone(),
        };
        let connect = AnyConnectOptions::from_str(&url)
            .map_err(|_error| StoreError::Config("the database URL cannot be read".to_owned()))?;
        let max_pages = options.max_pages;
        let pool = |connections: u32| {
            AnyPoolOptions::new()
                .max_connections(connections)
                .acquire_timeout(Duration::from_secs(30))
                .after_connect(move |connection, _meta| {
                    Box::pin(prepare(connection, engine, max_pages))
                })
                // SQLite rolls some failed transactions back by itself (a full disk, an input error). The driver's own rollback
                // then fails and it goes on counting the transaction as open: such a connection cannot begin another one.
                // Whether a connection still stands is asked after a rest: a way to the server before each transaction costs more
                // than most of what is done there.
                .test_before_acquire(false)
                .before_acquire(|connection, meta| {
                    Box::pin(async move {
                        if connection.is_in_transaction() {
                            return Ok(false);
                        }
                        if meta.idle_for > REST {
                            connection.ping().await?;
                        }
                        Ok(true)
                    })
                })
        };
        // A connection outside of the pools, since a pool tries again for half a minute and then only says that it took too long.
        let mut first = open_first(&connect, engine, max_pages).await?;
        migrations::run(&mut first, engine).await?;
        first.close().await?;
        let writer = match engine {
            Engine::Sqlite => {
                Writer::Sqlite(Writers::new(pool(1).connect_lazy_with(connect.clone())))
            }
            Engine::Postgres => Writer::Postgres {
                turns: pool(4).connect_lazy_with(connect.clone()),
                rows: pool(8)
                    .after_connect(|connection, _meta| {
                        Box::pin(async move { connection.execute(PLAN_ONCE).await.map(drop) })
                    })
                    .connect_lazy_with(connect.clone()),
            },
        };
        let readers = pool(options.readers).connect_lazy_with(connect);
        let wakeups = match engine {
            Engine::Sqlite => None,
            Engine::Postgres => {
                let options = PgConnectOptions::from_str(&url).map_err(|_error| {
                    StoreError::Config("the database URL cannot be read".to_owned())
                })?;
                Some(Wakeups::new(options))
            }
        };
        Ok(Self {
            engine,
            writer,
            readers,
            wakeups,
        })
    }

    /// Which database this is.
    #[must_use]
    pub const fn engine(&self) -> Engine {
        self.engine
    }

    /// Opens a transaction that may write. Waits for its turn.
    pub async fn write(&self) -> Result<Tx> {
        let inner = match &self.writer {
            Writer::Sqlite(writers) => Inner::Shared(writers.begin().await?),
            Writer::Postgres { turns, .. } => {
                let mut tx = turns.begin_with("begin").await?;
                tx.execute(WRITER_LOCK).await?;
                Inner::Own(tx)
            }
        };
        Ok(self.writing(inner))
    }

    /// Opens a transaction that may write, beside others on Postgres: for AI jobs, each of which is a row that is held while
    /// somebody decides about it, and whose timelines are read job by job. SQLite has one writer in any case.
    pub async fn write_rows(&self) -> Result<Tx> {
        let inner = match &self.writer {
            Writer::Sqlite(writers) => Inner::Shared(writers.begin().await?),
            Writer::Postgres { rows, .. } => Inner::Own(rows.begin_with("begin").await?),
        };
        Ok(self.writing(inner))
    }

    /// As [`Store::write_rows`], for what is no loss when the machine fails right after: on Postgres its commit does not wait for the
    /// disk. Whatever is committed later is durable only together with it.
    pub async fn write_rows_lightly(&self) -> Result<Tx> {
        match &self.writer {
            Writer::Sqlite(_) => self.write_rows().await,
            Writer::Postgres { rows, .. } => {
                let begin = "begin; set local synchronous_commit = off";
                Ok(self.writing(Inner::Own(rows.begin_with(begin).await?)))
            }
        }
    }

    const fn writing(&self, inner: Inner) -> Tx {
        Tx(Snapshot {
            inner,
            engine: self.engine,
            writes: true,
        })
    }

    /// Waits until everything that a transaction may have seen so far is durable. Whoever answers from what it read in a
    /// transaction that it then dropped waits for this first: on SQLite it may have seen what is about to be committed.
    pub async fn settled(&self) -> Result<()> {
        match &self.writer {
            Writer::Sqlite(writers) => writers.settled().await,
            Writer::Postgres { .. } => Ok(()),
        }
    }

    /// Opens a view of the database at one moment. It may be a moment old and holds no lock.
    pub async fn read(&self) -> Result<Snapshot> {
        let inner = match self.engine {
            Engine::Sqlite => self.readers.begin_with("begin").await?,
            Engine::Postgres => {
                self.readers
                    .begin_with("begin transaction isolation level repeatable read, read only")
                    .await?
            }
        };
        Ok(Snapshot {
            inner: Inner::Own(inner),
            engine: self.engine,
            writes: false,
        })
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        self.readers.acquire().await?.ping().await?;
        Ok(())
    }

    /// Says a word to all nodes on this database. On SQLite there is no other.
    pub async fn say(&self, word: &str) -> Result<()> {
        match &self.wakeups {
            Some(wakeups) => wakeups.say(word).await,
            None => Ok(()),
        }
    }

    /// Begins to hear what nodes on this database say; nothing on SQLite, where there is no other.
    pub async fn hear(&self) -> Result<Option<Hearing>> {
        match &self.wakeups {
            Some(wakeups) => wakeups.hear().await.map(Some),
            None => Ok(None),
        }
    }

    /// Closes all connections; on SQLite this folds the log back into the file.
    pub async fn close(&self) {
        if let Some(wakeups) = &self.wakeups {
            wakeups.close().await;
        }
        self.readers.close().await;
        match &self.writer {
            Writer::Sqlite(writers) => writers.close().await,
            Writer::Postgres { turns, rows } => {
                turns.close().await;
                rows.close().await;
            }
        }
    }
}

/// The first connection, which also makes a new SQLite database a WAL one. While another process does just that, SQLite refuses
/// without heeding its busy timeout, so it is tried again here.
async fn open_first(
    connect: &AnyConnectOptions,
    engine: Engine,
    max_pages: Option<u32>,
) -> Result<AnyConnection> {
    let give_up = Instant::now() + OPENING;
    loop {
        let opened = async {
            let mut first = AnyConnection::connect_with(connect).await?;
            prepare(&mut first, engine, max_pages).await?;
            Ok(first)
        };
        match opened
            .await
            .map_err(|error| StoreError::opening(error, engine))
        {
            Err(StoreError::Unavailable(_))
                if engine == Engine::Sqlite && Instant::now() < give_up =>
            {
                tokio::time::sleep(AGAIN).await;
            }
            outcome => return outcome,
        }
    }
}

async fn prepare(
    connection: &mut AnyConnection,
    engine: Engine,
    max_pages: Option<u32>,
) -> std::result::Result<(), sqlx::Error> {
    if engine == Engine::Sqlite {
        connection
            .execute(
                "pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on; \
                 pragma busy_timeout = 10000; pragma temp_store = memory; pragma cache_size = -16000",
            )
            .await?;
        if let Some(pages) = max_pages {
            let pragma = sqlx::AssertSqlSafe(format!("pragma max_page_count = {pages}"));
            connection.execute(pragma).await?;
        }
    }
    Ok(())
}

/// A view of the database at one moment.
#[derive(Debug)]
pub struct Snapshot {
    inner: Inner,
    engine: Engine,
    writes: bool,
}

/// Whose transaction it is.
#[derive(Debug)]
enum Inner {
    /// Ours alone.
    Own(Transaction<'static, Any>),
    /// A turn in one that writers share.
    Shared(Turn),
}

impl Snapshot {
    pub(crate) fn connection(&mut self) -> &mut AnyConnection {
        match &mut self.inner {
            Inner::Own(tx) => tx,
            Inner::Shared(turn) => turn.connection(),
        }
    }

    /// The clause that holds the rows that are read for whoever may write them; nothing where there is one writer anyway.
    pub(crate) const fn lock_rows<'a>(&self, clause: &'a str) -> &'a str {
        match self.engine {
            Engine::Postgres if self.writes => clause,
            Engine::Postgres | Engine::Sqlite => "",
        }
    }

    /// Which database this is on.
    #[must_use]
    pub const fn engine(&self) -> Engine {
        self.engine
    }
}

/// A transaction that may write. Dropped without [`Tx::commit`], it leaves no trace.
///
/// **After a statement has failed, drop it.** Postgres refuses everything else in such a transaction, its commit included.
/// Who expects a refusal (a unique key that may be taken) looks first: writers take turns, so what was read holds.
#[derive(Debug)]
pub struct Tx(Snapshot);

impl Tx {
    /// Makes everything written durable and visible. An error means that nothing was.
    pub async fn commit(self) -> Result<()> {
        match self.0.inner {
            Inner::Own(mut tx) => {
                // Asked to commit after a failed statement, Postgres rolls back and reports success. Any query is refused
                // then.
                tx.execute("select 1").await?;
                Ok(tx.commit().await?)
            }
            Inner::Shared(turn) => turn.commit().await,
        }
    }
}

impl std::ops::Deref for Tx {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.0
    }
}

impl std::ops::DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut Snapshot {
        &mut self.0
    }
}
