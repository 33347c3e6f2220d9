//! Where a tooltip or a menu goes: below what it belongs to, or above when there is no room, and always within the window.

use leptos::prelude::window;
use web_sys::HtmlElement;

/// A box in window coordinates, CSS pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Area {
    /// Distance from the left edge.
    pub(super) x: f64,
    /// Distance from the top edge.
    pub(super) y: f64,
    /// Width.
    pub(super) w: f64,
    /// Height.
    pub(super) h: f64,
}

/// How a floating box lines up with its anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    /// Middle under middle.
    Middle,
    /// Right edge under right edge.
    End,
}

const GAP: f64 = 6.0;
const MARGIN: f64 = 8.0;

/// Top left corner of a box of size `w` by `h` that belongs to `anchor`, in a window of `window.0` by `window.1`.
#[must_use]
pub(super) fn place(
    anchor: Area,
    (w, h): (f64, f64),
    window: (f64, f64),
    align: Align,
) -> (f64, f64) {
    let below = anchor.y + anchor.h + GAP;
    let above = anchor.y - GAP - h;
    let fits_below = below + h + MARGIN <= window.1;
    let y = if fits_below || above < MARGIN {
        below
    } else {
        above
    };
    let x = match align {
        Align::Middle => anchor.x + (anchor.w - w) / 2.0,
        Align::End => anchor.x + anchor.w - w,
    };
    // The far edge first: in a window narrower than the box, its beginning stays readable.
    (
        x.min(window.0 - w - MARGIN).max(MARGIN),
        y.min(window.1 - h - MARGIN).max(MARGIN),
    )
}

/// Moves `float`, which must be shown and `position: fixed`, to its place beside `anchor`.
pub(super) fn float_beside(float: &HtmlElement, anchor: &HtmlElement, align: Align) {
    let at = anchor.get_bounding_client_rect();
    let size = float.get_bounding_client_rect();
    let side = |value: Result<wasm_bindgen::JsValue, _>| {
        value.ok().and_then(|v| v.as_f64()).unwrap_or(0.0)
    };
    let window = (side(window().inner_width()), side(window().inner_height()));
    let anchor = Area {
        x: at.x(),
        y: at.y(),
        w: at.width(),
        h: at.height(),
    };
    let (x, y) = place(anchor, (size.width(), size.height()), window, align);
    // Through the object model, which the content security policy allows; a style attribute in markup it does not.
    for (name, value) in [("left", x), ("top", y)] {
        // Whole pixels: nobody sees the rest, and printing fractions takes more code than this file.
        let pixels = value.round() as i32;
        let _ = float.style().set_property(name, &format!("{pixels}px"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHIP: Area = Area {
        x: 100.0,
        y: 100.0,
        w: 40.0,
        h: 20.0,
    };

    #[test]
    fn below_and_centred_where_there_is_room() {
        assert_eq!(
            place(CHIP, (60.0, 30.0), (1000.0, 800.0), Align::Middle),
            (90.0, 126.0)
        );
        assert_eq!(
            place(CHIP, (60.0, 30.0), (1000.0, 800.0), Align::End),
            (80.0, 126.0)
        );
    }

    #[test]
    fn above_at_the_bottom_of_the_window() {
        let low = Area { y: 770.0, ..CHIP };
        assert_eq!(
            place(low, (60.0, 30.0), (1000.0, 800.0), Align::Middle),
            (90.0, 734.0)
        );
    }

    #[test]
    fn never_beyond_an_edge_even_on_a_narrow_phone() {
        for x in [-50.0, 0.0, 150.0, 310.0] {
            let (left, top) = place(
                Area { x, ..CHIP },
                (280.0, 60.0),
                (320.0, 480.0),
                Align::Middle,
            );
            assert!(left >= MARGIN && left + 280.0 <= 320.0 - MARGIN, "{left}");
            assert!(top >= MARGIN);
        }
        let (left, _) = place(CHIP, (400.0, 60.0), (320.0, 480.0), Align::End);
        assert!((left - MARGIN).abs() < f64::EPSILON);
    }
}
