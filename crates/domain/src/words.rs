//! Closed sets of words: one definition for Rust, the database and the wire.

/// Defines an enum whose variants have one fixed spelling each, used in the database, in JSON and in messages alike.
///
/// Gives `as_str`, `parse`, `ALL`, `Display`, serde in both directions. An unknown word is a
/// [`Refusal`](crate::error::Refusal) that lists the words allowed.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident ($what:literal) { $($(#[$vmeta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$vmeta])* $variant,)+
        }

        impl $name {
            /// Every word of the set, in the order of definition.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The one spelling used on the wire and in the database.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// Reads the exact spelling; anything else is a validation refusal that names the allowed words.
            pub fn parse(text: &str) -> Result<Self, $crate::error::Refusal> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::error::Refusal::validation(format!(
                        "{} must be one of {}",
                        $what,
                        [$($word),+].join(", "),
                    ))),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse(&text).map_err(|refusal| serde::de::Error::custom(refusal.message))
            }
        }
    };
}
