//! Holds the colour tokens of `style/tokens.css` to WCAG 2.2 AA: 4.5:1 for text, 3:1 for icons and control borders.

use std::collections::BTreeMap;
use std::path::Path;

use super::stylesheet::Stylesheet;

/// Luminance of an `oklch(L C H)` colour, out-of-gamut channels clipped as a screen does.
fn luminance(colour: &str) -> f64 {
    let inner = colour
        .trim()
        .strip_prefix("oklch(")
        .unwrap()
        .strip_suffix(')')
        .unwrap();
    let numbers: Vec<f64> = inner
        .split_whitespace()
        .map(|number| number.parse().unwrap())
        .collect();
    let [lightness, chroma, hue] = numbers[..] else {
        panic!("{colour} has no three numbers")
    };
    let (a, b) = (
        chroma * hue.to_radians().cos(),
        chroma * hue.to_radians().sin(),
    );
    let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548 * b).powi(3);
    let red = 4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s;
    let green = -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s;
    let blue = -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701 * s;
    0.2126 * red.clamp(0.0, 1.0) + 0.7152 * green.clamp(0.0, 1.0) + 0.0722 * blue.clamp(0.0, 1.0)
}

fn ratio(one: &str, other: &str) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn black_on_white_is_21_to_1() {
    assert!((ratio("oklch(0 0 0)", "oklch(1 0 0)") - 21.0).abs() < 0.01);
}

#[test]
fn every_pair_of_tokens_is_readable_in_light_and_dark() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../style/tokens.css");
    let sheet = Stylesheet::parse(&std::fs::read_to_string(file).unwrap()).unwrap();
    // Token → light, dark.
    let tokens: BTreeMap<&str, [&str; 2]> = sheet
        .properties
        .iter()
        .filter_map(|(name, value)| {
            let (light, dark) = value
                .strip_prefix("light-dark(")?
                .strip_suffix(')')?
                .split_once("), ")?;
            Some((
                name.trim_start_matches('-'),
                [&value["light-dark(".len()..][..light.len() + 1], dark],
            ))
        })
        .collect();
    let backs = ["bg", "surface", "sunken", "hover"];
    let inks = [
        "text", "muted", "accent", "waiting", "running", "review", "done", "failed",
    ];
    let mut pairs = vec![
        ("accent-ink", "accent", 4.5),
        ("accent-ink", "accent-hover", 4.5),
        ("autopilot-ink", "autopilot", 4.5),
    ];
    for back in backs {
        pairs.extend(inks.map(|ink| (ink, back, 4.5)));
        pairs.push(("edge", back, 3.0));
    }
    let mut faults = Vec::new();
    for (ink, back, least) in pairs {
        for (theme, at) in [("light", 0), ("dark", 1)] {
            let found = ratio(tokens[ink][at], tokens[back][at]);
            if found < least {
                faults.push(format!(
                    "{theme}: {ink} on {back} is {found:.2}, at least {least} is needed"
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
