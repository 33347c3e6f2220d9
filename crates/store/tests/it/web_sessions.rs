use crate::world::{assert_invariant, at, read, write};
use domain::ids::OperatorId;
use store::testing::TestDb;
use store::web_sessions::{delete, delete_expired, delete_of, find, save};

async fn operator(db: &TestDb, name: &str) -> OperatorId {
    let id = OperatorId::new();
    write(&db.store, async |tx| {
        store::operators::insert(tx, id, name, name, "$argon2id$x", at(1)).await
    })
    .await
    .unwrap();
    id
}

store::on_both_engines! {
    async fn a_browser_is_signed_in_until_its_time_its_end_or_its_operator_is_gone(db: TestDb) {
        let (ada, bob) = (operator(&db, "ada").await, operator(&db, "bob").await);
        let keep = async |key: &str, operator, record: &str, until| {
            write(&db.store, async |tx| save(tx, key, operator, record, at(until)).await).await
        };
        let kept = async |key: &str, now| read(&db.store, async |db| find(db, key, at(now)).await).await;
        assert_invariant(keep("nobody's", OperatorId::new(), "{}", 9).await);
        for key in ["a1", "a2", "a3"] {
            keep(key, ada, "{}", 9).await.unwrap();
        }
        keep("b", bob, "{}", 5).await.unwrap();
        keep("a1", ada, r#"{"more":1}"#, 20).await.unwrap();
        assert_eq!(kept("a1", 19).await, Some((r#"{"more":1}"#.to_owned(), at(20))));
        assert_eq!(kept("a2", 8).await, Some(("{}".to_owned(), at(9))));
        assert_eq!(kept("a2", 9).await, None, "its time is over");
        assert_eq!(kept("A1", 8).await, None);

        write(&db.store, async |tx| delete(tx, "a1").await).await.unwrap();
        assert_eq!(kept("a1", 8).await, None);
        write(&db.store, async |tx| delete_expired(tx, at(5)).await).await.unwrap();
        assert_eq!(kept("b", 1).await, None);
        assert!(kept("a2", 1).await.is_some());

        keep("b", bob, "{}", 9).await.unwrap();
        write(&db.store, async |tx| delete_of(tx, ada).await).await.unwrap();
        assert_eq!((kept("a2", 1).await, kept("a3", 1).await), (None, None));
        write(&db.store, async |tx| store::operators::delete(tx, bob).await).await.unwrap();
        assert_eq!(kept("b", 1).await, None, "it ends with its operator");
    }
}
