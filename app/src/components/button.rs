//! Buttons. A press that is not possible now is said with `aria-disabled`, not `disabled`: focus stays where it is, and assistive
//! technology can still find the button.

use super::glyph::Glyph;
use super::icon::Icon;
use super::tooltip::Tooltip;
use leptos::prelude::*;

/// How much a button asks for attention. At most one `Primary` in sight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weight {
    /// The one thing to do here.
    Primary,
    /// One of several things.
    #[default]
    Plain,
    /// Beside the point, or one of many in a row.
    Quiet,
    /// Takes something away.
    Danger,
}

const BUTTON_CLASS: &str = "inline-flex items-center justify-center gap-1.5 h-8 px-3 max-sm:h-11 max-sm:px-4 rounded-md border \
                            text-13 font-medium whitespace-nowrap select-none transition-opacity \
                            aria-disabled:opacity-50";

const fn weight_class(weight: Weight) -> &'static str {
    match weight {
        Weight::Primary => "bg-accent text-accent-ink border-transparent hover:bg-accent-hover",
        Weight::Plain => "bg-surface text-text border-line hover:bg-hover",
        Weight::Quiet => {
            "bg-transparent text-muted border-transparent hover:bg-hover hover:text-text"
        }
        Weight::Danger => "bg-surface text-failed border-line hover:bg-hover",
    }
}

/// A button with words on it.
#[component]
pub fn Button(
    /// See [`Weight`].
    #[prop(optional)]
    weight: Weight,
    /// Stands before the words; becomes a spinner while `busy`.
    #[prop(optional)]
    glyph: Option<Glyph>,
    /// What it does is under way; pressing again does nothing.
    #[prop(optional, into)]
    busy: Signal<bool>,
    /// It cannot be pressed at present.
    #[prop(optional, into)]
    disabled: Signal<bool>,
    /// `submit` for the one that sends a form.
    #[prop(default = "button")]
    kind: &'static str,
    /// What a press does. A submit button has none: its form has.
    #[prop(optional)]
    on_press: Option<Callback<()>>,
    /// For tests.
    #[prop(optional)]
    test_id: Option<&'static str>,
    /// The words.
    children: Children,
) -> impl IntoView {
    let blocked = move || busy.get() || disabled.get();
    let button_class = [BUTTON_CLASS, weight_class(weight)].join(" ");
    view! {
        <button
            type=kind
            class=button_class
            data-testid=test_id
            aria-disabled=move || blocked().then_some("true")
            aria-busy=move || busy.get().then_some("true")
            on:click=move |event| {
                if busy.get_untracked() || disabled.get_untracked() {
                    event.prevent_default();
                } else if let Some(on_press) = on_press {
                    on_press.run(());
                }
            }
        >
            {move || {
                if busy.get() {
                    Some(view! { <Icon glyph=Glyph::LoaderCircle class="w-4 h-4 spin"/> })
                } else {
                    glyph.map(|glyph| view! { <Icon glyph/> })
                }
            }}
            {children()}
        </button>
    }
    .into_any()
}

const ICON_BUTTON_CLASS: &str = "inline-flex items-center justify-center shrink-0 w-7 h-7 max-sm:w-11 max-sm:h-11 rounded-md \
                                 text-muted hover:bg-hover hover:text-text aria-pressed:bg-hover aria-pressed:text-text";

/// A button with only an icon on it. Its label is its name and its tooltip.
#[component]
pub fn IconButton(
    /// What is on it.
    #[prop(into)]
    glyph: Signal<Glyph>,
    /// What it does, in a word or three.
    #[prop(into)]
    label: TextProp,
    /// Whether it is on, for one that switches something.
    #[prop(optional)]
    pressed: Option<Signal<bool>>,
    /// Whether what it controls is unfolded, for one that shows or hides something.
    #[prop(optional)]
    expanded: Option<Signal<bool>>,
    /// For tests.
    #[prop(optional)]
    test_id: Option<&'static str>,
    /// What a press does.
    on_press: Callback<()>,
) -> impl IntoView {
    let name = label.clone();
    view! {
        <Tooltip text=label let:tip>
            <button
                type="button"
                class=ICON_BUTTON_CLASS
                data-testid=test_id
                aria-label=move || name.get()
                aria-describedby=tip
                aria-pressed=move || pressed.map(|on| on.get().to_string())
                aria-expanded=move || expanded.map(|on| on.get().to_string())
                on:click=move |_| on_press.run(())
            >
                {move || view! { <Icon glyph=glyph.get()/> }}
            </button>
        </Tooltip>
    }
    .into_any()
}

/// A link with only an icon on it. Its label is its name and its tooltip.
#[component]
pub fn IconLink(
    /// What is on it.
    glyph: Glyph,
    /// Where it leads, in a word or three.
    #[prop(into)]
    label: TextProp,
    /// Where it leads.
    href: &'static str,
) -> impl IntoView {
    let name = label.clone();
    view! {
        <Tooltip text=label let:tip>
            <a class=ICON_BUTTON_CLASS href=href aria-label=move || name.get() aria-describedby=tip>
                <Icon glyph/>
            </a>
        </Tooltip>
    }
    .into_any()
}
