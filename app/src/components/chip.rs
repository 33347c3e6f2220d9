//! Chips: a fact in a word, with a sentence behind it.

use super::glyph::Glyph;
use super::icon::Icon;
use super::tooltip::Tooltip;
use crate::i18n::{t, use_locale};
use leptos::prelude::*;

/// The colour of a chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// A fact.
    #[default]
    Plain,
    /// The task is in autopilot mode.
    Autopilot,
    /// Somebody is needed.
    Waiting,
    /// Something failed.
    Failed,
}

/// What is pressed is as tall as a thumb needs; what is seen stays small.
const PRESS_CLASS: &str = "inline-flex items-center max-sm:h-11 rounded-full";
const CHIP_CLASS: &str = "inline-flex items-center gap-1 h-6 max-sm:h-7 px-2 rounded-full border text-12 font-medium \
                          whitespace-nowrap";

const fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "bg-surface text-muted border-line hover:text-text",
        Tone::Autopilot => "bg-autopilot text-autopilot-ink border-transparent",
        Tone::Waiting => "bg-surface text-waiting border-waiting/50",
        Tone::Failed => "bg-surface text-failed border-failed/50",
    }
}

/// A chip with a tooltip. It is a button, since a tap must show the tooltip where nothing can be pointed at.
#[component]
pub fn Chip(
    /// See [`Tone`].
    #[prop(optional)]
    tone: Tone,
    /// Stands before the word.
    glyph: Glyph,
    /// The word.
    #[prop(into)]
    text: TextProp,
    /// The sentence: its tooltip and its name. It must contain the word, so that speech control finds the chip by what is seen.
    #[prop(into)]
    sentence: TextProp,
    /// What a press does, for a chip that acts. Without it a press shows the sentence.
    #[prop(optional)]
    on_press: Option<Callback<()>>,
    /// For tests.
    #[prop(optional)]
    test_id: Option<&'static str>,
) -> impl IntoView {
    let name = sentence.clone();
    let chip_class = [CHIP_CLASS, tone_class(tone)].join(" ");
    view! {
        <Tooltip text=sentence on_press=on_press.is_none() let:tip>
            <button
                type="button"
                class=PRESS_CLASS
                data-testid=test_id
                aria-label=move || name.get()
                aria-describedby=tip
                on:click=move |_| {
                    if let Some(on_press) = on_press {
                        on_press.run(());
                    }
                }
            >
                <span class=chip_class>
                    <Icon glyph class="w-3.5 h-3.5"/>
                    {move || text.get()}
                </span>
            </button>
        </Tooltip>
    }
    .into_any()
}

/// Says in the status row that the task is in autopilot mode.
#[component]
pub fn AutopilotChip() -> impl IntoView {
    let locale = use_locale();
    view! {
        <Chip
            tone=Tone::Autopilot
            glyph=Glyph::Bot
            text=t!(locale, task.autopilot)
            sentence=t!(locale, task.autopilot_chip)
            test_id="chat-autopilot-chip"
        />
    }
}
