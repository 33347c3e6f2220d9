//! Which column a phone shows, and the way to its neighbours. The columns scroll and snap by themselves; this follows and leads.

use crate::components::button::IconButton;
use crate::components::glyph::Glyph;
use crate::i18n::{plural, t, use_locale};
use crate::pages::workbench::use_workbench;
use leptos::html::Div;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlElement, ScrollBehavior, ScrollToOptions};

/// The bar above the columns on phones.
#[component]
pub fn Navigator(
    /// What the columns scroll in.
    scroller: NodeRef<Div>,
    /// The column in sight.
    shown: RwSignal<usize>,
) -> impl IntoView {
    let locale = use_locale();
    let workbench = use_workbench();

    Effect::new(move |_| {
        let Some(board) = scroller.get() else { return };
        // A phone begins with the first column that has something in it.
        if is_paged(&board) {
            let first = workbench.steps.with_untracked(|steps| {
                untrack(|| {
                    steps
                        .iter()
                        .position(|step| !workbench.cards(step.id).is_empty())
                })
            });
            show(&board, first.unwrap_or(0), ScrollBehavior::Instant);
        }
    });

    let go = move |step: isize| {
        Callback::new(move |()| {
            let Some(board) = scroller.get_untracked() else {
                return;
            };
            if let Some(at) = shown.get_untracked().checked_add_signed(step) {
                // Smoothly, where movement is wanted: that is said in the style.
                show(&board, at, ScrollBehavior::Auto);
            }
        })
    };
    let place = Memo::new(move |_| {
        let at = shown.get();
        workbench.steps.with(|steps| {
            let step = steps.get(at);
            let (name, color) = step
                .map(|step| (step.name.clone(), step.color.clone()))
                .unwrap_or_default();
            let cards = step.map_or(0, |step| workbench.cards(step.id).len());
            (name, color, cards, at + 1, steps.len())
        })
    });
    view! {
        <nav class="board-navigator" data-testid="mobile-board-navigator" aria-label=t!(locale, board.steps)>
            <IconButton glyph=Glyph::ChevronLeft label=t!(locale, board.previous_step) on_press=go(-1)/>
            <span class="flex flex-1 min-w-0 items-center justify-center gap-2" aria-live="polite">
                <span class="board-dot" data-color=move || place.with(|(_, color, ..)| color.clone()) aria-hidden="true"></span>
                <span class="min-w-0 truncate font-semibold">{move || place.with(|(name, ..)| name.clone())}</span>
                <span class="text-12 text-muted">
                    <span aria-hidden="true">{move || place.with(|(_, _, cards, ..)| *cards)}</span>
                    <span class="sr-only">{move || place.with(|(_, _, cards, ..)| plural!(locale, board.tasks, *cards))}</span>
                </span>
                <span class="text-12 text-muted">
                    {move || place.with(|(.., n, of)| t!(locale, board.column_of, n = *n, of = *of))}
                </span>
            </span>
            <IconButton glyph=Glyph::ChevronRight label=t!(locale, board.next_step) on_press=go(1)/>
        </nav>
    }
    .into_any()
}

/// The board was scrolled, by whatever: notes which column is in sight.
pub fn follow(event: &Event, shown: RwSignal<usize>) {
    let board = event
        .current_target()
        .and_then(|target| target.dyn_into::<HtmlElement>().ok());
    if let Some(at) = board.map(|board| column_at(&board))
        && shown.get_untracked() != at
    {
        shown.set(at);
    }
}

/// Whether one column fills the board.
fn is_paged(board: &HtmlElement) -> bool {
    let first = board.first_element_child();
    first.is_some_and(|first| first.client_width() + 32 >= board.client_width())
}

/// The column that is at the left edge, or nearest to it.
fn column_at(board: &HtmlElement) -> usize {
    let left = board.get_bounding_client_rect().x();
    let columns = board.children();
    let distance = |at: u32| {
        columns.item(at).map_or(f64::MAX, |column| {
            (column.get_bounding_client_rect().x() - left).abs()
        })
    };
    let nearest = (0..columns.length()).min_by(|a, b| distance(*a).total_cmp(&distance(*b)));
    nearest.and_then(|at| usize::try_from(at).ok()).unwrap_or(0)
}

fn show(board: &HtmlElement, at: usize, behavior: ScrollBehavior) {
    let Some(column) = u32::try_from(at)
        .ok()
        .and_then(|at| board.children().item(at))
    else {
        return;
    };
    let by = column.get_bounding_client_rect().x() - board.get_bounding_client_rect().x();
    let options = ScrollToOptions::new();
    options.set_left(f64::from(board.scroll_left()) + by);
    options.set_behavior(behavior);
    board.scroll_to_with_scroll_to_options(&options);
}
