//! The schema that migrations make of nothing. One record serves both engines, so it also shows that theirs is the same.

use crate::world::rows;
use std::collections::BTreeSet;
use store::{Engine, Store};

store::on_both_engines! {
    async fn the_schema_is_as_recorded(db: TestDb) {
        let shape = shape_of(&db.store).await.into_iter().collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!("schema", shape);
    }
}

/// Columns, keys, indexes and triggers in one form for both engines.
async fn shape_of(store: &Store) -> BTreeSet<String> {
    let mut shape = BTreeSet::new();
    match store.engine() {
        Engine::Sqlite => {
            for table in rows(
                store,
                "select name from sqlite_master where type = 'table' and name not like '%sql%'",
            )
            .await
            {
                let table = &table[0];
                let columns = rows(
                    store,
                    &format!("select name, type, \"notnull\", dflt_value, pk from pragma_table_info('{table}')"),
                )
                .await;
                let keys = columns.iter().filter(|column| column[4] != "0").count();
                for column in columns {
                    // A primary key is never null; SQLite says so for none of its own accord.
                    let is_key = column[4] != "0";
                    let not_null = column[2] == "1" || is_key;
                    // A key that is the row's own number has no index of its own.
                    if is_key && keys == 1 && column[1].eq_ignore_ascii_case("integer") {
                        shape.insert(format!("unique {table} {}", column[0]));
                    }
                    shape.insert(format!(
                        "column {table}.{} {} {} {}",
                        column[0],
                        column[1].to_lowercase(),
                        not_null,
                        column[3]
                    ));
                }
                let keys = rows(
                    store,
                    &format!("select \"from\", \"table\", \"to\", on_delete from pragma_foreign_key_list('{table}')"),
                )
                .await;
                for key in keys {
                    shape.insert(format!(
                        "foreign key {table}.{} {}.{} {}",
                        key[0], key[1], key[2], key[3]
                    ));
                }
                let implied = rows(
                    store,
                    &format!(
                        "select group_concat(i.name, ',') from pragma_index_list('{table}') l, pragma_index_info(l.name) i \
                         where l.origin <> 'c' group by l.name"
                    ),
                )
                .await;
                for columns in implied {
                    shape.insert(format!("unique {table} {}", columns[0]));
                }
            }
            for index in rows(
                store,
                "select sql from sqlite_master where type = 'index' and sql is not null",
            )
            .await
            {
                shape.insert(plain(&index[0]));
            }
            for trigger in rows(
                store,
                "select tbl_name, name from sqlite_master where type = 'trigger'",
            )
            .await
            {
                shape.insert(format!("trigger {} {}", trigger[0], trigger[1]));
            }
        }
        Engine::Postgres => {
            let columns = rows(
                store,
                "select t.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod), \
                 case when a.attnotnull then 'true' else 'false' end, pg_get_expr(d.adbin, d.adrelid) \
                 from pg_attribute a join pg_class t on t.oid = a.attrelid \
                 left join pg_attrdef d on d.adrelid = t.oid and d.adnum = a.attnum \
                 where t.relkind = 'r' and t.relnamespace = 'public'::regnamespace and a.attnum > 0 and not a.attisdropped \
                 and t.relname not like '%sql%'",
            )
            .await;
            for column in columns {
                // SQLite's integers have up to 64 bits.
                let kind = match column[2].as_str() {
                    "bigint" => "integer",
                    "integer" => "integer of 32 bits",
                    other => other,
                };
                let default = column[4].replace("::text", "");
                shape.insert(format!(
                    "column {}.{} {kind} {} {default}",
                    column[0], column[1], column[3]
                ));
            }
            let keys = rows(
                store,
                "select t.relname::text, a.attname::text, r.relname::text, b.attname::text, case c.confdeltype \
                 when 'c' then 'CASCADE' when 'n' then 'SET NULL' else 'NO ACTION' end from pg_constraint c \
                 join pg_class t on t.oid = c.conrelid join pg_class r on r.oid = c.confrelid \
                 join pg_attribute a on a.attrelid = t.oid and a.attnum = c.conkey[1] \
                 join pg_attribute b on b.attrelid = r.oid and b.attnum = c.confkey[1] where c.contype = 'f' and t.relnamespace = 'public'::regnamespace",
            )
            .await;
            for key in keys {
                shape.insert(format!(
                    "foreign key {}.{} {}.{} {}",
                    key[0], key[1], key[2], key[3], key[4]
                ));
            }
            let implied = rows(
                store,
                "select t.relname::text, (select string_agg(a.attname::text, ',' order by k.place) \
                 from unnest(c.conkey) with ordinality k (number, place) \
                 join pg_attribute a on a.attrelid = t.oid and a.attnum = k.number) \
                 from pg_constraint c join pg_class t on t.oid = c.conrelid \
                 where c.contype in ('u', 'p') and t.relnamespace = 'public'::regnamespace and t.relname not like '%sql%'",
            )
            .await;
            for unique in implied {
                shape.insert(format!("unique {} {}", unique[0], unique[1]));
            }
            let indexes = rows(
                store,
                "select pg_get_indexdef(i.indexrelid) from pg_index i join pg_class t on t.oid = i.indrelid \
                 where t.relnamespace = 'public'::regnamespace \
                 and not exists (select 1 from pg_constraint c where c.conindid = i.indexrelid and c.contype in ('u', 'p'))",
            )
            .await;
            for index in indexes {
                shape.insert(plain(&index[0]));
            }
            let triggers = rows(
                store,
                "select tgrelid::regclass::text, tgname::text from pg_trigger where not tgisinternal",
            )
            .await;
            for trigger in triggers {
                shape.insert(format!("trigger {} {}", trigger[0], trigger[1]));
            }
        }
    }
    shape
}

/// The text of an index without what only one of the engines writes.
fn plain(index: &str) -> String {
    let text = index
        .to_lowercase()
        .replace("public.", "")
        .replace(" using btree", "")
        .replace("::text", "")
        // How Postgres writes a list.
        .replace("= any (array[", "in (")
        .replace([']', '"'], "");
    text.split(|c: char| c.is_whitespace() || c == '(' || c == ')')
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
