//! Where tests take their random inputs from.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Whether the run is a long one (`FLIGHTDECK_TEST_LONG`), and the source of its random inputs. Its seed is printed, and
/// `FLIGHTDECK_TEST_SEED` repeats a run.
#[expect(
    clippy::print_stdout,
    reason = "the seed is printed, so that a failure can be repeated"
)]
pub(crate) fn chance() -> (bool, StdRng) {
    let long = std::env::var_os("FLIGHTDECK_TEST_LONG").is_some();
    let seed = std::env::var("FLIGHTDECK_TEST_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| rand::rng().random());
    println!("FLIGHTDECK_TEST_SEED={seed}");
    (long, StdRng::seed_from_u64(seed))
}
