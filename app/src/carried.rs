//! Values whose type only one part of the app knows.
//!
//! What reads a type from JSON is code. Were it named where a page's data is fetched, the first file would hold the readers of all
//! pages; so what a part begins with is only [`Carried`] there, and the part opens it.

use crate::error::AppError;
use domain::error::ErrorCode;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A value on its way to a part that alone knows its type: as it was made, or as JSON when it came with the page.
#[derive(Clone)]
pub struct Carried(Form);

#[derive(Clone)]
enum Form {
    Made(Arc<dyn Made>),
    Came(Arc<RawValue>),
}

/// What a value is as long as its type is not known. The one implementation lies where values are made.
trait Made: Any + Send + Sync {
    /// Only the server writes pages: in the browser there is no need for the code.
    #[cfg(feature = "ssr")]
    fn json(&self) -> serde_json::Result<Box<RawValue>>;
}

impl<T: Serialize + Send + Sync + 'static> Made for T {
    #[cfg(feature = "ssr")]
    fn json(&self) -> serde_json::Result<Box<RawValue>> {
        serde_json::value::to_raw_value(self)
    }
}

impl Carried {
    /// Takes a value along.
    pub fn of<T: Serialize + Send + Sync + 'static>(value: T) -> Self {
        Self(Form::Made(Arc::new(value)))
    }

    /// The value.
    ///
    /// # Errors
    ///
    /// Bad request, when it is of another type: the page is older than the server.
    pub fn open<T: DeserializeOwned + Clone + 'static>(&self) -> Result<T, AppError> {
        let value = match &self.0 {
            Form::Made(made) => {
                let made: &dyn Any = &**made;
                made.downcast_ref().cloned()
            }
            // From bytes, as the answers of server functions are read.
            Form::Came(json) => serde_json::from_slice(json.get().as_bytes()).ok(),
        };
        value.ok_or_else(|| AppError::of(ErrorCode::BadRequest))
    }
}

impl PartialEq for Carried {
    /// Whether they are the same value, or came as the same text.
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Form::Came(one), Form::Came(other)) => one.get() == other.get(),
            (Form::Made(one), Form::Made(other)) => Arc::ptr_eq(one, other),
            (Form::Came(_), Form::Made(_)) | (Form::Made(_), Form::Came(_)) => false,
        }
    }
}

impl fmt::Debug for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Carried")
    }
}

impl Serialize for Carried {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            #[cfg(feature = "ssr")]
            Form::Made(made) => made
                .json()
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
            #[cfg(not(feature = "ssr"))]
            Form::Made(_) => Err(serde::ser::Error::custom("only the server writes pages")),
            Form::Came(json) => json.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Carried {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Self(Form::Came(json.into())))
    }
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_carried_arrives_by_either_way() {
        let made = Carried::of(vec!["one".to_owned()]);
        let text = serde_json::to_string(&Some(&made)).unwrap();
        assert_eq!(text, r#"["one"]"#);
        let came: Option<Carried> = serde_json::from_str(&text).unwrap();
        let again = serde_json::to_string(&came).unwrap();
        assert_eq!(again, text);
        for carried in [made, came.unwrap()] {
            assert_eq!(carried.open::<Vec<String>>().unwrap(), ["one"]);
            let error = carried.open::<Vec<u8>>().unwrap_err();
            assert_eq!(error.code(), ErrorCode::BadRequest);
        }
    }
}
