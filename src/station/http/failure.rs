//! What a broken connection means.

use crate::station::error::StationError;

pub(super) fn connection_error(station: &str, error: &reqwest::Error) -> StationError {
    let cause = chain(error);
    if let Some(reason) = certificate_reason(error) {
        return StationError::Certificate {
            station: station.to_owned(),
            cause: reason,
        };
    }
    StationError::Unreachable {
        station: station.to_owned(),
        cause,
    }
}

/// The innermost causes carry the news; the outermost repeats the address, which the caller names anyway.
pub(super) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut causes: Vec<String> = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !causes.iter().any(|known| known.contains(&text)) {
            causes.push(text);
        }
        next = cause.source();
    }
    if causes.is_empty() {
        return error.to_string();
    }
    causes.join(": ")
}

fn certificate_reason(error: &reqwest::Error) -> Option<String> {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(cause) = next {
        if let Some(tls) = tls_error(cause) {
            return match tls {
                // Our own certificate checks speak through this variant.
                rustls::Error::General(reason) => Some(reason.clone()),
                rustls::Error::InvalidCertificate(_) => Some(tls.to_string()),
                _ => None,
            };
        }
        next = cause.source();
    }
    None
}

/// I/O errors hide what they carry from `source()`, and may carry one another.
fn tls_error<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e rustls::Error> {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(tls);
    }
    tls_error(error.downcast_ref::<std::io::Error>()?.get_ref()?)
}
