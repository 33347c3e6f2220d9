//! What an operator prefers on this device: theme, locale, widths, time zone, and the workspace looked at last. Kept in cookies, because the server must know them
//! to paint the first frame right.
//!
//! One cookie a preference, all named `fd_…`, none secret, all readable to the page. A cookie is outside data: whatever does not
//! parse is the default.

use crate::i18n::{self, Locale};
use domain::ids::WorkspaceId;
use leptos::prelude::*;

/// The narrowest and the widest sidebar, and the one to begin with, in CSS pixels.
pub const SIDEBAR_WIDTH: (u16, u16, u16) = (208, 480, 272);

/// Light, dark, or what the system says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// Follows the system.
    #[default]
    System,
    /// Always light.
    Light,
    /// Always dark.
    Dark,
}

impl Theme {
    /// The value of `<html data-theme>` and of the cookie.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// The one after this in the order of the toggle.
    #[must_use]
    pub const fn next(self) -> Self {
        match self {
            Self::System => Self::Light,
            Self::Light => Self::Dark,
            Self::Dark => Self::System,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::System, Self::Light, Self::Dark]
            .into_iter()
            .find(|theme| theme.as_str() == text)
    }
}

/// The preferences as the first frame needs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefs {
    /// Light, dark or system.
    pub theme: Theme,
    /// The locale of the page.
    pub locale: Locale,
    /// Width of the sidebar in CSS pixels, within [`SIDEBAR_WIDTH`].
    pub sidebar_width: u16,
    /// Whether the sidebar is shown on wide screens.
    pub sidebar_open: bool,
    /// Whether the right panel of a task is shown on wide screens.
    pub panel_open: bool,
    /// Minutes that local time is ahead of UTC. Learned from the browser at its first visit.
    pub utc_offset_min: i16,
    /// The workspace that was looked at last: for pages that belong to none.
    pub workspace: Option<WorkspaceId>,
}

impl Prefs {
    /// Reads a `Cookie` header (or `document.cookie`, which has the same form).
    #[must_use]
    pub fn parse(cookies: &str, accept_language: Option<&str>) -> Self {
        let (min, max, initial) = SIDEBAR_WIDTH;
        Self {
            theme: cookie(cookies, "fd_theme")
                .and_then(Theme::parse)
                .unwrap_or_default(),
            locale: i18n::choose(cookie(cookies, "fd_locale"), accept_language),
            sidebar_width: cookie(cookies, "fd_sidebar_width")
                .and_then(|text| text.parse().ok())
                .unwrap_or(initial)
                .clamp(min, max),
            sidebar_open: cookie(cookies, "fd_sidebar") != Some("closed"),
            panel_open: cookie(cookies, "fd_panel") != Some("closed"),
            utc_offset_min: cookie(cookies, "fd_utc_offset")
                .and_then(|text| text.parse().ok())
                .filter(|minutes| (-14 * 60..=14 * 60).contains(minutes))
                .unwrap_or(0),
            workspace: cookie(cookies, "fd_workspace").and_then(|text| text.parse().ok()),
        }
    }

    /// The preferences of the request being answered.
    #[cfg(feature = "ssr")]
    #[must_use]
    pub fn of_request() -> Self {
        let Some(parts) = use_context::<http::request::Parts>() else {
            return Self::parse("", None);
        };
        let header = |name| {
            parts
                .headers
                .get(name)
                .and_then(|value: &http::HeaderValue| value.to_str().ok())
        };
        Self::parse(
            header(http::header::COOKIE).unwrap_or_default(),
            header(http::header::ACCEPT_LANGUAGE),
        )
    }

    /// The preferences of the page that this code runs in. The locale is the one the page was rendered in.
    #[cfg(not(feature = "ssr"))]
    #[must_use]
    pub fn of_page() -> Self {
        use wasm_bindgen::JsCast;
        let document = document();
        let cookies = document
            .dyn_ref::<web_sys::HtmlDocument>()
            .and_then(|document| document.cookie().ok())
            .unwrap_or_default();
        let rendered_in = document
            .document_element()
            .and_then(|html| html.get_attribute("lang"));
        Self {
            locale: i18n::choose(rendered_in.as_deref(), None),
            ..Self::parse(&cookies, None)
        }
    }
}

/// The preferences as signals. Setting one through the methods also keeps it.
#[derive(Debug, Clone, Copy)]
pub struct Preferences {
    /// See [`Prefs::theme`].
    pub theme: RwSignal<Theme>,
    /// See [`Prefs::sidebar_width`].
    pub sidebar_width: RwSignal<u16>,
    /// See [`Prefs::sidebar_open`].
    pub sidebar_open: RwSignal<bool>,
    /// See [`Prefs::panel_open`].
    pub panel_open: RwSignal<bool>,
    /// See [`Prefs::utc_offset_min`].
    pub utc_offset_min: RwSignal<i16>,
    /// See [`Prefs::workspace`].
    pub workspace: RwSignal<Option<WorkspaceId>>,
}

impl Preferences {
    /// Puts preferences and locale into the context of the app.
    #[must_use]
    pub fn provide() -> Self {
        #[cfg(feature = "ssr")]
        let prefs = Prefs::of_request();
        #[cfg(not(feature = "ssr"))]
        let prefs = Prefs::of_page();
        let signals = Self {
            theme: RwSignal::new(prefs.theme),
            sidebar_width: RwSignal::new(prefs.sidebar_width),
            sidebar_open: RwSignal::new(prefs.sidebar_open),
            panel_open: RwSignal::new(prefs.panel_open),
            utc_offset_min: RwSignal::new(prefs.utc_offset_min),
            workspace: RwSignal::new(prefs.workspace),
        };
        provide_context(prefs.locale);
        provide_context(signals);
        // In the browser only: effects do not run on the server.
        Effect::new(move |_| signals.learn_utc_offset());
        signals
    }

    /// Changes the theme, at once and for the visits to come.
    pub fn set_theme(self, theme: Theme) {
        self.theme.set(theme);
        if let Some(html) = document().document_element() {
            // A failure could only mean that the attribute's name is malformed.
            let _ = html.set_attribute("data-theme", theme.as_str());
        }
        keep("fd_theme", theme.as_str());
    }

    /// Chooses a locale for the visits to come and loads the page again in it.
    pub fn set_locale(self, locale: Locale) {
        use leptos_i18n::Locale as _;
        keep("fd_locale", locale.as_str());
        // Refused only while the page is already being left.
        let _ = location().reload();
    }

    /// Shows or hides the sidebar on wide screens.
    pub fn set_sidebar_open(self, open: bool) {
        self.sidebar_open.set(open);
        keep("fd_sidebar", if open { "open" } else { "closed" });
    }

    /// Shows or hides the right panel on wide screens.
    pub fn set_panel_open(self, open: bool) {
        self.panel_open.set(open);
        keep("fd_panel", if open { "open" } else { "closed" });
    }

    /// Sets the sidebar's width, within its limits.
    pub fn set_sidebar_width(self, width: u16) {
        let (min, max, _) = SIDEBAR_WIDTH;
        let width = width.clamp(min, max);
        self.sidebar_width.set(width);
        keep("fd_sidebar_width", &width.to_string());
    }

    /// Remembers the workspace that is looked at.
    pub fn set_workspace(self, id: WorkspaceId) {
        if self.workspace.get_untracked() != Some(id) {
            self.workspace.set(Some(id));
            keep("fd_workspace", &id.to_string());
        }
    }

    fn learn_utc_offset(self) {
        // The browser counts the other way round: minutes that UTC is ahead.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "an offset is less than a day"
        )]
        let minutes = -js_sys::Date::new_0().get_timezone_offset() as i16;
        if self.utc_offset_min.get_untracked() != minutes {
            self.utc_offset_min.set(minutes);
            keep("fd_utc_offset", &minutes.to_string());
        }
    }
}

/// The preferences of this page.
///
/// # Panics
/// Outside of the app, where nobody has provided them.
#[must_use]
pub fn use_preferences() -> Preferences {
    expect_context()
}

/// Keeps a preference for a year. `value` is one of our own words or a number, so nothing needs escaping.
fn keep(name: &str, value: &str) {
    use wasm_bindgen::JsCast;
    if let Some(document) = document().dyn_ref::<web_sys::HtmlDocument>() {
        // A browser that refuses cookies just forgets.
        let _ = document.set_cookie(&format!(
            "{name}={value}; Path=/; Max-Age=31536000; SameSite=Lax"
        ));
    }
}

fn cookie<'c>(cookies: &'c str, name: &str) -> Option<&'c str> {
    cookies
        .split(';')
        .find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preferences_come_from_cookies_and_junk_is_the_default() {
        let prefs = Prefs::parse(
            "a=b; fd_theme=dark; fd_sidebar_width=300; fd_sidebar=closed; fd_locale=en-XA; fd_utc_offset=-330",
            None,
        );
        assert_eq!(prefs.theme, Theme::Dark);
        assert_eq!(prefs.locale, Locale::en_XA);
        assert_eq!(
            (prefs.sidebar_width, prefs.sidebar_open, prefs.panel_open),
            (300, false, true)
        );
        assert_eq!(prefs.utc_offset_min, -330);
        let junk = "fd_theme=<b>; fd_sidebar_width=9999; fd_utc_offset=9999999; fd_workspace=1; fd_locale=; xfd_theme=dark; fd_themes=dark";
        assert_eq!(
            Prefs::parse(junk, None),
            Prefs {
                sidebar_width: 480,
                ..Prefs::parse("", None)
            }
        );
    }

    #[test]
    fn the_toggle_goes_round_all_themes() {
        assert_eq!(Theme::System.next().next().next(), Theme::System);
        assert!(
            [Theme::System, Theme::Light, Theme::Dark]
                .iter()
                .all(|t| Theme::parse(t.as_str()) == Some(*t))
        );
    }
}
