//! Reading what agents wrote: never trusted to be there, nor to be what it should.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// A field of a JSON object, when it is there and is what it should be.
pub(super) fn field<T: DeserializeOwned>(object: &Value, key: &str) -> Option<T> {
    T::deserialize(object.get(key)?).ok()
}
