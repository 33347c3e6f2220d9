use crate::jobs::{job, stored};
use crate::world::{UNICODE, at, read, write};
use domain::job::JobId;
use domain::job::effects::{Confirmation, ConsentOutcome, ToolCallState};
use serde_json::json;
use store::Write;
use store::job_effects::{
    agreed_confirmations, begin_call, calls, confirmation, confirmation_of, confirmations_between,
    confirmations_for, consume_confirmation, end_call, end_confirmation, insert_confirmation,
    last_call, open_confirmations, set_agreed,
};

store::on_both_engines! {
    async fn calls_are_numbered_and_keep_their_first_end(db: TestDb) {
        let kept = stored(&db.store, &job("u", "aij_1")).await;
        let begin = async |tool: &str, hash: &str| {
            write(&db.store, async |tx| begin_call(tx, kept.id, tool, hash, "key", at(1)).await).await.unwrap()
        };
        assert_eq!((begin(UNICODE, "h").await, begin(UNICODE, "h").await, begin("b", "h").await), (1, 2, 3));
        let end = async |seq, state| {
            write(&db.store, async |tx| end_call(tx, kept.id, seq, state, &json!({"a": UNICODE}), at(2)).await).await.unwrap()
        };
        assert_eq!(end(2, ToolCallState::Finished).await, Write::Changed);
        assert_eq!(end(2, ToolCallState::Failed).await, Write::Stale);
        let last = read(&db.store, async |db| last_call(db, kept.id, UNICODE, "h").await).await.unwrap();
        assert_eq!((last.seq, last.state, last.result), (2, ToolCallState::Finished, Some(json!({"a": UNICODE}))));
        assert_eq!(read(&db.store, async |db| last_call(db, kept.id, UNICODE, "i").await).await, None);
        let all = read(&db.store, async |db| calls(db, kept.id).await).await;
        assert_eq!(all.iter().map(|call| call.seq).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!((all[0].state, &all[0].result, all[2].tool.as_str()), (ToolCallState::Started, &None, "b"));
    }

    async fn a_preview_is_used_up_once_and_in_time(db: TestDb) {
        let kept = stored(&db.store, &job("u", "aij_1")).await;
        let mut preview = Confirmation {
            id: 0,
            job_id: kept.id,
            user_id: "u".to_owned(),
            conversation: "c".to_owned(),
            preview_tool: "preview_x".to_owned(),
            confirmation_tool: "confirm_x".to_owned(),
            arguments: json!({"a": UNICODE}),
            args_hash: "h".to_owned(),
            summary: Some(UNICODE.to_owned()),
            expires_at: at(100),
            agreed_at: None,
            consumed_at: None,
            outcome: None,
            result: None,
            created_at: at(1),
        };
        let add = async |preview: &Confirmation| {
            write(&db.store, async |tx| insert_confirmation(tx, preview).await).await.unwrap()
        };
        preview.id = add(&preview).await;
        let newer = add(&preview).await;
        assert_eq!(read(&db.store, async |db| confirmation(db, preview.id).await).await, Some(preview.clone()));
        assert_eq!(read(&db.store, async |db| confirmation(db, 99).await).await, None);
        let found = async |user: &str, tool: &str, hash: &str| {
            let rows = read(&db.store, async |db| confirmations_for(db, user, tool, hash, 10).await).await;
            rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
        };
        assert_eq!(found("u", "confirm_x", "h").await, [newer, preview.id]);
        assert!(found("v", "confirm_x", "h").await.is_empty());
        assert!(found("u", "confirm_y", "h").await.is_empty());
        assert!(found("u", "confirm_x", "i").await.is_empty());
        let consume = async |id, now| {
            write(&db.store, async |tx| consume_confirmation(tx, id, at(now)).await).await.unwrap()
        };
        assert_eq!(consume(newer, 100).await, Write::Stale);
        assert_eq!(consume(newer, 99).await, Write::Changed);
        assert_eq!(consume(newer, 99).await, Write::Stale);
        let open = async |now| read(&db.store, async |db| open_confirmations(db, "u", at(now), 10).await).await;
        assert_eq!(open(99).await, std::slice::from_ref(&preview));
        assert!(open(100).await.is_empty());

        let between = async |user: &str, last: JobId| {
            let found = read(&db.store, async |db| confirmations_between(db, user, kept.id, last).await).await;
            found.into_iter().map(|one| (one.id, one.outcome)).collect::<Vec<_>>()
        };
        let used = (newer, Some(ConsentOutcome::Confirmed));
        assert_eq!(between("u", kept.id).await, [(preview.id, None), used]);
        assert!(between("v", kept.id).await.is_empty());
        assert!(between("u", JobId(kept.id.0 - 1)).await.is_empty());
        assert_eq!(read(&db.store, async |db| confirmation_of(db, kept.id).await).await.map(|one| one.id), Some(newer));

        // Agreed to by a button: neither open nor to be used up by a model, and left to be carried out until it has an end.
        let agree = async |id, when: Option<i64>| {
            write(&db.store, async |tx| set_agreed(tx, id, when.map(at)).await).await.unwrap()
        };
        let agreed = async || read(&db.store, async |db| agreed_confirmations(db, 10).await).await;
        assert_eq!(agree(newer, Some(99)).await, Write::Stale, "it has its end");
        assert_eq!(agree(preview.id, Some(99)).await, Write::Changed);
        assert_eq!(agree(preview.id, None).await, Write::Changed);
        assert_eq!(open(99).await.len(), 1);
        assert_eq!(agree(preview.id, Some(98)).await, Write::Changed);
        assert!(open(99).await.is_empty());
        assert_eq!(consume(preview.id, 99).await, Write::Stale);
        preview.agreed_at = Some(at(98));
        assert_eq!(agreed().await, std::slice::from_ref(&preview));
        let end = async || {
            let result = json!({"made": UNICODE});
            write(&db.store, async |tx| end_confirmation(tx, preview.id, ConsentOutcome::Declined, Some(&result), at(120)).await)
                .await
                .unwrap()
        };
        assert_eq!(end().await, Write::Changed);
        assert_eq!(end().await, Write::Stale);
        assert!(agreed().await.is_empty());
        let ended = read(&db.store, async |db| confirmation(db, preview.id).await).await.unwrap();
        assert_eq!((ended.outcome, ended.consumed_at), (Some(ConsentOutcome::Declined), Some(at(120))));
        assert_eq!(ended.result, Some(json!({"made": UNICODE})));
    }
}
