//! Settings that stand in the environment alone, since they hold secrets.

/// A variable that is set: without the space around it, and not empty.
pub(crate) fn value(variable: impl Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    variable(name)
        .map(|value| value.trim().to_owned())
        .filter(|value| !value.is_empty())
}
