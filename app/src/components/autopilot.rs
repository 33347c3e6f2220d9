//! The autopilot mark of a task in a list, and the switch that makes one, in the subtask dialog and nowhere else.

use super::dom_id::dom_id;
use super::glyph::Glyph;
use super::icon::Icon;
use super::switch::Switch;
use super::tooltip::Tooltip;
use crate::i18n::{t, use_locale};
use leptos::prelude::*;

/// The mark of an autopilot task. One label serves pointer, keyboard and assistive technology; it can be reached with Tab, since a
/// tooltip that only a pointer can reach is none for many.
#[component]
pub fn AutopilotIcon() -> impl IntoView {
    let locale = use_locale();
    let label = t!(locale, task.autopilot_mode);
    view! {
        <Tooltip text=label let:tip>
            <span
                role="img"
                tabindex="0"
                class="autopilot-icon"
                data-testid="task-autopilot-icon"
                aria-label=label
                aria-describedby=tip
            >
                <Icon glyph=Glyph::Bot/>
            </span>
        </Tooltip>
    }
}

/// The Autopilot row of the subtask dialog: label, help, switch, and the button that explains.
#[component]
pub fn AutopilotSwitchRow(
    /// Off to begin with; fixed once the subtask is made.
    on: RwSignal<bool>,
) -> impl IntoView {
    let locale = use_locale();
    let help = dom_id();
    view! {
        <div class="flex items-center gap-3 py-1" data-testid="autopilot-toggle-row">
            <div class="flex-1 min-w-0">
                <label for="task-autopilot-toggle" class="text-14 font-medium">
                    {t!(locale, task.autopilot)}
                </label>
                <p id=help.clone() class="text-12 text-muted">{t!(locale, task.autopilot_help)}</p>
            </div>
            <Tooltip text=t!(locale, task.autopilot_info) on_press=true let:tip>
                <button
                    type="button"
                    class="inline-flex items-center justify-center w-7 h-7 max-sm:w-11 max-sm:h-11 rounded-md text-muted hover:text-text"
                    data-testid="autopilot-info"
                    aria-label=t!(locale, task.autopilot_about)
                    aria-describedby=tip
                >
                    <Icon glyph=Glyph::Info/>
                </button>
            </Tooltip>
            <Switch id="task-autopilot-toggle" label=t!(locale, task.autopilot) described_by=help on/>
        </div>
    }
    .into_any()
}
