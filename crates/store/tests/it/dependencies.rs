use crate::world::{UNICODE, World, assert_invariant, at, read, workspace, write};
use domain::dependency::Predecessor;
use domain::ids::TaskId;
use domain::task::{Task, TaskState};
use store::dependencies::{delete, dependants, insert, of_workspace, predecessors};

store::on_both_engines! {
    async fn an_edge_is_there_once_and_read_from_both_ends(db: TestDb) {
        let world = World::new(&db).await;
        let archived = Task { title: UNICODE.to_owned(), archived_at: Some(at(1)), ..world.task() };
        let archived = world.put_task(archived).await;
        let failed = world.put_task(Task { state: TaskState::Failed, ..world.task() }).await;
        let waits = world.add_task().await;
        let add = async |task: TaskId, on: TaskId, millis| {
            write(&db.store, async |tx| insert(tx, task, on, at(millis)).await).await
        };
        assert!(add(waits.id, failed.id, 2).await.unwrap());
        assert!(add(waits.id, archived.id, 1).await.unwrap());
        assert!(!add(waits.id, failed.id, 3).await.unwrap());
        let expected = [
            Predecessor { id: archived.id, title: UNICODE.to_owned(), state: TaskState::Created, archived: true },
            Predecessor { id: failed.id, title: failed.title.clone(), state: TaskState::Failed, archived: false },
        ];
        let waited_for = async |id| read(&db.store, async |db| predecessors(db, id).await).await;
        assert_eq!(waited_for(waits.id).await, expected, "in the order in which it was said");
        assert!(waited_for(failed.id).await.is_empty());
        assert_eq!(read(&db.store, async |db| dependants(db, failed.id).await).await, [waits.id]);
        assert!(read(&db.store, async |db| dependants(db, waits.id).await).await.is_empty());
        let edges = read(&db.store, async |db| of_workspace(db, world.workspace.id).await).await;
        assert_eq!(edges, [(waits.id, archived.id), (waits.id, failed.id)]);
        let elsewhere = workspace("Elsewhere").id;
        assert!(read(&db.store, async |db| of_workspace(db, elsewhere).await).await.is_empty());

        let remove = async |on: TaskId| write(&db.store, async |tx| delete(tx, waits.id, on).await).await.unwrap();
        assert!(remove(failed.id).await);
        assert!(!remove(failed.id).await);
        assert_eq!(waited_for(waits.id).await, expected[..1]);
    }

    async fn an_edge_needs_two_tasks_and_goes_with_either(db: TestDb) {
        let world = World::new(&db).await;
        let (a, b, c) = (world.add_task().await.id, world.add_task().await.id, world.add_task().await.id);
        assert_invariant(write(&db.store, async |tx| insert(tx, a, a, at(0)).await).await);
        assert_invariant(write(&db.store, async |tx| insert(tx, a, TaskId::new(), at(0)).await).await);
        write(&db.store, async |tx| {
            insert(tx, a, b, at(0)).await?;
            insert(tx, b, c, at(0)).await?;
            store::tasks::delete(tx, b).await
        })
        .await
        .unwrap();
        assert!(read(&db.store, async |db| of_workspace(db, world.workspace.id).await).await.is_empty());
    }
}
