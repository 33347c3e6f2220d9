use crate::world::{UNICODE, World, at, count, execute, read, write};
use domain::mcp_servers::{McpConfig, McpServer, Secrets};
use std::collections::BTreeMap;
use store::mcp_configs::{find, list, put};

fn config() -> McpConfig {
    let secrets = || Secrets(BTreeMap::from([("KEY".to_owned(), UNICODE.to_owned())]));
    let servers = BTreeMap::from([
        (
            "files".to_owned(),
            McpServer::Stdio {
                command: UNICODE.to_owned(),
                args: vec![UNICODE.to_owned()],
                env: secrets(),
            },
        ),
        (
            "web".to_owned(),
            McpServer::Http {
                url: "https://h".to_owned(),
                headers: secrets(),
            },
        ),
        (
            "old".to_owned(),
            McpServer::Sse {
                url: "https://h".to_owned(),
                headers: Secrets::default(),
            },
        ),
    ]);
    McpConfig {
        enabled: false,
        servers,
    }
}

store::on_both_engines! {
    async fn a_profile_keeps_its_servers_until_it_goes(db: TestDb) {
        let world = World::new(&db).await;
        let id = world.profile.id;
        let found = async || read(&db.store, async |db| find(db, id).await).await;
        assert_eq!(found().await, None);
        write(&db.store, async |tx| put(tx, id, &config(), at(1)).await).await.unwrap();
        assert_eq!(found().await, Some((config(), at(1))));
        assert_eq!(read(&db.store, async |db| list(db).await).await, [(id, config(), at(1))]);
        write(&db.store, async |tx| put(tx, id, &McpConfig::default(), at(2)).await).await.unwrap();
        assert_eq!(found().await, Some((McpConfig::default(), at(2))));
        write(&db.store, async |tx| store::agents::delete_profile(tx, id).await).await.unwrap();
        assert_eq!(count(&db.store, "mcp_configs").await, 0);
    }

    async fn servers_belong_to_a_profile_that_is_there(db: TestDb) {
        let orphan = domain::ids::ProfileId::new();
        let put = write(&db.store, async |tx| put(tx, orphan, &config(), at(1)).await).await;
        crate::world::assert_invariant(put);
        let world = World::new(&db).await;
        let odd = format!("insert into mcp_configs values ('{}', 2, '{{}}', 1)", world.profile.id);
        crate::world::assert_invariant(execute(&db.store, &odd).await);
    }
}
