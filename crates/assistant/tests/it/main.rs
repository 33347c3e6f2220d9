//! The assistant against a stand-in for the providers, on a real socket.

mod corpus;
mod guard;
mod limits;
mod providers;
mod support;
mod tools;
