//! A route as data: where, what it is called with, what it answers. Router, OpenAPI document and coverage test are made of it.

use super::extract::Wire;
use crate::state::AppState;
use axum::handler::Handler;
use axum::routing::{MethodRouter, delete, get, patch, post, put};
use http::Method;

/// One method on one address.
#[derive(Debug)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The address, with `{name}` for what varies.
    pub path: &'static str,
    /// What answers.
    pub handler: MethodRouter<AppState>,
    /// A sentence for the document.
    pub summary: &'static str,
    /// What may stand behind the question mark.
    pub query: &'static [Parameter],
    /// The schema of the body it takes.
    pub body: Option<&'static str>,
    /// Status and kind of the answer when all went well.
    pub answer: (u16, Answer),
    /// The schema of what it answers when it was not done.
    pub error: &'static str,
}

/// What an answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Nothing.
    Empty,
    /// JSON of this schema.
    Json(&'static str),
    /// Text of this media type.
    Text(&'static str),
}

/// A query parameter.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its JSON Schema, as text.
    pub schema: &'static str,
    /// What it does.
    pub description: &'static str,
}

impl Route {
    fn new(method: Method, path: &'static str, handler: MethodRouter<AppState>) -> Self {
        Self {
            method,
            path,
            handler,
            summary: "",
            query: &[],
            body: None,
            answer: (200, Answer::Empty),
            error: "Error",
        }
    }

    /// Reads.
    pub fn get<T: 'static>(path: &'static str, handler: impl Handler<T, AppState>) -> Self {
        Self::new(Method::GET, path, get(handler))
    }

    /// Makes or does something.
    pub fn post<T: 'static>(path: &'static str, handler: impl Handler<T, AppState>) -> Self {
        Self::new(Method::POST, path, post(handler))
    }

    /// Changes something.
    pub fn patch<T: 'static>(path: &'static str, handler: impl Handler<T, AppState>) -> Self {
        Self::new(Method::PATCH, path, patch(handler))
    }

    /// Changes something, or puts it in order.
    pub fn put<T: 'static>(path: &'static str, handler: impl Handler<T, AppState>) -> Self {
        Self::new(Method::PUT, path, put(handler))
    }

    /// Removes something.
    pub fn delete<T: 'static>(path: &'static str, handler: impl Handler<T, AppState>) -> Self {
        Self::new(Method::DELETE, path, delete(handler))
    }

    /// What it is for.
    pub const fn says(mut self, summary: &'static str) -> Self {
        self.summary = summary;
        self
    }

    /// What may be asked for.
    pub const fn asks(mut self, query: &'static [Parameter]) -> Self {
        self.query = query;
        self
    }

    /// The body it takes.
    pub fn takes<T: Wire>(mut self) -> Self {
        self.body = Some(T::SCHEMA);
        self
    }

    /// As [`Self::takes`], for a body that is read leniently.
    pub const fn takes_as(mut self, schema: &'static str) -> Self {
        self.body = Some(schema);
        self
    }

    /// Its errors are of this schema.
    pub const fn fails_with(mut self, schema: &'static str) -> Self {
        self.error = schema;
        self
    }

    /// It answers 200 with JSON.
    pub const fn answers(mut self, schema: &'static str) -> Self {
        self.answer = (200, Answer::Json(schema));
        self
    }

    /// It answers 201 with JSON.
    pub const fn creates(mut self, schema: &'static str) -> Self {
        self.answer = (201, Answer::Json(schema));
        self
    }

    /// It answers 200 with text of this media type.
    pub const fn writes(mut self, media_type: &'static str) -> Self {
        self.answer = (200, Answer::Text(media_type));
        self
    }

    /// It answers 204.
    pub const fn answers_nothing(mut self) -> Self {
        self.answer = (204, Answer::Empty);
        self
    }
}
