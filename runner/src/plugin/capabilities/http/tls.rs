//! TLS for outgoing requests: the system's certificate authorities, and one file beside them.

use std::{path::Path, sync::Arc};

use tokio_rustls::rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};

/// Settings for clients. The error is for a person.
pub(crate) fn settings(ca_file: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    let (_, unusable) = roots.add_parsable_certificates(system.certs);
    if let Some(error) = system.errors.first() {
        tracing::warn!(%error, "some of the system's certificate authorities cannot be read");
    }
    if let Some(path) = ca_file {
        let wrong = |why: String| format!("cannot read {}: {why}", path.display());
        let listed =
            CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?;
        let mut taken = 0;
        for certificate in listed {
            let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
            roots
                .add(certificate)
                .map_err(|error| wrong(error.to_string()))?;
            taken += 1;
        }
        if taken == 0 {
            return Err(wrong("it holds no certificate in PEM form".into()));
        }
    }
    if roots.is_empty() {
        return Err(
            "no certificate authority is known: install the system's (ca-certificates), or name a file with `ca_file` under [capabilities]"
                .into(),
        );
    }
    tracing::debug!(
        known = roots.len(),
        unusable,
        "certificate authorities are read"
    );
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("cannot set up TLS: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ca.pem");
        let said = |path: &Path| settings(Some(path)).unwrap_err();
        assert!(said(&path).contains("ca.pem"));
        std::fs::write(&path, "hello").unwrap();
        assert!(said(&path).contains("no certificate"));
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        std::fs::write(&path, broken).unwrap();
        assert!(said(&path).contains("ca.pem"));
    }
}
