use crate::jobs::{job, stored};
use crate::world::{UNICODE, at, read, write};
use domain::job::{ChunkState, Delivery, DeliveryKind, JobId};
use store::Write;
use store::job_deliveries::{insert, notice_due, of_job, postpone, settle, take_notices};

pub(crate) fn piece(job_id: JobId, kind: DeliveryKind, chunk_no: i64) -> Delivery {
    Delivery {
        job_id,
        kind,
        chunk_no,
        body: format!("{chunk_no} {UNICODE}"),
        body_hash: "h".to_owned(),
        nonce: format!("n{chunk_no}"),
        state: ChunkState::Waiting,
        attempts: 0,
        platform_message_id: None,
        next_try_at: at(chunk_no),
    }
}

store::on_both_engines! {
    async fn pieces_are_read_in_order_and_settled_once(db: TestDb) {
        let kept = stored(&db.store, &job("u", "aij_1")).await;
        let pieces: Vec<Delivery> = (0..3).map(|n| piece(kept.id, DeliveryKind::Answer, n)).collect();
        for new in pieces.iter().rev() {
            write(&db.store, async |tx| insert(tx, new, at(0)).await).await.unwrap();
        }
        let again = Delivery { body: "other".to_owned(), ..pieces[0].clone() };
        write(&db.store, async |tx| insert(tx, &again, at(0)).await).await.unwrap();
        assert_eq!(read(&db.store, async |db| of_job(db, kept.id, DeliveryKind::Answer).await).await, pieces);
        assert!(read(&db.store, async |db| of_job(db, kept.id, DeliveryKind::FailureNotice).await).await.is_empty());
        let done = async |state| {
            write(&db.store, async |tx| settle(tx, &pieces[1], state, Some("m"), at(5)).await).await.unwrap()
        };
        assert_eq!(done(ChunkState::Delivered).await, Write::Changed);
        assert_eq!(done(ChunkState::Abandoned).await, Write::Stale);
        assert_eq!(write(&db.store, async |tx| postpone(tx, &pieces[1], at(9)).await).await.unwrap(), Write::Stale);
        assert_eq!(write(&db.store, async |tx| postpone(tx, &pieces[2], at(9)).await).await.unwrap(), Write::Changed);
        let rows = read(&db.store, async |db| of_job(db, kept.id, DeliveryKind::Answer).await).await;
        assert_eq!((rows[1].state, rows[1].platform_message_id.as_deref(), rows[1].attempts), (ChunkState::Delivered, Some("m"), 1));
        assert_eq!((rows[2].state, rows[2].attempts, rows[2].next_try_at), (ChunkState::Waiting, 1, at(9)));
    }

    async fn notices_are_taken_by_one(db: TestDb) {
        let kept = stored(&db.store, &job("u", "aij_1")).await;
        for new in [piece(kept.id, DeliveryKind::Answer, 0), piece(kept.id, DeliveryKind::FailureNotice, 0), piece(kept.id, DeliveryKind::FailureNotice, 7)] {
            write(&db.store, async |tx| insert(tx, &new, at(0)).await).await.unwrap();
        }
        let take = async |now, limit| {
            write(&db.store, async |tx| take_notices(tx, at(now), at(now + 100), limit).await).await.unwrap()
        };
        let is_due = async |now| read(&db.store, async |db| notice_due(db, at(now)).await).await;
        assert!(!is_due(-1).await && is_due(0).await);
        let taken = take(6, 10).await;
        assert_eq!(taken.len(), 1);
        assert_eq!((taken[0].kind, taken[0].chunk_no), (DeliveryKind::FailureNotice, 0));
        assert!(take(6, 10).await.is_empty());
        assert_eq!(take(7, 10).await.len(), 1);
        assert_eq!(take(200, 1).await.len(), 1);
        let _ = write(&db.store, async |tx| settle(tx, &taken[0], ChunkState::Abandoned, None, at(9)).await).await.unwrap();
        assert_eq!(take(1_000, 10).await.len(), 1);
    }
}
