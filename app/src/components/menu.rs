//! A button with a menu: the browser's own popover (it opens without WASM, closes on Escape and on a press elsewhere, and gives
//! focus back), with the arrow keys of a menu. On phones it is a sheet at the bottom, by style alone.

use super::dom_id::dom_id;
use super::glyph::Glyph;
use super::icon::Icon;
use super::placement::{Align, float_beside};
use leptos::html::{Button, Div};
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

/// One thing to do.
#[derive(Debug, Clone)]
pub struct MenuItem {
    /// What it does. No other item of the menu has the same.
    pub label: String,
    /// Stands before the label.
    pub glyph: Glyph,
    /// It takes something away.
    pub danger: bool,
    /// Does it. The menu is closed by then and focus is back on its button.
    pub on_choose: Callback<()>,
}

const MENU_BUTTON_CLASS: &str = "inline-flex items-center justify-center shrink-0 w-7 h-7 max-sm:w-11 max-sm:h-11 \
                                 rounded-md text-muted hover:bg-hover hover:text-text";

/// A button that opens a menu.
#[component]
pub fn Menu(
    /// What the menu is about: the name of the button and of the menu.
    #[prop(into)]
    label: TextProp,
    /// What is on the button.
    #[prop(default = Glyph::Ellipsis)]
    glyph: Glyph,
    /// The look of the button.
    #[prop(default = MENU_BUTTON_CLASS)]
    button_class: &'static str,
    /// Write the label on the button, under the glyph.
    #[prop(optional)]
    labelled: bool,
    /// Written on the button, beside the glyph. The label says it too.
    #[prop(optional, into)]
    text: Option<Signal<String>>,
    /// What can be done.
    #[prop(into)]
    items: Signal<Vec<MenuItem>>,
    /// For tests.
    #[prop(optional)]
    test_id: Option<&'static str>,
) -> impl IntoView {
    let id = dom_id();
    let (of_button, written, of_menu) = (label.clone(), label.clone(), label);
    let button = NodeRef::<Button>::new();
    let menu = NodeRef::<Div>::new();
    let open = RwSignal::new(false);
    // Made when it opens: a board has a menu on every card. While it is open what stays the same stays, so that news about
    // what the menu is for never takes a button away under a press.
    let content = move || {
        open.get().then(|| {
            view! {
                <For
                    each=move || items.get()
                    key=|item| item.label.clone()
                    children=move |item| item_view(item, items, menu)
                />
            }
        })
    };
    view! {
        <button
            node_ref=button
            type="button"
            class=button_class
            data-testid=test_id
            popovertarget=id.clone()
            aria-label=move || of_button.get()
            aria-haspopup="menu"
            aria-expanded=move || open.get().to_string()
        >
            <Icon glyph class=if labelled { "w-5 h-5" } else { "w-4 h-4" }/>
            {labelled.then(|| written.get())}
            {text.map(|text| view! {
                <span class="flex-1 min-w-0 truncate text-start">{text}</span>
                <Icon glyph=Glyph::ChevronDown class="w-4 h-4 shrink-0 text-muted"/>
            })}
        </button>
        <div
            node_ref=menu
            id=id
            popover="auto"
            role="menu"
            class="menu"
            aria-label=move || of_menu.get()
            on:toggle=move |_| {
                let (Some(menu), Some(button)) = (menu.get_untracked(), button.get_untracked()) else { return };
                let now_open = menu.matches(":popover-open").unwrap_or(false);
                open.set(now_open);
                if now_open {
                    // The content is put in by an effect of its own; in the next frame it is there.
                    request_animation_frame(move || {
                        float_beside(&menu, &button, Align::End);
                        focus_item(&menu, Move::First);
                    });
                }
            }
            on:keydown=move |event| {
                let Some(menu) = menu.get_untracked() else { return };
                let movement = match event.key().as_str() {
                    "ArrowDown" => Move::Next,
                    "ArrowUp" => Move::Previous,
                    "Home" => Move::First,
                    "End" => Move::Last,
                    // A menu is one stop in the order of the page.
                    "Tab" => {
                        let _ = menu.hide_popover();
                        return;
                    }
                    _ => return,
                };
                event.prevent_default();
                focus_item(&menu, movement);
            }
        >
            {content}
        </div>
    }
    .into_any()
}

fn item_view(item: MenuItem, items: Signal<Vec<MenuItem>>, menu: NodeRef<Div>) -> impl IntoView {
    let MenuItem {
        label,
        glyph,
        danger,
        on_choose: _,
    } = item;
    let chosen = label.clone();
    let item_class = if danger {
        "menu-item text-failed"
    } else {
        "menu-item"
    };
    view! {
        <button
            type="button"
            role="menuitem"
            tabindex="-1"
            class=item_class
            on:click=move |_| {
                if let Some(menu) = menu.get_untracked() {
                    // Refused only when it is closed already.
                    let _ = menu.hide_popover();
                }
                choose(items, &chosen);
            }
        >
            <Icon glyph/>
            {label}
        </button>
    }
}

/// Does what the item of this label does now: the button may be older than the newest items.
fn choose(items: Signal<Vec<MenuItem>>, label: &str) {
    // The items are made for this call and are gone with it.
    Owner::new().with(|| {
        let items = items.get_untracked();
        if let Some(item) = items.iter().find(|item| item.label == label) {
            item.on_choose.run(());
        }
    });
}

#[derive(Clone, Copy)]
enum Move {
    First,
    Last,
    Next,
    Previous,
}

fn focus_item(menu: &HtmlElement, movement: Move) {
    let Ok(items) = menu.query_selector_all("[role=menuitem]") else {
        return;
    };
    let count = items.length();
    if count == 0 {
        return;
    }
    let focused = document().active_element();
    let at = (0..count).find(|i| items.get(*i).as_ref() == focused.as_ref().map(AsRef::as_ref));
    let next = match (movement, at) {
        (Move::First, _) | (Move::Next, None) => 0,
        (Move::Last, _) | (Move::Previous, None) => count - 1,
        (Move::Next, Some(at)) => (at + 1) % count,
        (Move::Previous, Some(at)) => (at + count - 1) % count,
    };
    if let Some(item) = items
        .get(next)
        .and_then(|node| node.dyn_into::<HtmlElement>().ok())
    {
        let _ = item.focus();
    }
}
