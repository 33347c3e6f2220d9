//! All keys, on `?`.

use super::dialog::Dialog;
use crate::i18n::{t, use_locale};
use crate::keys::{Command, Commands, MAP, words};
use leptos::prelude::*;

/// The dialog that lists the keys. It listens for its own.
#[component]
pub fn KeyHelp() -> impl IntoView {
    let locale = use_locale();
    let open = RwSignal::new(false);
    let commands: Commands = expect_context();
    commands.on(Command::Help, Callback::new(move |()| open.set(true)));
    let rows = move || {
        MAP.iter()
            .map(|(command, keys)| {
                let keys = keys
                    .iter()
                    .map(|key| view! { <kbd class="key">{*key}</kbd> })
                    .collect_view();
                view! {
                    <dt class="flex gap-1">{keys}</dt>
                    <dd>{words(locale, *command)}</dd>
                }
            })
            .collect_view()
    };
    view! {
        <Dialog open title=t!(locale, keys.heading) test_id="key-help">
            <dl class="grid grid-cols-[auto_1fr] gap-x-6 gap-y-2 p-4">{rows()}</dl>
        </Dialog>
    }
    .into_any()
}
