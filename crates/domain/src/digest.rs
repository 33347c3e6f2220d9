//! Bytes as text, and the digest of a text: for keys that are compared, never for what has to be read again.

use sha2::{Digest, Sha256};

/// Bytes in lower-case hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

/// SHA-256 of a text's bytes, in lower-case hexadecimal.
#[must_use]
pub fn sha256_hex(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_two_digits_each() {
        assert_eq!(hex(&[]), "");
        assert_eq!(hex(&[0, 1, 0x0f, 0x10, 0xa5, 0xff]), "00010f10a5ff");
    }

    #[test]
    fn the_digest_is_sha_256() {
        assert_eq!(
            sha256_hex("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
