use crate::world::{
    UNICODE, World, assert_invariant, assert_unique, at, count, read, workspace, write,
};
use domain::ids::{RepositoryId, WorkspaceId};
use domain::repository::{Place, Provider, Repository, TaskRepository};
use domain::task::Task;
use store::repositories::{
    at_place, attach, delete, detach, find, find_all, in_folder, insert, list, of_task, providers,
    tasks_on_board, update, uses,
};

pub(crate) fn repository(workspace: WorkspaceId, path: &str) -> Repository {
    Repository {
        id: RepositoryId::new(),
        workspace_id: workspace,
        name: UNICODE.to_owned(),
        local_path: None,
        provider: Provider::Github,
        host: Some("github.com".to_owned()),
        project_path: Some(path.to_owned()),
        default_branch: Some("main".to_owned()),
        created_at: at(0),
        updated_at: at(0),
    }
}

fn shown(repository: &Repository) -> TaskRepository {
    TaskRepository::from(repository.clone())
}

store::on_both_engines! {
    async fn a_repository_is_there_once_by_its_place_and_by_its_folder(db: TestDb) {
        let world = World::new(&db).await;
        let here = world.workspace.id;
        let hosted = Repository { created_at: at(2), ..repository(here, "Owner/name") };
        let folder = Repository {
            provider: Provider::Unknown,
            host: None,
            project_path: None,
            local_path: Some(format!("/srv/{UNICODE}")),
            default_branch: None,
            created_at: at(1),
            ..repository(here, "-")
        };
        let add = async |repository: &Repository| write(&db.store, async |tx| insert(tx, repository).await).await;
        add(&hosted).await.unwrap();
        add(&folder).await.unwrap();
        assert_unique(add(&repository(here, "owner/NAME")).await);
        assert_unique(add(&Repository { local_path: folder.local_path.clone(), ..repository(here, "a/b") }).await);
        let elsewhere = workspace("Elsewhere");
        write(&db.store, async |tx| store::workspaces::insert(tx, &elsewhere).await).await.unwrap();
        add(&repository(elsewhere.id, "owner/name")).await.unwrap();
        for nowhere in [
            Repository { host: None, ..repository(here, "a/c") },
            Repository { host: None, project_path: None, ..repository(here, "a/d") },
        ] {
            assert_invariant(add(&nowhere).await);
        }
        assert_eq!(read(&db.store, async |db| list(db, here).await).await, [folder.clone(), hosted.clone()]);
        assert_eq!(read(&db.store, async |db| find(db, hosted.id).await).await.as_ref(), Some(&hosted));
        let some = [hosted.id, RepositoryId::new(), hosted.id];
        assert_eq!(read(&db.store, async |db| find_all(db, &some).await).await, std::slice::from_ref(&hosted));
        assert!(read(&db.store, async |db| find_all(db, &[]).await).await.is_empty());
        let place = |path: &str| Place { provider: Provider::Github, host: "github.com".to_owned(), project_path: path.to_owned() };
        let found = read(&db.store, async |db| at_place(db, here, &place("oWNER/name")).await).await;
        assert_eq!(found.as_ref(), Some(&hosted));
        assert_eq!(read(&db.store, async |db| at_place(db, here, &place("owner/other")).await).await, None);
        let path = folder.local_path.clone().unwrap();
        assert_eq!(read(&db.store, async |db| in_folder(db, here, &path).await).await, Some(folder));
        assert_eq!(read(&db.store, async |db| in_folder(db, elsewhere.id, &path).await).await, None);

        let renamed = Repository {
            name: "Renamed".to_owned(),
            local_path: Some("/srv/other".to_owned()),
            default_branch: None,
            updated_at: at(9),
            ..hosted
        };
        write(&db.store, async |tx| update(tx, &renamed).await).await.unwrap();
        assert_eq!(read(&db.store, async |db| find(db, renamed.id).await).await.as_ref(), Some(&renamed));
    }

    async fn a_task_is_about_repositories_until_either_goes(db: TestDb) {
        let world = World::new(&db).await;
        let (task, other) = (world.add_task().await, world.add_task().await);
        let archived = world.put_task(Task { archived_at: Some(at(1)), ..world.task() }).await;
        let first = repository(world.workspace.id, "a/first");
        let second = Repository {
            provider: Provider::Gitlab,
            host: Some("gitlab.com".to_owned()),
            ..repository(world.workspace.id, "a/second")
        };
        write(&db.store, async |tx| {
            insert(tx, &first).await?;
            insert(tx, &second).await?;
            assert!(attach(tx, task.id, second.id, at(1)).await?);
            assert!(attach(tx, task.id, first.id, at(2)).await?);
            assert!(!attach(tx, task.id, second.id, at(3)).await?);
            assert!(attach(tx, other.id, first.id, at(0)).await?);
            attach(tx, archived.id, first.id, at(0)).await
        })
        .await
        .unwrap();
        let about = async |id| read(&db.store, async |db| of_task(db, id).await).await;
        assert_eq!(about(task.id).await, [second.clone(), first.clone()], "in the order in which it was said");
        let kept = read(&db.store, async |db| providers(db, task.id).await).await;
        assert_eq!(kept, [Provider::Github, Provider::Gitlab]);
        assert_eq!(read(&db.store, async |db| tasks_on_board(db, first.id).await).await, 2);
        let used = read(&db.store, async |db| uses(db, first.id, 1).await).await;
        assert_eq!((used.total, used.tasks.len()), (2, 1), "archived ones are not, and the newest is named");
        let all = read(&db.store, async |db| uses(db, first.id, 10).await).await;
        assert!(all.tasks.iter().any(|named| named.id == task.id && named.title == task.title));
        let view = read(&db.store, async |db| store::views::task(db, task.id).await).await.unwrap();
        assert_eq!(view.repositories, [shown(&second), shown(&first)]);
        let filter = store::views::TaskFilter { limit: 10, ..Default::default() };
        let listed = read(&db.store, async |db| store::views::tasks(db, &filter).await).await;
        let of = |id| listed.iter().find(|task| task.id == id).unwrap().repositories.clone();
        assert_eq!((of(task.id), of(other.id)), (view.repositories, vec![shown(&first)]));

        let removed = write(&db.store, async |tx| detach(tx, task.id, second.id).await).await;
        assert!(removed.unwrap());
        assert!(!write(&db.store, async |tx| detach(tx, task.id, second.id).await).await.unwrap());
        assert_eq!(about(task.id).await, std::slice::from_ref(&first));
        assert_invariant(write(&db.store, async |tx| attach(tx, task.id, RepositoryId::new(), at(0)).await).await);
        write(&db.store, async |tx| store::tasks::delete(tx, task.id).await.map(drop)).await.unwrap();
        assert_eq!(count(&db.store, "task_repositories").await, 2);
        write(&db.store, async |tx| delete(tx, first.id).await).await.unwrap();
        assert_eq!((count(&db.store, "task_repositories").await, count(&db.store, "repositories").await), (0, 1));
    }
}
