//! Everything that waits for the operator, across all tasks.

use crate::clarifications;
use crate::permissions;
use crate::{Actor, Board, Result};
use domain::ids::TaskId;
use domain::time::Timestamp;
use domain::view::{InboxAsk, InboxItem, InboxView};
use std::collections::HashMap;

/// Questions, and permissions, that are shown at most of each.
const MOST: i64 = 500;

impl Board {
    /// Every question and permission that waits for the operator, oldest first.
    pub async fn inbox(&self, actor: &Actor) -> Result<InboxView> {
        actor.require_operator()?;
        let mut db = self.snapshot().await?;
        let tasks: HashMap<TaskId, _> = store::views::asking_tasks(&mut db)
            .await?
            .into_iter()
            .map(|task| (task.id, task))
            .collect();
        let bundles = store::clarifications::open_of_all(&mut db, MOST).await?;
        let requests = store::permissions::pending_of_all(&mut db, MOST).await?;
        let asks = bundles
            .into_iter()
            .map(|bundle| {
                let at = (bundle.created_at, bundle.task_id, bundle.session_id);
                let clarification = clarifications::view(bundle);
                (at, InboxAsk::Clarification { clarification })
            })
            .chain(requests.into_iter().map(|request| {
                let at = (request.created_at, request.task_id, request.session_id);
                let permission = permissions::view(request);
                (at, InboxAsk::Permission { permission })
            }));
        let mut items: Vec<(Timestamp, InboxItem)> = asks
            .filter_map(|((at, task_id, session_id), ask)| {
                let task = tasks.get(&task_id)?;
                let item = InboxItem {
                    task_id,
                    task_title: task.title.clone(),
                    workspace_id: task.workspace_id,
                    session_id,
                    ask,
                };
                Some((at, item))
            })
            .collect();
        // Stable: what came in the same millisecond keeps its order.
        items.sort_by_key(|(at, _)| *at);
        Ok(InboxView {
            items: items.into_iter().map(|(_, item)| item).collect(),
            as_of: store::events::bounds(&mut db).await?.1,
        })
    }
}
