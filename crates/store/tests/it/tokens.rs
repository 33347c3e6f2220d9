use crate::world::{UNICODE, World, assert_invariant, assert_unique, at, read, write};
use domain::ids::{SessionId, TokenId};
use store::tokens::{
    find_access, find_session, insert_access, insert_session, limit_access, list_access,
    revoke_access, revoke_session, scope, touch_access,
};

store::on_both_engines! {
    async fn a_sessions_token_speaks_for_it_until_it_is_revoked(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let another = world.add_session(&task).await;
        let add = async |hash: &str, session| {
            write(&db.store, async |tx| insert_session(tx, hash, task.id, session, at(1)).await).await
        };
        add("first", session.id).await.unwrap();
        add("second", session.id).await.unwrap();
        add("other", another.id).await.unwrap();
        assert_unique(add("first", another.id).await);
        assert_invariant(add("third", SessionId::new()).await);
        let speaks = async |hash: &str| read(&db.store, async |db| find_session(db, hash).await).await;
        assert_eq!(speaks("first").await, Some((task.id, session.id)));
        assert_eq!(speaks("second").await, Some((task.id, session.id)));
        assert_eq!(speaks("First").await, None);

        for now in [at(2), at(3)] {
            write(&db.store, async |tx| revoke_session(tx, session.id, now).await).await.unwrap();
        }

        assert_eq!(speaks("first").await, None);
        assert_eq!(speaks("second").await, None);
        assert_eq!(speaks("other").await, Some((task.id, another.id)));
        let stored = read(&db.store, async |db| {
            db.fetch_raw("select created_at, revoked_at from mcp_sessions where token_hash = 'first'").await
        })
        .await;
        let expected = [at(1), at(2)].map(|time| Some(time.millis().to_string())).to_vec();
        assert_eq!(stored, [expected], "the first revocation stands");
    }

    async fn an_access_token_is_found_by_its_hash_until_it_is_revoked(db: TestDb) {
        let (id, other) = (TokenId::new(), TokenId::new());
        let add = async |id, name: &str, hash: &str| {
            write(&db.store, async |tx| insert_access(tx, id, name, hash, at(1)).await).await
        };
        add(id, UNICODE, "hash").await.unwrap();
        add(other, UNICODE, "other").await.unwrap();
        assert_unique(add(TokenId::new(), "a", "hash").await);
        assert_invariant(add(TokenId::new(), "", "empty name").await);
        let found = async |hash: &str| read(&db.store, async |db| find_access(db, hash).await).await;
        assert_eq!(found("hash").await, Some((id, None)));
        assert_eq!(found("other").await, Some((other, None)));
        assert_eq!(found("unknown").await, None);
        let stored =
            read(&db.store, async |db| db.fetch_raw("select name, last_used_at from access_tokens limit 1").await).await;
        assert_eq!(stored, [vec![Some(UNICODE.to_owned()), None]]);
        write(&db.store, async |tx| touch_access(tx, id, at(3)).await).await.unwrap();
        assert_eq!(found("hash").await, Some((id, Some(at(3)))));
        for now in [at(5), at(6)] {
            assert!(write(&db.store, async |tx| revoke_access(tx, id, now).await).await.unwrap());
        }
        assert!(!write(&db.store, async |tx| revoke_access(tx, TokenId::new(), at(7)).await).await.unwrap());
        assert_eq!(found("hash").await, None);
        let listed = read(&db.store, async |db| list_access(db).await).await;
        let times: Vec<_> = listed.iter().map(|one| (one.id, one.last_used_at, one.revoked_at)).collect();
        assert_eq!(times, [(other, None, None), (id, Some(at(3)), Some(at(5)))], "the first revocation stands");
    }

    async fn a_token_reaches_everything_or_what_it_is_limited_to(db: TestDb) {
        let world = World::new(&db).await;
        let other = World::beside(&db, "Other").await;
        let (free, some, none) = (TokenId::new(), TokenId::new(), TokenId::new());
        write(&db.store, async |tx| {
            for id in [free, some, none] {
                insert_access(tx, id, "a token", &id.to_string(), at(1)).await?;
            }
            limit_access(tx, some, &[world.workspace.id, other.workspace.id]).await?;
            limit_access(tx, none, &[]).await
        })
        .await
        .unwrap();
        let reaches = async |id| read(&db.store, async |db| scope(db, id).await).await;
        let mut both = vec![world.workspace.id, other.workspace.id];
        both.sort_by_key(ToString::to_string);
        assert_eq!(reaches(free).await, None);
        assert_eq!(reaches(some).await, Some(both.clone()));
        assert_eq!(reaches(none).await, Some(Vec::new()));
        assert_eq!(reaches(TokenId::new()).await, Some(Vec::new()), "one that is not there");
        let listed = read(&db.store, async |db| list_access(db).await).await;
        let shown = |id| listed.iter().find(|one| one.id == id).unwrap().workspaces.clone();
        assert_eq!(shown(free), None);
        assert_eq!(shown(some).unwrap().iter().map(|one| one.id).collect::<Vec<_>>(), both);
        assert_eq!(shown(none), Some(Vec::new()));
    }
}
