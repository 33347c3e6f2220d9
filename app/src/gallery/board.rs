//! The frame with a tree and some cards.

use super::sample;
use crate::components::forest::TaskNode;
use crate::components::frame::{AppFrame, FrameData, NewTaskFab};
use crate::components::task_card::TaskCard;
use crate::components::task_mark::TaskMark;
use crate::title::{NeedsOperator, PageTitle};
use leptos::prelude::*;

/// As the board will be.
#[component]
pub fn GalleryBoard() -> impl IntoView {
    let nodes = sample::nodes();
    let NeedsOperator(count) = expect_context();
    count.set(2);
    let data = FrameData {
        home: Signal::stored("/".to_owned()),
        workspace: Signal::stored("Default".to_owned()),
        workspaces: Signal::stored(Vec::new()),
        tasks: Signal::stored(nodes.clone()),
        current: Signal::stored(None),
        needs_operator: count.into(),
        place: Signal::stored("Default ▸ Kanban".to_owned()),
    };
    let all = nodes;
    let column = move |name: &'static str, shown: &[usize]| {
        let cards = shown
            .iter()
            .filter_map(|at| all.get(*at))
            .map(|node| card(node, &all))
            .collect_view();
        view! {
            <section class="flex flex-col gap-2 min-w-0">
                <h2 class="text-13">{name}</h2>
                {cards}
            </section>
        }
    };
    view! {
        <PageTitle text="Board"/>
        <AppFrame data>
            <h1 class="sr-only">"Board"</h1>
            <div class="grid gap-4 p-4 sm:grid-cols-2 xl:grid-cols-4">
                {column("Backlog", &[6, 12])} {column("In Progress", &[0, 1, 3, 11, 4])} {column("Review", &[2, 5, 8, 9])}
                {column("Done", &[7])}
            </div>
            <NewTaskFab/>
        </AppFrame>
    }
}

fn card(node: &TaskNode, all: &[TaskNode]) -> impl IntoView + use<> {
    let parts: Vec<TaskMark> = all
        .iter()
        .filter(|other| other.parent_id == Some(node.id))
        .map(|other| other.mark)
        .collect();
    let parent = all
        .iter()
        .find(|other| node.parent_id == Some(other.id))
        .map(|parent| parent.title.clone());
    view! {
        <TaskCard
            task=Signal::stored(sample::view(node))
            mark=node.mark
            parent=Signal::stored(parent)
            parts=Signal::stored(parts)
        />
    }
}
