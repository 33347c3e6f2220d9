//! Databases for tests: one of its own for each, on either engine, gone when the test is.
//!
//! [`on_both_engines!`](crate::on_both_engines) makes two tests of one function. Those on Postgres need a server in which
//! databases may be created, named by `FLIGHTDECK_TEST_POSTGRES_URL`; they are ignored unless asked for, and
//! `cargo xtask test` asks for them when it has started a server. A test gets a database rather than a schema, because the
//! lock that writers take turns with is the database's.

use crate::{Engine, Options, Result, Snapshot, Store, Tx, migrations};
use domain::ids::TaskId;
use sqlx::{AnyConnection, AssertSqlSafe, Connection, Executor, Row};
use tempfile::TempDir;

/// Makes of each function a test on SQLite, `sqlite::NAME`, and one on Postgres, `postgres::NAME`.
///
/// ```ignore
/// store::on_both_engines! {
///     async fn a_new_database_is_empty(db: TestDb) { … }
///     async fn it_outlives_a_restart(mut db: TestDb) { … db.reopen().await; … }
/// }
/// ```
///
/// Once a module, since it makes the modules `sqlite` and `postgres` in it. The crate that uses it needs tokio's
/// multi-thread runtime and macros among its dev-dependencies.
#[macro_export]
macro_rules! on_both_engines {
    ($($(#[$meta:meta])* async fn $name:ident($($db:ident)+: TestDb) $body:block)+) => {
        $(
            $(#[$meta])*
            async fn $name($($db)+: $crate::testing::TestDb) $body
        )+

        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::$name($crate::testing::TestDb::sqlite().await).await;
                }
            )+
        }

        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                #[ignore = "needs FLIGHTDECK_TEST_POSTGRES_URL"]
                async fn $name() {
                    super::$name($crate::testing::TestDb::postgres().await).await;
                }
            )+
        }
    };
}

/// A database of one test. Dropping it removes the database.
#[derive(Debug)]
pub struct TestDb {
    /// The open store. Replaced by [`TestDb::reopen`].
    pub store: Store,
    options: Options,
    // Below the store, so that its connections go first.
    _place: Place,
}

/// Where the database is, and what removes it.
#[derive(Debug)]
enum Place {
    Folder(#[expect(dead_code, reason = "held for its drop, which removes the folder")] TempDir),
    Server(#[expect(dead_code, reason = "held for its drop, which removes the database")] Database),
}

impl TestDb {
    /// A file in a folder of its own.
    pub async fn sqlite() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("flightdeck-test-")
            .tempdir()
            .expect("a temporary folder can be made");
        let options = Options::embedded(folder.path());
        Self::open(options, Place::Folder(folder)).await
    }

    /// A database of its own in the server of `FLIGHTDECK_TEST_POSTGRES_URL`.
    ///
    /// # Panics
    /// When the variable is not set or the server does not let us: the test asked for Postgres.
    pub async fn postgres() -> Self {
        let server = std::env::var("FLIGHTDECK_TEST_POSTGRES_URL").expect(
            "FLIGHTDECK_TEST_POSTGRES_URL names a server in which databases may be created",
        );
        let database = Database::create(server).await;
        let options = Options::new(database.url());
        Self::open(options, Place::Server(database)).await
    }

    async fn open(options: Options, place: Place) -> Self {
        let store = Store::open(&options)
            .await
            .expect("a new database can be opened");
        Self {
            store,
            options,
            _place: place,
        }
    }

    /// Closes the database and opens it again, as a restart of the server does.
    pub async fn reopen(&mut self) {
        self.store.close().await;
        self.store = self.open_again().await;
    }

    /// Opens the same database a second time, as another process does.
    pub async fn open_again(&self) -> Store {
        Store::open(&self.options)
            .await
            .expect("a database that was open can be opened again")
    }

    /// Where the database is, for a process of its own.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.options.url
    }

    /// How the store was opened.
    #[must_use]
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Which engine the test runs on.
    #[must_use]
    pub const fn engine(&self) -> Engine {
        self.store.engine()
    }
}

impl Tx {
    /// Executes statements that no function of this crate has, and counts the rows changed: for tests that break a row on
    /// purpose.
    pub async fn execute_raw(&mut self, sql: &str) -> Result<u64> {
        let done = self.connection().execute(AssertSqlSafe(sql)).await?;
        Ok(done.rows_affected())
    }
}

impl Snapshot {
    /// The rows of a query that no function of this crate has. Texts and integers only.
    pub async fn fetch_raw(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
        let rows = self.connection().fetch_all(AssertSqlSafe(sql)).await?;
        rows.iter()
            .map(|row| {
                (0..row.len())
                    .map(|column| match row.try_get::<Option<String>, _>(column) {
                        Ok(text) => Ok(text),
                        Err(_) => Ok(row
                            .try_get::<Option<i64>, _>(column)?
                            .map(|number| number.to_string())),
                    })
                    .collect()
            })
            .collect()
    }
}

/// A database in a server, removed on drop.
#[derive(Debug)]
struct Database {
    server: String,
    name: String,
}

impl Database {
    /// A copy of the template, which is many times faster than to go through all migrations for each test.
    async fn create(server: String) -> Self {
        let name = format!("flightdeck_test_{}", TaskId::new().uuid().simple());
        let template = Template::of(&server);
        let mut connection = connect(&server).await.expect("the server answers");
        template.ensure(&mut connection).await;
        let copy = format!(
            "create database {name} template {} {}",
            template.name,
            way_to_copy(&mut connection).await
        );
        connection
            .execute(AssertSqlSafe(copy))
            .await
            .expect("the server makes a database");
        connection.close().await.expect("the server says goodbye");
        Self { server, name }
    }

    fn url(&self) -> String {
        with_database(&self.server, &self.name)
    }

    async fn tell(&self, statement: &str) -> std::result::Result<(), sqlx::Error> {
        let mut connection = connect(&self.server).await?;
        connection.execute(AssertSqlSafe(statement)).await?;
        connection.close().await
    }
}

async fn connect(server: &str) -> std::result::Result<AnyConnection, sqlx::Error> {
    sqlx::any::install_default_drivers();
    AnyConnection::connect(server).await
}

/// Copying files is twice as fast as logging every page, which is what servers that have a choice (since 15) do unasked.
async fn way_to_copy(connection: &mut AnyConnection) -> &'static str {
    let row = connection
        .fetch_one("select current_setting('server_version_num')::bigint")
        .await;
    let version: i64 = row.expect("the server knows its version").get(0);
    if version < 150_000 {
        ""
    } else {
        "strategy file_copy"
    }
}

/// An empty database with today's schema, made by whichever test comes first to a server and left there.
struct Template {
    server: String,
    name: String,
}

impl Template {
    fn of(server: &str) -> Self {
        let digest = migrations::digest(Engine::Postgres);
        Self {
            server: server.to_owned(),
            name: format!("flightdeck_template_{}", &digest[..16]),
        }
    }

    async fn ensure(&self, connection: &mut AnyConnection) {
        // Tests are processes, so that the server is what they take turns in.
        connection
            .execute("select pg_advisory_lock(7300174219)")
            .await
            .expect("the server has locks");
        let there = format!("select 1 from pg_database where datname = '{}'", self.name);
        let there = connection.fetch_optional(AssertSqlSafe(there)).await;
        if there.expect("the server lists its databases").is_none() {
            self.make(connection).await;
        }
        connection
            .execute("select pg_advisory_unlock(7300174219)")
            .await
            .expect("the lock is ours");
    }

    /// Under another name until it is whole: a test that is killed in between leaves no half of a template.
    async fn make(&self, connection: &mut AnyConnection) {
        let raw = format!("{}_raw", self.name);
        for statement in [
            format!("drop database if exists {raw} with (force)"),
            format!("create database {raw} template template0"),
        ] {
            connection
                .execute(AssertSqlSafe(statement))
                .await
                .expect("the server makes a database");
        }
        let store = Store::open(&Options::new(with_database(&self.server, &raw)))
            .await
            .expect("a new database can be opened");
        store.close().await;
        connection
            .execute(AssertSqlSafe(format!(
                "alter database {raw} rename to {}",
                self.name
            )))
            .await
            .expect("nobody is connected to the new template");
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let statement = format!("drop database if exists {} with (force)", self.name);
        // A drop may happen inside of a runtime or after it, so it gets a thread and a runtime of its own.
        let dropped = std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    tokio::runtime::Builder::new_current_thread()
                        .enable_all()
                        .build()
                        .map_err(sqlx::Error::Io)?
                        .block_on(self.tell(&statement))
                })
                .join()
        });
        if let Ok(Err(error)) = dropped {
            // The test's outcome stands; what is left behind is a small database in a server made for tests.
            tracing::warn!(%error, database = self.name, "a test's database could not be removed");
        }
    }
}

/// The URL of another database in the same server.
fn with_database(server: &str, name: &str) -> String {
    let (address, parameters) = match server.split_once('?') {
        Some((address, parameters)) => (address, format!("?{parameters}")),
        None => (server, String::new()),
    };
    let host = address.find("://").map_or(0, |scheme| scheme + 3);
    let end = address[host..]
        .find('/')
        .map_or(address.len(), |slash| host + slash);
    format!("{}/{name}{parameters}", &address[..end])
}

#[cfg(test)]
mod tests {
    use super::with_database;

    #[test]
    fn only_the_database_of_a_url_is_replaced() {
        for (server, expected) in [
            ("postgres://u:p@h:5432/postgres", "postgres://u:p@h:5432/x"),
            ("postgres://h", "postgres://h/x"),
            ("postgres://h/", "postgres://h/x"),
            (
                "postgres:///db?host=/tmp&port=1",
                "postgres:///x?host=/tmp&port=1",
            ),
        ] {
            assert_eq!(with_database(server, "x"), expected);
        }
    }
}
