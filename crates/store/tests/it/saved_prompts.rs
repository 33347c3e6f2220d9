use crate::world::{UNICODE, at, read, write};
use domain::saved_prompt::{PromptName, SavedPrompt};
use store::saved_prompts::{count, delete, list, named, put};

fn prompt(name: &str, content: &str, n: i64) -> SavedPrompt {
    SavedPrompt {
        name: name.parse().unwrap(),
        content: content.to_owned(),
        created_at: at(n),
        updated_at: at(n),
    }
}

store::on_both_engines! {
    async fn a_prompt_is_found_by_its_name_and_keeps_its_age(db: TestDb) {
        let store = &db.store;
        for one in [prompt("review", UNICODE, 1), prompt("a", "A.", 2), prompt("review-2", "B.", 3)] {
            write(store, async |tx| put(tx, &one).await).await.unwrap();
        }
        let later = prompt("review", "Other words.", 9);
        write(store, async |tx| put(tx, &later).await).await.unwrap();
        let all = read(store, async |db| list(db).await).await;
        let names: Vec<&str> = all.iter().map(|prompt| prompt.name.as_str()).collect();
        assert_eq!(names, ["a", "review", "review-2"]);
        assert_eq!(all[1], SavedPrompt { created_at: at(1), ..later });

        let asked: Vec<PromptName> = ["review", "nobody", "a"].map(|name| name.parse().unwrap()).to_vec();
        let found = read(store, async |db| named(db, &asked).await).await;
        assert_eq!(found, [all[0].clone(), all[1].clone()]);
        assert!(read(store, async |db| named(db, &[]).await).await.is_empty());

        for there in [true, false] {
            let deleted = write(store, async |tx| delete(tx, &asked[0]).await).await.unwrap();
            assert_eq!(deleted, there);
        }
        assert_eq!(read(store, async |db| list(db).await).await.len(), 2);
        assert_eq!(read(store, async |db| count(db).await).await, 2);
    }
}
