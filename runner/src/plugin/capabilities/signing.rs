//! `signing`: signatures with keys that guests never hold.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::grants::snippet;
use crate::plugin::sandbox::{
    bindings::sandhog::job::signing::{self, SignError},
    state::State,
};

impl signing::Host for State {
    fn hmac_sha256(&mut self, secret: String, text: Vec<u8>) -> Result<Vec<u8>, SignError> {
        let grant = &self.grant;
        let may = |one: &super::grants::SecretGrant| one.sign && one.name == secret;
        if !grant.grants.secrets.iter().any(may) {
            let what = format!("to sign with secret {secret}");
            let lines = snippet::secret(&secret, None, true);
            return Err(SignError::Denied(self.denied("signing", &what, &lines)));
        }
        let key = grant.outside.secrets.value(&secret).map_err(|why| {
            self.journal
                .log(sandhog_model::LogLevel::Error, &why, Vec::new());
            SignError::Unavailable(format!("secret {secret} cannot be had now"))
        })?;
        let mut mac = Hmac::<Sha256>::new_from_slice(key.bytes()).map_err(|_| {
            SignError::Unavailable(format!("secret {secret} is no key of this kind"))
        })?;
        mac.update(&text);
        Ok(mac.finalize().into_bytes().to_vec())
    }
}
