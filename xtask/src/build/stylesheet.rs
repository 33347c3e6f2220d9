//! Reads a style sheet far enough to know its rules: selectors with the at-rules around them, and custom properties.
//!
//! It serves three questions: which classes are written by hand in `style/`, whether a rule stands twice, and which
//! tokens exist. It understands comments, strings and nesting; it does not judge values.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

/// One style rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rule {
    /// The at-rules and outer selectors around it, outermost first.
    pub(crate) context: Vec<String>,
    /// The selector, white space folded.
    pub(crate) selector: String,
}

/// The rules and custom properties of one text.
#[derive(Debug, Default)]
pub(crate) struct Stylesheet {
    /// Style rules in the order of the text, nested ones too.
    pub(crate) rules: Vec<Rule>,
    /// Custom properties with their values, in the order of the text.
    pub(crate) properties: Vec<(String, String)>,
}

impl Stylesheet {
    /// Parses `css`. Fails on braces that do not match.
    pub(crate) fn parse(css: &str) -> Result<Self> {
        let mut sheet = Self::default();
        let mut open: Vec<String> = Vec::new();
        let mut text = String::new();
        let mut parens = 0_usize;
        let mut rest = css.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '/' if rest.peek() == Some(&'*') => {
                    rest.next();
                    let mut last = ' ';
                    for c in rest.by_ref() {
                        if last == '*' && c == '/' {
                            break;
                        }
                        last = c;
                    }
                }
                '"' | '\'' => {
                    text.push(c);
                    while let Some(inner) = rest.next() {
                        text.push(inner);
                        if inner == '\\' {
                            text.extend(rest.next());
                        } else if inner == c {
                            break;
                        }
                    }
                }
                '\\' => {
                    text.push(c);
                    text.extend(rest.next());
                }
                '(' | ')' => {
                    parens = if c == '(' {
                        parens + 1
                    } else {
                        parens.saturating_sub(1)
                    };
                    text.push(c);
                }
                '{' => {
                    let prelude = fold(&text);
                    text.clear();
                    if !prelude.starts_with('@')
                        && !open.iter().any(|outer| is_descriptor_block(outer))
                    {
                        sheet.rules.push(Rule {
                            context: open.clone(),
                            selector: prelude.clone(),
                        });
                    }
                    open.push(prelude);
                }
                '}' => {
                    sheet.declaration(&text);
                    text.clear();
                    if open.pop().is_none() {
                        bail!("a closing brace without an opening one");
                    }
                }
                ';' if parens == 0 => {
                    sheet.declaration(&text);
                    text.clear();
                }
                other => text.push(other),
            }
        }
        if let Some(unclosed) = open.pop() {
            bail!("`{unclosed}` is never closed");
        }
        Ok(sheet)
    }

    fn declaration(&mut self, text: &str) {
        if let Some((name, value)) = text.split_once(':')
            && name.trim().starts_with("--")
        {
            self.properties.push((name.trim().to_owned(), fold(value)));
        }
    }

    /// Every class that some selector mentions, unescaped.
    pub(crate) fn classes(&self) -> BTreeSet<String> {
        self.rules
            .iter()
            .flat_map(|rule| classes_in(&rule.selector))
            .collect()
    }

    /// Rules that stand more than once with the same selector under the same at-rules.
    pub(crate) fn duplicates(&self) -> BTreeSet<Rule> {
        let mut seen = BTreeSet::new();
        self.rules
            .iter()
            .filter(|rule| !seen.insert(*rule))
            .cloned()
            .collect()
    }
}

/// At-rules whose blocks hold descriptors or frames, not style rules.
fn is_descriptor_block(prelude: &str) -> bool {
    [
        "@keyframes",
        "@-webkit-keyframes",
        "@font-face",
        "@property",
    ]
    .iter()
    .any(|name| prelude.starts_with(name))
}

fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn classes_in(selector: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = selector.chars().peekable();
    let mut quote = None;
    while let Some(c) = rest.next() {
        match (c, quote) {
            ('\\', _) => {
                rest.next();
            }
            (c, Some(end)) if c == end => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) => quote = Some(c),
            ('.', None) => {
                let mut name = String::new();
                while let Some(&next) = rest.peek() {
                    if next == '\\' {
                        rest.next();
                        name.extend(rest.next());
                    } else if next.is_alphanumeric() || next == '-' || next == '_' {
                        name.push(next);
                        rest.next();
                    } else {
                        break;
                    }
                }
                // `.5` in a selector's argument is a number.
                if !name.starts_with(|c: char| c.is_ascii_digit()) && !name.is_empty() {
                    found.push(name);
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_classes_in_every_kind_of_selector() {
        let sheet = Stylesheet::parse(
            r#"
            /* .comment { } */
            @layer base { .prose > p:not(.lead, [title=".no"])::before { content: ".no {"; width: .5rem } }
            @media (width >= 40rem) { .switch[aria-checked="true"] { color: red; & .knob { left: 0 } } }
            @keyframes turn { from { rotate: 0deg } 50.5% { rotate: 1deg } }
            .w-1\/2 { background: url(data:image/svg+xml;utf8,x) }"#,
        )
        .unwrap();
        let classes: Vec<_> = sheet.classes().into_iter().collect();
        assert_eq!(classes, ["knob", "lead", "prose", "switch", "w-1/2"]);
    }

    #[test]
    fn reads_custom_properties() {
        let sheet = Stylesheet::parse(
            ":root { --bg: light-dark(\n white,\n black); color: red; --x: 1px }",
        )
        .unwrap();
        assert_eq!(
            sheet.properties,
            [
                ("--bg".into(), "light-dark( white, black)".into()),
                ("--x".into(), "1px".into())
            ]
        );
    }

    #[test]
    fn a_rule_is_a_duplicate_only_under_the_same_at_rules() {
        let sheet =
            Stylesheet::parse(".a{} @media print { .a{} } .b{} @media print { .a{} }").unwrap();
        let duplicates: Vec<_> = sheet.duplicates().into_iter().collect();
        assert_eq!(
            duplicates,
            [Rule {
                context: vec!["@media print".into()],
                selector: ".a".into()
            }]
        );
    }

    #[test]
    fn unbalanced_braces_are_an_error() {
        assert!(Stylesheet::parse(".a { color: red").is_err());
        assert!(Stylesheet::parse(".a { } }").is_err());
    }
}
