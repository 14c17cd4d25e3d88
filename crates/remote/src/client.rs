//! Requests: one at a time in a thread, tried again where that may help.

use std::io::ErrorKind;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use base::{CancelToken, Error, Result, SqlState};
use ureq::http::{HeaderMap, Response, StatusCode};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, Timeout};

use crate::LOOK;
use crate::place::Place;
use crate::threads::Threads;

/// Longest time between two tries.
const LONGEST: Duration = Duration::from_secs(10);
/// How long a connection may take.
const CONNECTING: Duration = Duration::from_secs(10);

/// Who asks servers: connections that are kept, and the threads that wait for answers.
#[derive(Default)]
pub struct Client {
    agent: OnceLock<Agent>,
    pub(crate) threads: Threads,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

/// Why a try has failed.
pub(crate) enum Failure {
    /// Another may succeed.
    Passing(Error),
    Final(Error),
}

/// What is asked for.
pub(crate) struct Request<'a> {
    pub place: &'a Place,
    /// How the file is called in errors.
    pub name: &'a str,
    pub range: Option<Range<u64>>,
    /// The version that it has to be.
    pub tag: Option<&'a str>,
    pub timeout: Duration,
}

impl Client {
    fn agent(&self) -> &Agent {
        self.agent.get_or_init(|| {
            let config = Agent::config_builder()
                .http_status_as_error(false)
                .user_agent(concat!("MorselDB/", env!("CARGO_PKG_VERSION")))
                .accept_encoding("identity")
                .timeout_connect(Some(CONNECTING))
                .max_idle_connections_per_host(16)
                .tls_config(TlsConfig::builder().root_certs(roots()).build());
            config.build().into()
        })
    }

    /// The answer to one request, if it is one that is of use: 200, 206, 416.
    pub(crate) fn ask(&self, request: &Request<'_>) -> Result<Response<Body>, Failure> {
        let Request { place, name, range, tag, timeout } = request;
        let address = place.address();
        let mut call = self.agent().get(&address);
        if let Some(range) = range {
            call = call.header("Range", format!("bytes={}-{}", range.start, range.end - 1));
        }
        if let Some(tag) = tag {
            call = call.header("If-Match", *tag);
        }
        let mut config = call.config().timeout_recv_response(Some(*timeout)).timeout_per_read(Some(*timeout));
        if is_here(&address) {
            // No proxy of the environment's is asked for what is on this machine.
            config = config.proxy(None);
        }
        let answer = config.build().call().map_err(|e| unreachable(name, &e))?;
        match answer.status() {
            StatusCode::OK | StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => Ok(answer),
            status => Err(refused(name, status, answer.headers(), matches!(place, Place::Object { .. }))),
        }
    }

    /// Does this here until it succeeds, or there is no hope, or nobody wants it any more.
    pub(crate) fn persist<T>(
        &self,
        (mut left, mut pause): (u32, Duration),
        is_wanted: &dyn Fn() -> bool,
        mut attempt: impl FnMut() -> Result<T, Failure>,
    ) -> Result<T> {
        loop {
            match attempt() {
                Ok(done) => return Ok(done),
                Err(Failure::Passing(_)) if left > 0 && is_wanted() => {
                    std::thread::sleep(pause.min(LONGEST));
                    (left, pause) = (left - 1, pause.saturating_mul(3));
                }
                Err(Failure::Final(error) | Failure::Passing(error)) => return Err(error),
            }
        }
    }

    /// Has this done by one of the threads, and waits for it as long as that is wanted.
    pub(crate) fn wait_for<T: Send + 'static>(
        &self,
        cancel: &CancelToken,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, receiver) = sync_channel(1);
        self.threads.run(move || drop(sender.send(work())));
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(done) => return done,
                Err(RecvTimeoutError::Timeout) => cancel.check()?,
                Err(RecvTimeoutError::Disconnected) => return Err(Error::internal("a request that nobody answered")),
            }
        }
    }
}

/// Whether an address is one of this machine's own.
fn is_here(address: &str) -> bool {
    let host = address.split_once("://").map_or(address, |(_, rest)| rest);
    ["localhost", "127.", "[::1]"].iter().any(|own| host.starts_with(own))
}

/// Who vouches for servers: those of the file that `SSL_CERT_FILE` names, or else those that Mozilla trusts.
fn roots() -> RootCerts {
    let given = std::env::var_os("SSL_CERT_FILE").and_then(|path| std::fs::read(path).ok());
    let Some(given) = given else { return RootCerts::WebPki };
    let certificates = parse_pem(&given).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    RootCerts::from(certificates)
}

/// A header's text.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The error for a server that gives no answer.
#[cold]
pub(crate) fn unreachable(name: &str, error: &ureq::Error) -> Failure {
    let failed = |what: &dyn std::fmt::Display| {
        Error::new(SqlState::IO_ERROR, format!("could not read file \"{name}\": {what}"))
    };
    let no_server = || Failure::Final(failed(&"there is no such server").hint("look at the name, and at the network"));
    match error {
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
            Failure::Final(Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("\"{name}\" is no address of a file")))
        }
        ureq::Error::HostNotFound => no_server(),
        // The library of names has no kind of its own for what it does not find.
        ureq::Error::Io(e) if e.to_string().contains("failed to lookup address") => no_server(),
        ureq::Error::Io(e) if e.kind() == ErrorKind::ConnectionRefused => {
            Failure::Final(failed(&"the server takes no connection"))
        }
        // What is said of certificates, or by a server that knows no encryption.
        ureq::Error::Io(e) if e.kind() == ErrorKind::InvalidData => Failure::Final(failed(e)),
        ureq::Error::Io(e) => Failure::Passing(failed(e)),
        ureq::Error::Timeout(Timeout::Connect) => Failure::Passing(failed(&"the server takes no connection")),
        ureq::Error::Timeout(_) => Failure::Passing(
            failed(&"the server does not answer in time").hint("http_timeout says how long it may take"),
        ),
        ureq::Error::ConnectionFailed | ureq::Error::Protocol(_) => Failure::Passing(failed(error)),
        _ => Failure::Final(failed(error)),
    }
}

/// The error for a server that does not give the file.
#[cold]
fn refused(name: &str, status: StatusCode, headers: &HeaderMap, is_object: bool) -> Failure {
    let answer = format!("the server answers {status}");
    let failed = || Error::new(SqlState::IO_ERROR, format!("could not read file \"{name}\": {answer}"));
    match status.as_u16() {
        404 | 410 => {
            let message = format!("file \"{name}\" does not exist");
            Failure::Final(Error::new(SqlState::UNDEFINED_FILE, message).detail(answer))
        }
        401 | 403 => {
            let message = format!("could not open file \"{name}\": permission denied");
            let error = Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message).detail(answer);
            Failure::Final(if is_object {
                error.hint("s3_access_key_id and s3_secret_access_key say who asks; there may also be no such object")
            } else {
                error
            })
        }
        412 => Failure::Final(changed(name)),
        301 | 307 | 400 if is_object && headers.contains_key("x-amz-bucket-region") => {
            let region = header(headers, "x-amz-bucket-region").unwrap_or_default();
            Failure::Final(failed().hint(format!("the bucket is elsewhere: SET s3_region = '{region}'")))
        }
        408 | 425 | 429 | 500 | 502 | 503 | 504 => Failure::Passing(failed()),
        _ => Failure::Final(failed()),
    }
}

/// The error for a file that is another one now.
#[cold]
pub(crate) fn changed(name: &str) -> Error {
    Error::new(SqlState::IO_ERROR, format!("file \"{name}\" changed while it was read")).hint("run the statement again")
}
