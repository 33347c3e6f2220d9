//! AI jobs at work: what answers a message, and what brings the answer to its user.

mod seams;

pub use seams::{Channel, Deliver, Generate};
