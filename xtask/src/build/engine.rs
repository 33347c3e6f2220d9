//! The utility classes: `encre-css` with our theme, and the few corrections it needs.
//!
//! Given a class, the engine says its rules or why there are none. What is ours here, on top of the library:
//!
//! - **Theme.** Each colour token of `style/tokens.css` is a colour (`bg-surface`, `text-muted`, `border-line/50`).
//!   The library's own palette is refused: a colour outside the tokens has no dark counterpart.
//! - **House utilities** that the library lacks or gets wrong (`size-4`, `rotate-90`, `text-13`): written as other
//!   utilities or as one declaration, with all variants.
//! - **`dark:`** follows the choice on `<html data-theme>` and, without one, the system.
//! - **Order.** Wider breakpoints come later, and `max-*` ones narrower later; the library keeps no such order.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use encre_css::config::DarkMode;
use encre_css::{Config, Preflight, Scanner};

/// Stands in for the theme's selector until both forms of a `dark:` rule are written.
const DARK: &str = ".dark-theme-of-the-house";
const DARK_CHOSEN: &str = ":root[data-theme=\"dark\"]";
const DARK_BY_SYSTEM: &str = ":root:not([data-theme=\"light\"])";

/// Colour families of the library's palette.
const PALETTE: [&str; 22] = [
    "red", "orange", "amber", "yellow", "lime", "green", "emerald", "teal", "cyan", "sky", "blue",
    "indigo", "violet", "purple", "fuchsia", "pink", "rose", "slate", "gray", "zinc", "neutral",
    "stone",
];

/// Utilities said in other utilities or in one declaration.
const HOUSE: [(&str, &str); 15] = [
    ("rounded", "rounded-md"),
    ("shadow", "shadow-sm"),
    ("ring-inset", "[--en-ring-inset:inset]"),
    ("overflow-clip", "[overflow:clip]"),
    ("overflow-x-clip", "[overflow-x:clip]"),
    ("overflow-y-clip", "[overflow-y:clip]"),
    ("wrap-anywhere", "[overflow-wrap:anywhere]"),
    ("hyphens-auto", "[hyphens:auto]"),
    ("grid-cols-subgrid", "[grid-template-columns:subgrid]"),
    ("grid-rows-subgrid", "[grid-template-rows:subgrid]"),
    // The type scale: no other size is part of the design.
    ("text-12", "text-[0.75rem]"),
    ("text-13", "text-[0.8125rem]"),
    ("text-14", "text-[0.875rem]"),
    ("text-16", "text-[1rem]"),
    ("text-20", "text-[1.25rem]"),
];

/// Turns classes into rules.
pub(crate) struct Engine {
    config: Config,
}

impl Engine {
    /// An engine whose theme knows the colours `colours` (names without dashes in front).
    pub(crate) fn new<'a>(colours: impl IntoIterator<Item = &'a str>) -> Self {
        let mut config = Config::default();
        config.preflight = Preflight::new_none();
        config.theme.dark_mode = DarkMode::new_class(DARK);
        for name in colours {
            config
                .theme
                .colors
                .add(name.to_owned(), format!("var(--{name})"));
        }
        config
            .theme
            .aria
            .add("current", "current]:not([aria-current=false]");
        config.theme.aria.add("invalid", "invalid=\"true\"");
        config.scanner = Scanner::from_fn(|text| text.split_whitespace().collect());
        Self { config }
    }

    /// The library's reset with the defaults of the variables its rules read.
    pub(crate) fn reset() -> String {
        let mut config = Config::default();
        config.preflight = Preflight::new_full()
            .font_family_sans("var(--sans)")
            .font_family_mono("var(--mono)");
        encre_css::generate([], &config)
    }

    /// Why `class` gets no rule; `None` when it gets one.
    pub(crate) fn refusal(&self, class: &str) -> Option<String> {
        let (_, base) = split_variants(class);
        if let Some(family) = palette_family(base) {
            return Some(format!("`{family}` is no colour of style/tokens.css"));
        }
        if base
            .rsplit_once('/')
            .is_some_and(|(_, alpha)| alpha.parse::<f64>().is_ok_and(|alpha| alpha > 100.0))
        {
            return Some("more than 100 per cent".to_owned());
        }
        let css = self.rules(&BTreeSet::from([class]));
        if css.is_empty() {
            return Some("no rule".to_owned());
        }
        // The library takes any number Rust can read for a length.
        let nonsense = ["NaN", "inf"].iter().find(|number| {
            ["rem", "px", "%", "deg", "ms"]
                .iter()
                .any(|unit| css.contains(&format!("{number}{unit}")))
        });
        nonsense.map(|number| format!("`{number}` is no number"))
    }

    /// The rules of all `classes` in the order in which the cascade needs them; those without a rule add nothing.
    pub(crate) fn rules(&self, classes: &BTreeSet<&str>) -> String {
        let (dark, plain): (BTreeSet<&str>, BTreeSet<&str>) = classes
            .iter()
            .partition(|class| split_variants(class).0.contains(&"dark"));
        let mut chunks = self.generate(&plain);
        for chunk in self.generate(&dark) {
            chunks.push(chunk.replace(DARK, DARK_CHOSEN));
            let by_system = chunk.replace(DARK, DARK_BY_SYSTEM);
            chunks.push(format!(
                "@media (prefers-color-scheme: dark) {{\n{by_system}\n}}"
            ));
        }
        chunks.join("\n")
    }

    /// One text a rule.
    fn generate(&self, classes: &BTreeSet<&str>) -> Vec<String> {
        let mut config = self.config.clone();
        for class in classes {
            if let Some(meaning) = house_meaning(class) {
                config.shortcuts.add((*class).to_owned(), meaning);
            }
        }
        let css = encre_css::generate(classes.iter().copied(), &config);
        let mut chunks = split_rules(&css);
        chunks.sort_by_key(|chunk| Breakpoint::of(chunk));
        chunks
    }
}

/// Variants and what they apply to: `md:hover:flex` → `["md", "hover"]`, `flex`. Colons in brackets do not split.
fn split_variants(class: &str) -> (Vec<&str>, &str) {
    let mut depth = 0_usize;
    let mut start = 0;
    let mut variants = Vec::new();
    for (at, c) in class.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => {
                variants.push(&class[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    (variants, &class[start..])
}

fn palette_family(base: &str) -> Option<&'static str> {
    let mut words = base.split('/').next()?.rsplit('-');
    let shade = words.next()?;
    let family = words.next()?;
    let is_shade = matches!(shade.len(), 2 | 3) && shade.bytes().all(|byte| byte.is_ascii_digit());
    PALETTE.into_iter().find(|name| is_shade && *name == family)
}

/// What a class means in the library's words, when the house decides it.
fn house_meaning(class: &str) -> Option<String> {
    let (variants, base) = split_variants(class);
    let (base, important) = match base.strip_prefix('!').or_else(|| base.strip_suffix('!')) {
        Some(base) => (base, "!"),
        None => (base, ""),
    };
    let fixed = HOUSE
        .iter()
        .find(|(name, _)| *name == base)
        .map(|(_, meaning)| vec![(*meaning).to_owned()]);
    let meanings = fixed
        .or_else(|| size(base))
        .or_else(|| rotate(base))
        // A trailing `!` is today's way to write it; the library knows the leading one.
        .or_else(|| class.ends_with('!').then(|| vec![base.to_owned()]))?;
    let prefix: String = variants.iter().flat_map(|variant| [variant, ":"]).collect();
    let written = meanings
        .iter()
        .map(|meaning| format!("{prefix}{important}{meaning}"));
    Some(written.collect::<Vec<_>>().join(" "))
}

fn size(base: &str) -> Option<Vec<String>> {
    let value = base.strip_prefix("size-")?;
    Some(vec![format!("w-{value}"), format!("h-{value}")])
}

/// The library turns `rotate-90` about the horizontal axes, where nothing is left to see.
fn rotate(base: &str) -> Option<Vec<String>> {
    let (sign, rest) = match base.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", base),
    };
    let degrees: u16 = rest.strip_prefix("rotate-")?.parse().ok()?;
    Some(vec![format!("[rotate:{sign}{degrees}deg]")])
}

/// Splits at blank lines outside braces.
fn split_rules(css: &str) -> Vec<String> {
    let mut rules: Vec<String> = Vec::new();
    let mut depth = 0_isize;
    for part in css.split("\n\n").filter(|part| !part.trim().is_empty()) {
        match rules.last_mut() {
            Some(open) if depth > 0 => {
                open.push_str("\n\n");
                open.push_str(part);
            }
            _ => rules.push(part.to_owned()),
        }
        for byte in part.bytes() {
            depth += isize::from(byte == b'{') - isize::from(byte == b'}');
        }
    }
    rules
}

/// Where a rule belongs by the condition in its first line. Widths are in hundredths of a pixel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Breakpoint {
    Always,
    Below(Reverse<u64>),
    From(u64),
}

impl Breakpoint {
    fn of(rule: &str) -> Self {
        let condition = |sign: &str| {
            let (_, after) = rule.lines().next()?.split_once(sign)?;
            let length = after.split(')').next()?.trim();
            let (number, scale) = match length.strip_suffix("rem") {
                Some(number) => (number, 1600.0),
                None => (length.strip_suffix("px")?, 100.0),
            };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "widths are small and positive"
            )]
            number
                .parse::<f64>()
                .ok()
                .map(|number| (number * scale) as u64)
        };
        condition("width >= ")
            .map(Self::From)
            .or_else(|| condition("width < ").map(|width| Self::Below(Reverse(width))))
            .unwrap_or(Self::Always)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine() -> Engine {
        Engine::new(["surface", "muted", "line"])
    }

    fn css(classes: &[&str]) -> String {
        let text = engine().rules(&classes.iter().copied().collect());
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn theme_colours_variants_and_arbitrary_values_have_rules() {
        assert_eq!(
            css(&["bg-surface"]),
            ".bg-surface { background-color: var(--surface); }"
        );
        for class in [
            "bg-surface/50",
            "text-muted",
            "border-line",
            "md:grid-cols-3",
            "focus-visible:ring-2",
            "grid-cols-[272px_1fr]",
            "dark:hover:bg-surface",
            "aria-current:font-bold",
            "group-hover:opacity-100",
            "motion-reduce:transition-none",
            "pb-[env(safe-area-inset-bottom)]",
            "data-[state=open]:flex",
            "-mt-1",
        ] {
            assert_eq!(engine().refusal(class), None, "{class}");
        }
    }

    #[test]
    fn typos_foreign_colours_and_nonsense_are_refused() {
        for class in [
            "flx",
            "itms-center",
            "bg-surfce",
            "text-mutd",
            "hovr:flex",
            "p-4x",
            "bg-red-500",
            "md:text-slate-50/50",
            "p-nan",
            "w-infinity",
            "size-foo",
            "rotate-foo",
            "text-15",
            "bg-surface/500",
        ] {
            assert!(engine().refusal(class).is_some(), "{class}");
        }
    }

    #[test]
    fn house_utilities_take_variants() {
        assert_eq!(
            css(&["hover:rotate-90"]),
            r".hover\:rotate-90:hover { rotate: 90deg; }"
        );
        assert_eq!(css(&["-rotate-45"]), ".-rotate-45 { rotate: -45deg; }");
        assert_eq!(css(&["mt-0!"]), r".mt-0\! { margin-top: 0px !important; }");
        let size = css(&["md:size-4"]);
        assert!(
            size.contains("width: 1rem") && size.contains("height: 1rem"),
            "{size}"
        );
        assert!(size.contains(r".md\:size-4"), "{size}");
    }

    #[test]
    fn dark_follows_the_choice_and_else_the_system() {
        assert_eq!(
            css(&["dark:hover:bg-surface"]),
            ":root[data-theme=\"dark\"] .dark\\:hover\\:bg-surface:hover { background-color: var(--surface); } \
             @media (prefers-color-scheme: dark) { :root:not([data-theme=\"light\"]) \
             .dark\\:hover\\:bg-surface:hover { background-color: var(--surface); } }"
        );
    }

    #[test]
    fn breakpoints_are_in_the_order_the_cascade_needs() {
        let text = css(&[
            "xl:p-1",
            "max-sm:p-1",
            "p-1",
            "sm:p-1",
            "lg:hover:p-1",
            "max-lg:p-1",
            "md:p-1",
            "hover:p-1",
        ]);
        let at = |class: &str| text.find(class).unwrap();
        let order = [
            ".p-1", ".hover", ".max-lg", ".max-sm", ".sm", ".md", ".lg", ".xl",
        ];
        assert!(
            order.windows(2).all(|pair| at(pair[0]) < at(pair[1])),
            "{text}"
        );
    }

    #[test]
    fn brackets_keep_their_colons() {
        assert_eq!(
            split_variants("md:[&:hover]:p-1"),
            (vec!["md", "[&:hover]"], "p-1")
        );
    }
}
