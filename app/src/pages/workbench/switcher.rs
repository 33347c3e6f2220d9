//! The workspaces that can be gone to, as items of a menu, and a new one.

use super::state::Workbench;
use crate::api::board_page::Named;
use crate::components::glyph::Glyph;
use crate::components::menu::MenuItem;
use crate::i18n::{Locale, t};
use crate::paths;
use domain::ids::WorkspaceId;
use leptos::prelude::*;

/// The items: all workspaces, oldest first, and below them a new one.
pub(super) fn items(
    workbench: Workbench,
    locale: Locale,
    navigate: impl Fn(&str, leptos_router::NavigateOptions) + Clone + Send + Sync + 'static,
) -> Signal<Vec<MenuItem>> {
    Signal::derive(move || {
        let shown = workbench.workspace.with(|workspace| workspace.id);
        let all = workbench.workspaces.get();
        let first = all.first().map(|one| one.id);
        let mut items: Vec<MenuItem> = labelled(all)
            .into_iter()
            .map(|(id, label)| {
                let navigate = navigate.clone();
                let address = if Some(id) == first {
                    paths::HOME.to_owned()
                } else {
                    paths::board(id)
                };
                MenuItem {
                    label,
                    glyph: if id == shown {
                        Glyph::Check
                    } else {
                        Glyph::SquareKanban
                    },
                    danger: false,
                    on_choose: Callback::new(move |()| navigate(&address, Default::default())),
                }
            })
            .collect();
        items.push(MenuItem {
            label: t!(locale, shell.new_workspace).to_owned(),
            glyph: Glyph::Plus,
            danger: false,
            on_choose: Callback::new(move |()| workbench.new_workspace.set(true)),
        });
        items
    })
}

/// Their names; those that are called alike are numbered, since an item is known by its label.
fn labelled(all: Vec<Named<WorkspaceId>>) -> Vec<(WorkspaceId, String)> {
    let mut labels: Vec<(WorkspaceId, String)> = Vec::new();
    for Named { id, name } in all {
        let is_taken = |label: &String| labels.iter().any(|(_, other)| other == label);
        let label = std::iter::once(name.clone())
            .chain((2..).map(|n| format!("{name} ({n})")))
            .find(|label| !is_taken(label));
        labels.push((id, label.unwrap_or(name)));
    }
    labels
}

#[test]
fn workspaces_that_are_called_alike_are_told_apart() {
    let all = ["Home", "Work", "Home", "Home (2)", "Home"].map(|name| Named {
        id: WorkspaceId::new(),
        name: name.to_owned(),
    });
    let labels: Vec<String> = labelled(all.to_vec())
        .into_iter()
        .map(|(_, label)| label)
        .collect();
    assert_eq!(
        labels,
        ["Home", "Work", "Home (2)", "Home (2) (2)", "Home (3)"]
    );
}
