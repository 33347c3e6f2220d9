use crate::world::{UNICODE, World, agent, assert_unique, at, profile, read, write};
use domain::agent::{Agent, AgentProfile};
use domain::ids::{AgentId, ProfileId};
use std::collections::BTreeMap;
use store::agents::{
    find, find_profile, insert, insert_profile, list, profiles, set_supports_mcp, update_command,
};

store::on_both_engines! {
    async fn an_agent_is_read_as_it_was_written(db: TestDb) {
        let bare = agent("Bare");
        let whole = Agent {
            command: UNICODE.to_owned(),
            args: vec![String::new(), UNICODE.to_owned()],
            env: BTreeMap::from([("KEY".to_owned(), UNICODE.to_owned())]),
            supports_mcp: Some(false),
            created_at: at(1),
            updated_at: at(2),
            ..agent(UNICODE)
        };
        write(&db.store, async |tx| {
            insert(tx, &whole).await?;
            insert(tx, &bare).await
        })
        .await
        .unwrap();
        assert_eq!(read(&db.store, async |db| find(db, bare.id).await).await.as_ref(), Some(&bare));
        assert_eq!(read(&db.store, async |db| find(db, whole.id).await).await.as_ref(), Some(&whole));
        assert_eq!(read(&db.store, async |db| find(db, AgentId::new()).await).await, None);
        assert_eq!(read(&db.store, async |db| list(db).await).await, [bare, whole]);
    }

    async fn two_agents_cannot_have_one_name(db: TestDb) {
        let first = agent("Demo");
        write(&db.store, async |tx| insert(tx, &first).await).await.unwrap();
        assert_unique(write(&db.store, async |tx| insert(tx, &agent("Demo")).await).await);
        assert_eq!(read(&db.store, async |db| list(db).await).await, [first]);
    }

    async fn the_command_line_of_an_agent_can_be_changed(db: TestDb) {
        let other = agent("Other");
        let mut changed = agent("Changed");
        write(&db.store, async |tx| {
            insert(tx, &changed).await?;
            insert(tx, &other).await
        })
        .await
        .unwrap();
        changed.command = "else".to_owned();
        changed.args = vec!["--flag".to_owned()];
        changed.env = BTreeMap::from([("A".to_owned(), "b".to_owned())]);
        changed.updated_at = at(5);
        write(&db.store, async |tx| update_command(tx, &changed).await).await.unwrap();
        assert_eq!(read(&db.store, async |db| find(db, changed.id).await).await, Some(changed));
        assert_eq!(read(&db.store, async |db| find(db, other.id).await).await, Some(other));
    }

    async fn what_a_handshake_shows_is_news_once(db: TestDb) {
        let agent = agent("Demo");
        write(&db.store, async |tx| insert(tx, &agent).await).await.unwrap();
        let note = async |supports, now| {
            write(&db.store, async |tx| set_supports_mcp(tx, agent.id, supports, now).await).await.unwrap()
        };
        assert!(note(true, at(1)).await, "unknown before");
        assert!(!note(true, at(2)).await);
        assert!(note(false, at(3)).await);
        assert!(!note(false, at(4)).await);
        let now = read(&db.store, async |db| find(db, agent.id).await).await.unwrap();
        assert_eq!(now, Agent { supports_mcp: Some(false), updated_at: at(3), ..agent });
    }

    async fn a_profile_is_read_as_it_was_written(db: TestDb) {
        let world = World::new(&db).await;
        let whole = AgentProfile {
            model: Some(UNICODE.to_owned()),
            mode: Some("plan".to_owned()),
            passthrough: true,
            created_at: at(1),
            updated_at: at(2),
            ..profile(world.agent.id, UNICODE)
        };
        write(&db.store, async |tx| insert_profile(tx, &whole).await).await.unwrap();
        assert_eq!(read(&db.store, async |db| find_profile(db, whole.id).await).await.as_ref(), Some(&whole));
        assert_eq!(read(&db.store, async |db| find_profile(db, ProfileId::new()).await).await, None);
        assert_eq!(read(&db.store, async |db| profiles(db).await).await, [world.profile, whole]);
    }

    async fn an_agent_cannot_have_two_profiles_of_one_name(db: TestDb) {
        let world = World::new(&db).await;
        let other = agent("Other");
        write(&db.store, async |tx| {
            insert(tx, &other).await?;
            insert_profile(tx, &profile(other.id, &world.profile.name)).await
        })
        .await
        .unwrap();
        assert_unique(
            write(&db.store, async |tx| insert_profile(tx, &profile(other.id, &world.profile.name)).await).await,
        );
    }
}
