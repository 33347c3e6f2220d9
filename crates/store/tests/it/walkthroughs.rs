use crate::world::{UNICODE, World, assert_invariant, at, read, write};
use domain::ids::{TaskId, WalkthroughId};
use domain::walkthrough::{Walkthrough, WalkthroughStep};
use store::walkthroughs::{delete, find, put};

pub(crate) fn walkthrough(task: TaskId, title: &str) -> Walkthrough {
    let bare = WalkthroughStep {
        title: None,
        repo: None,
        file: "a.rs".to_owned(),
        line: 1,
        line_end: None,
        text: UNICODE.to_owned(),
    };
    let whole = WalkthroughStep {
        title: Some(UNICODE.to_owned()),
        repo: Some(UNICODE.to_owned()),
        line_end: Some(i64::from(i32::MAX)),
        ..bare.clone()
    };
    Walkthrough {
        id: WalkthroughId::new(),
        task_id: task,
        title: title.to_owned(),
        steps: vec![bare, whole],
        created_at: at(1),
    }
}

store::on_both_engines! {
    async fn a_walkthrough_is_read_as_it_was_shown_and_replaced_as_a_whole(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let stored = async || read(&db.store, async |db| find(db, task.id).await).await;
        assert_eq!(stored().await, None);
        let first = walkthrough(task.id, UNICODE);
        write(&db.store, async |tx| put(tx, &first).await).await.unwrap();
        assert_eq!(stored().await, Some(first));
        let mut second = walkthrough(task.id, "Another");
        second.steps.truncate(1);
        second.created_at = at(2);
        write(&db.store, async |tx| put(tx, &second).await).await.unwrap();
        assert_eq!(stored().await, Some(second));
        assert!(write(&db.store, async |tx| delete(tx, task.id).await).await.unwrap());
        assert!(!write(&db.store, async |tx| delete(tx, task.id).await).await.unwrap());
        assert_eq!(stored().await, None);
        let lost = walkthrough(TaskId::new(), "Lost");
        assert_invariant(write(&db.store, async |tx| put(tx, &lost).await).await);
    }
}
