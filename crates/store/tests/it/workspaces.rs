use crate::world::{UNICODE, at, read, workspace, write};
use domain::ids::WorkspaceId;
use domain::view::WorkspaceView;
use store::workspaces::{find, insert, list};

store::on_both_engines! {
    async fn a_workspace_is_read_as_it_was_written(db: TestDb) {
        let whole = WorkspaceView { description: UNICODE.to_owned(), updated_at: at(1), ..workspace(UNICODE) };
        write(&db.store, async |tx| insert(tx, &whole).await).await.unwrap();
        assert_eq!(read(&db.store, async |db| find(db, whole.id).await).await, Some(whole));
        assert_eq!(read(&db.store, async |db| find(db, WorkspaceId::new()).await).await, None);
    }

    async fn workspaces_are_listed_by_age(db: TestDb) {
        let young = WorkspaceView { created_at: at(2), ..workspace("Young") };
        let old = WorkspaceView { created_at: at(1), ..workspace("Old") };
        let also_old = WorkspaceView { created_at: at(1), ..workspace("Also old, with a later id") };
        write(&db.store, async |tx| {
            for each in [&young, &also_old, &old] {
                insert(tx, each).await?;
            }
            Ok(())
        })
        .await
        .unwrap();
        assert_eq!(read(&db.store, async |db| list(db).await).await, [old, also_old, young]);
    }
}
