use crate::world::{UNICODE, assert_invariant, assert_unique, at, read, write};
use domain::ids::OperatorId;
use store::operators::{delete, exist, find, insert, list, set_password, touch};

const HASH: &str = "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA";
const OTHER: &str = "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$b3RoZXI";

store::on_both_engines! {
    async fn an_account_is_found_by_its_key_with_the_hash_of_its_password(db: TestDb) {
        let (ada, bob) = (OperatorId::new(), OperatorId::new());
        assert!(!read(&db.store, async |db| exist(db).await).await);
        let add = async |id, name: &str, key: &str, hash: &str| {
            write(&db.store, async |tx| insert(tx, id, name, key, hash, at(1)).await).await
        };
        add(bob, UNICODE, "bob", HASH).await.unwrap();
        add(ada, "Ada", "ada", HASH).await.unwrap();
        assert_unique(add(OperatorId::new(), "ADA", "ada", HASH).await);
        assert_invariant(add(OperatorId::new(), "", "x", HASH).await);
        assert_invariant(add(OperatorId::new(), "x", "", HASH).await);
        assert_invariant(add(OperatorId::new(), "x", "x", "a password in the clear").await);
        assert!(read(&db.store, async |db| exist(db).await).await);

        let (found, hash) = read(&db.store, async |db| find(db, "bob").await).await.unwrap();
        assert_eq!((found.id, found.name.as_str(), hash.as_str()), (bob, UNICODE, HASH));
        assert_eq!((found.created_at, found.last_signed_in_at), (at(1), None));
        assert_eq!(read(&db.store, async |db| find(db, "Bob").await).await, None);

        write(&db.store, async |tx| {
            set_password(tx, bob, OTHER).await?;
            touch(tx, bob, at(5)).await
        })
        .await
        .unwrap();
        let (found, hash) = read(&db.store, async |db| find(db, "bob").await).await.unwrap();
        assert_eq!((hash.as_str(), found.last_signed_in_at), (OTHER, Some(at(5))));
        let names: Vec<_> = read(&db.store, async |db| list(db).await).await.into_iter().map(|one| one.id).collect();
        assert_eq!(names, [ada, bob]);

        write(&db.store, async |tx| delete(tx, bob).await).await.unwrap();
        assert_eq!(read(&db.store, async |db| find(db, "bob").await).await, None);
        assert!(read(&db.store, async |db| find(db, "ada").await).await.is_some());
    }
}
