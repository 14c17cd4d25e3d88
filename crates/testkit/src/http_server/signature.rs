//! Whether a request was signed by somebody's keys: Amazon's signature, version 4, in the query of an address.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// Keys of somebody.
#[derive(Clone, Debug)]
pub struct Keys {
    /// Who it is.
    pub id: String,
    /// What only they and the server know.
    pub secret: String,
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length will do");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Keys {
    /// Whether they have signed it.
    pub fn have_signed(&self, method: &str, target: &str, host: Option<&str>) -> bool {
        let (Some((path, query)), Some(host)) = (target.split_once('?'), host) else { return false };
        let mut parts: Vec<&str> = query.split('&').collect();
        parts.sort_unstable();
        let value = |name: &str| parts.iter().find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
        let (Some(given), Some(by), Some(date)) =
            (value("X-Amz-Signature"), value("X-Amz-Credential"), value("X-Amz-Date"))
        else {
            return false;
        };
        let by = by.replace("%2F", "/");
        let Some((id, scope)) = by.split_once('/') else { return false };
        let signed = parts.iter().filter(|part| !part.starts_with("X-Amz-Signature=")).copied();
        let signed = signed.collect::<Vec<_>>().join("&");
        let request = format!("{method}\n{path}\n{signed}\nhost:{host}\n\nhost\nUNSIGNED-PAYLOAD");
        let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", hex(&Sha256::digest(request.as_bytes())));
        let key = scope.split('/').fold(format!("AWS4{}", self.secret).into_bytes(), |key, part| hmac(&key, part));
        id == self.id && hex(&hmac(&key, &text)) == given
    }
}
