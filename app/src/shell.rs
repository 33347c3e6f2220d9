//! The HTML document around the app, on the server only.
//!
//! Promises: the first frame is right (locale, direction, theme and sidebar width are in the markup, so nothing flashes); no page
//! asks a third party for anything; no script runs without this request's nonce, and the header that says so is set here, beside
//! the scripts it speaks of.

use crate::assets::Assets;
use crate::live::LiveCursor;
use crate::prefs::Prefs;
use crate::{App, i18n};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderName, HeaderValue};
use leptos::nonce::use_nonce;
use leptos::prelude::*;
use leptos_axum::ResponseOptions;
use leptos_i18n::Locale as _;
use leptos_meta::MetaTags;

/// The whole document of one request. [`Assets`] and, for live updates without a gap, [`LiveCursor`] are taken from the context.
pub fn shell() -> impl IntoView {
    let prefs = Prefs::of_request();
    let assets = use_context::<Assets>().unwrap_or_default();
    let nonce = use_nonce();
    set_headers(nonce.as_ref().map_or("", |nonce| nonce.as_inner()));

    let cursor = use_context::<LiveCursor>().map(|cursor| {
        view! { <meta name="flightdeck-cursor" content=cursor.0.to_string()/> }
    });
    let sizes = format!(":root{{--sidebar-width:{}px}}", prefs.sidebar_width);
    // The names come from our own build, never from a request.
    let boot = format!(
        "import init,{{hydrate}} from \"{}\";init({{module_or_path:\"{}\"}}).then(hydrate)",
        assets.js, assets.wasm
    );

    let path = use_context::<http::request::Parts>()
        .map(|parts| parts.uri.path().to_owned())
        .unwrap_or_default();
    // Part and bundle come at the same time: the page is hydrated when both are there.
    let modules = assets
        .modules_of(&path)
        .map(|module| {
            view! { <link rel="preload" href=module.to_owned() r#as="fetch" r#type="application/wasm" crossorigin=""/> }
        })
        .collect_view();

    view! {
        <!DOCTYPE html>
        <html lang=prefs.locale.as_str() dir=i18n::direction(prefs.locale) data-theme=prefs.theme.as_str()>
            <head>
                <meta charset="utf-8"/>
                <meta
                    name="viewport"
                    content="width=device-width, initial-scale=1, viewport-fit=cover, interactive-widget=resizes-content"
                />
                <meta name="color-scheme" content="light dark"/>
                <link rel="icon" href="/favicon.svg" type="image/svg+xml"/>
                <link rel="stylesheet" href=assets.css.to_string()/>
                <link rel="modulepreload" href=assets.js.to_string()/>
                <link rel="modulepreload" href=assets.link.to_string()/>
                <link rel="preload" href=assets.wasm.to_string() r#as="fetch" r#type="application/wasm" crossorigin=""/>
                {modules}
                <style nonce=nonce.clone()>{sizes}</style>
                <script type="module" nonce=nonce inner_html=boot></script>
                {cursor}
                <MetaTags/>
            </head>
            <body>
                <App/>
            </body>
        </html>
    }
}

/// What a page may load and from where: only from here, scripts only with the nonce, and WebAssembly.
#[must_use]
pub fn content_security_policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; style-src 'self' 'nonce-{nonce}'; \
         img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
}

/// Puts onto the answer what a document of ours may load.
pub(crate) fn set_headers(nonce: &str) {
    // Absent when a test renders the shell without a server.
    let Some(response) = use_context::<ResponseOptions>() else {
        return;
    };
    let headers: [(HeaderName, &str); 4] = [
        (CONTENT_SECURITY_POLICY, &content_security_policy(nonce)),
        // A page shows the state of this moment; going back must not show an old one.
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "same-origin"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(value) {
            response.insert_header(name, value);
        }
    }
}
