use crate::world::{
    UNICODE, World, agent, assert_invariant, assert_unique, at, profile, read, write,
};
use domain::agent::{Agent, AgentProfile, ProfileUse};
use domain::ids::{AgentId, ProfileId};
use std::collections::BTreeMap;
use store::agents::{
    delete_profile, find, find_profile, insert, insert_profile, list, profile_use, profiles,
    set_supports_mcp, set_supports_mcp_override, update_command, update_profile,
};

store::on_both_engines! {
    async fn an_agent_is_read_as_it_was_written(db: TestDb) {
        let bare = agent("Bare");
        let whole = Agent {
            command: UNICODE.to_owned(),
            args: vec![String::new(), UNICODE.to_owned()],
            env: BTreeMap::from([("KEY".to_owned(), UNICODE.to_owned())]),
            supports_mcp: Some(false),
            supports_mcp_override: Some(true),
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

    async fn what_somebody_knows_better_than_a_handshake_stands_beside_it(db: TestDb) {
        let agent = agent("Demo");
        write(&db.store, async |tx| insert(tx, &agent).await).await.unwrap();
        for (known, now) in [(Some(true), at(1)), (Some(false), at(2)), (None, at(3))] {
            write(&db.store, async |tx| set_supports_mcp_override(tx, agent.id, known, now).await).await.unwrap();
            let found = read(&db.store, async |db| find(db, agent.id).await).await.unwrap();
            assert_eq!(found, Agent { supports_mcp_override: known, updated_at: now, ..agent.clone() });
        }
    }

    async fn a_profile_is_read_as_it_was_written(db: TestDb) {
        let world = World::new(&db).await;
        let whole = AgentProfile {
            model: Some(UNICODE.to_owned()),
            mode: Some("plan".to_owned()),
            passthrough: true,
            auto_approve: true,
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

    async fn an_update_of_a_profile_writes_all_that_may_change(db: TestDb) {
        let world = World::new(&db).await;
        let other = profile(world.agent.id, "Other");
        write(&db.store, async |tx| insert_profile(tx, &other).await).await.unwrap();
        let wanted = AgentProfile {
            name: UNICODE.to_owned(),
            model: Some("opus".to_owned()),
            mode: Some("plan".to_owned()),
            auto_approve: true,
            updated_at: at(5),
            ..other.clone()
        };
        write(&db.store, async |tx| update_profile(tx, &wanted).await).await.unwrap();
        assert_eq!(read(&db.store, async |db| profiles(db).await).await, [world.profile.clone(), wanted.clone()]);
        let taken = AgentProfile { name: world.profile.name.clone(), ..wanted };
        assert_unique(write(&db.store, async |tx| update_profile(tx, &taken).await).await);
    }

    async fn a_profile_goes_when_no_session_ran_with_it(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.put_task(domain::task::Task { agent_profile_id: Some(world.profile.id), ..world.task() }).await;
        world.add_session(&task).await;
        let used = read(&db.store, async |db| profile_use(db, world.profile.id).await).await;
        assert_eq!(used, ProfileUse { sessions: 1, tasks: 1, steps: 0, workflows: 0 });
        assert_invariant(write(&db.store, async |tx| delete_profile(tx, world.profile.id).await).await);
        let other = profile(world.agent.id, "Other");
        write(&db.store, async |tx| insert_profile(tx, &other).await).await.unwrap();
        assert_eq!(read(&db.store, async |db| profile_use(db, other.id).await).await, ProfileUse::default());
        write(&db.store, async |tx| delete_profile(tx, other.id).await).await.unwrap();
        assert_eq!(read(&db.store, async |db| profiles(db).await).await, [world.profile]);
    }
}
