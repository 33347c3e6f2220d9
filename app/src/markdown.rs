//! Markdown of agents and operators as HTML that is safe to put into a page.
//!
//! The text is untrusted: an agent repeats what it has read anywhere. So raw HTML in it is shown as text, the result is cleaned by an
//! allow-list all the same, links leave in a new tab without telling where from, and images, which would ask a third party for
//! something, become links.

use ammonia::{Builder, UrlRelative};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Renders `text`. Never fails: whatever is not Markdown is text.
#[must_use]
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "whatever is not named here is rendered as the library does"
)]
pub fn to_html(text: &str) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let events = Parser::new_ext(text, options).map(|event| match event {
        Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
        // A line break in a prompt was meant as one.
        Event::SoftBreak => Event::HardBreak,
        Event::Start(Tag::Image {
            link_type,
            dest_url,
            title,
            id,
        }) => Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }),
        Event::End(TagEnd::Image) => Event::End(TagEnd::Link),
        other => other,
    });
    let mut html = String::with_capacity(text.len() * 3 / 2);
    pulldown_cmark::html::push_html(&mut html, events);
    CLEANER.clean(&html).to_string()
}

static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::empty();
    builder
        .tags(HashSet::from([
            "a",
            "blockquote",
            "br",
            "code",
            "del",
            "em",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "hr",
            "input",
            "li",
            "ol",
            "p",
            "pre",
            "strong",
            "table",
            "tbody",
            "td",
            "th",
            "thead",
            "tr",
            "ul",
        ]))
        .tag_attributes(HashMap::from([
            ("a", HashSet::from(["href", "title"])),
            ("input", HashSet::from(["checked", "disabled", "type"])),
            ("ol", HashSet::from(["start"])),
        ]))
        // A task list's box, and no field that could be typed into.
        .tag_attribute_values(HashMap::from([(
            "input",
            HashMap::from([("type", HashSet::from(["checkbox"]))]),
        )]))
        .set_tag_attribute_value("input", "disabled", "")
        .set_tag_attribute_value("a", "target", "_blank")
        // Both scroll sideways when they are wide, and what scrolls must be reachable by keyboard.
        .set_tag_attribute_value("pre", "tabindex", "0")
        .set_tag_attribute_value("table", "tabindex", "0")
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(UrlRelative::Deny)
        .link_rel(Some("noopener noreferrer nofollow"));
    builder
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_markdown_is_rendered() {
        assert_eq!(
            to_html("**Hi** `x`"),
            "<p><strong>Hi</strong> <code>x</code></p>\n"
        );
        assert!(to_html("| a |\n|---|\n| 1 |").contains("<td>1</td>"));
        assert_eq!(to_html("one\ntwo"), "<p>one<br>\ntwo</p>\n");
    }

    #[test]
    fn hostile_text_does_nothing() {
        for hostile in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "[x](javascript:alert(1))",
            "[x](data:text/html,<script>)",
            "<a href=\"javascript:alert(1)\">x</a>",
            "<style>body{display:none}</style>",
            "<iframe src=//evil></iframe>",
            "<form action=/api/v1/tasks><input name=title></form>",
            "```\"><script>\nx\n```",
            "[x](/api/v1/tasks)",
        ] {
            let html = to_html(hostile);
            // Shown as text is fine; as an element or as an attribute it is not.
            let tags: Vec<&str> = html
                .split('<')
                .skip(1)
                .filter_map(|part| part.split('>').next())
                .collect();
            for bad in [
                "script",
                "img",
                "style",
                "iframe",
                "form",
                "input",
                "javascript:",
                "data:",
                "onerror",
                "\"/",
            ] {
                assert!(
                    tags.iter().all(|tag| !tag.contains(bad)),
                    "{hostile} → {html}"
                );
            }
        }
    }

    #[test]
    fn an_image_becomes_a_link_and_a_link_leaves_without_a_trace() {
        let html = to_html("![logo](https://example.com/x.png)");
        assert!(
            html.contains("href=\"https://example.com/x.png\""),
            "{html}"
        );
        assert!(
            html.contains("noreferrer")
                && html.contains("target=\"_blank\"")
                && !html.contains("<img"),
            "{html}"
        );
    }

    #[test]
    fn a_task_list_has_boxes_that_cannot_be_pressed() {
        let html = to_html("- [x] done\n- [ ] open");
        assert_eq!(html.matches("type=\"checkbox\"").count(), 2, "{html}");
        assert_eq!(html.matches("disabled").count(), 2, "{html}");
    }
}
