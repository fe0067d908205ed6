//! TLS for a client: the system's certificate authorities, and one file beside them.

use std::{path::Path, sync::Arc};

use tokio_rustls::rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};

use crate::error::Error;

pub(crate) fn settings(ca_file: Option<&Path>) -> Result<Arc<ClientConfig>, Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = ca_file {
        let wrong = |why: String| Error::Unusable(format!("cannot read {}: {why}", path.display()));
        let listed =
            CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?;
        let before = roots.len();
        for certificate in listed {
            let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
            roots
                .add(certificate)
                .map_err(|error| wrong(error.to_string()))?;
        }
        if roots.len() == before {
            return Err(wrong("it holds no certificate in PEM form".into()));
        }
    }
    if roots.is_empty() {
        let why = "no certificate authority is known: install the system's (ca-certificates), or name a file with `ca_file`";
        return Err(Error::Unusable(why.into()));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Unusable(format!("cannot set up TLS: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
