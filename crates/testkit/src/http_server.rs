//! A server of files on the loopback, as real ones are on bad days: it breaks off, forgets ranges, changes its files, is slow, and
//! asks for signatures.
//!
//! `/path` is a file of its; `/bucket/key` are those of a bucket by paths, as S3 has them, with lists of two objects a page.

mod signature;

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use signature::Keys;

/// What goes wrong with an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is this status, without the file.
    Status(u16),
    /// It ends after so many bytes of the body.
    Short(usize),
    /// The connection ends without one.
    Closed,
    /// It comes later.
    Late(Duration),
    /// The file has changed: other bytes, and another version.
    Changed,
}

/// See the module. It goes with its last connection after this.
pub struct HttpServer {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    files: Mutex<BTreeMap<String, Arc<Vec<u8>>>>,
    /// For the next answers, one each.
    faults: Mutex<VecDeque<Fault>>,
    /// The requests so far: their paths and ranges.
    log: Mutex<Vec<(String, Option<String>)>>,
    without_ranges: AtomicBool,
    without_length: AtomicBool,
    /// Whoever asks has to have signed it by these.
    keys: Mutex<Option<Keys>>,
    ended: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HttpServer {
    /// A server without files.
    pub fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let (address, state) = (listener.local_addr()?, Arc::new(State::default()));
        let served = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if served.ended.load(Ordering::Relaxed) {
                    break;
                }
                let state = served.clone();
                // Whoever closes a connection has no interest in the rest.
                std::thread::spawn(move || stream.map(|stream| state.serve(&stream)));
            }
        });
        Ok(Self { address, state })
    }

    /// Its host and port.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// The address of a file.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// Has a file.
    pub fn put(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        lock(&self.state.files).insert(path.to_owned(), Arc::new(bytes.into()));
    }

    /// What goes wrong with the next answers, one each.
    pub fn fail(&self, faults: impl IntoIterator<Item = Fault>) {
        lock(&self.state.faults).extend(faults);
    }

    /// Nothing goes wrong from here on.
    pub fn clear(&self) {
        lock(&self.state.faults).clear();
    }

    /// It knows no ranges; `without_length`: and does not tell how long files are.
    pub fn forget_ranges(&self, without_length: bool) {
        self.state.without_ranges.store(true, Ordering::Relaxed);
        self.state.without_length.store(without_length, Ordering::Relaxed);
    }

    /// Whoever asks has to have signed it by these.
    pub fn ask_for(&self, keys: Keys) {
        *lock(&self.state.keys) = Some(keys);
    }

    /// The requests since this was asked last: their paths and ranges.
    pub fn take_log(&self) -> Vec<(String, Option<String>)> {
        std::mem::take(&mut lock(&self.state.log))
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::Relaxed);
        // Whoever listens looks.
        let _ = TcpStream::connect(self.address);
    }
}

/// What is asked for.
#[derive(Default)]
struct Request {
    method: String,
    target: String,
    headers: BTreeMap<String, String>,
}

impl Request {
    fn read(from: &mut impl BufRead) -> Option<Self> {
        let mut line = String::new();
        from.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let mut parts = line.split(' ');
        let (method, target) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            from.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        Some(Self { method, target, headers })
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The path without its query, decoded.
    fn path(&self) -> String {
        decoded(self.target.split('?').next().unwrap_or_default().trim_start_matches('/'))
    }

    /// The parts of its query, decoded.
    fn query(&self) -> BTreeMap<String, String> {
        let parts = self.target.split_once('?').map_or("", |(_, query)| query).split('&');
        parts.filter_map(|part| part.split_once('=')).map(|(name, value)| (decoded(name), decoded(value))).collect()
    }
}

/// A byte as forms have it.
fn encoded(byte: u8) -> String {
    match byte {
        b' ' => "+".into(),
        b'/' | b'.' | b'-' | b'_' => char::from(byte).into(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).into(),
        _ => format!("%{byte:02X}"),
    }
}

/// A part of an address without its escapes.
fn decoded(text: &str) -> String {
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        let code = text.get(at + 1..at + 3).and_then(|code| u8::from_str_radix(code, 16).ok());
        match (bytes[at], code) {
            (b'%', Some(code)) => {
                out.push(code);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

impl State {
    /// Answers the requests of a connection, one after the other.
    fn serve(&self, stream: &TcpStream) -> Option<()> {
        let mut from = BufReader::new(stream);
        while let Some(request) = Request::read(&mut from) {
            self.answer(&request, stream)?;
        }
        None
    }

    /// Answers; none: the connection ends.
    fn answer(&self, request: &Request, mut to: &TcpStream) -> Option<()> {
        let path = request.path();
        lock(&self.log).push((path.clone(), request.header("range").map(str::to_owned)));
        let fault = lock(&self.faults).pop_front();
        let mut version = 1;
        match &fault {
            Some(Fault::Closed) => return None,
            Some(Fault::Status(status)) => {
                write!(to, "HTTP/1.1 {status} As Told\r\nContent-Length: 0\r\n\r\n").ok()?;
                return Some(());
            }
            Some(Fault::Late(by)) => std::thread::sleep(*by),
            Some(Fault::Changed) => version = 2,
            _ => {}
        }
        if lock(&self.keys)
            .as_ref()
            .is_some_and(|keys| !keys.have_signed(&request.method, &request.target, request.header("host")))
        {
            write!(to, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n").ok()?;
            return Some(());
        }
        if request.query().contains_key("list-type") {
            let list = self.list(&path, &request.query());
            write!(to, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{list}", list.len()).ok()?;
            return Some(());
        }
        let Some(bytes) = lock(&self.files).get(&path).cloned() else {
            write!(to, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").ok()?;
            return Some(());
        };
        let tag = format!("\"{version}\"");
        if request.header("if-match").is_some_and(|wanted| wanted != tag) {
            write!(to, "HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n").ok()?;
            return Some(());
        }
        let range = request.header("range").filter(|_| !self.without_ranges.load(Ordering::Relaxed));
        let range = range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
        let range = range.and_then(|(from, to)| Some((from.parse::<usize>().ok()?, to.parse::<usize>().ok()?)));
        let body = match range {
            Some((from, _)) if from >= bytes.len() => {
                let (len, nothing) = (bytes.len(), "Content-Length: 0\r\n\r\n");
                write!(to, "HTTP/1.1 416 Beyond\r\nContent-Range: bytes */{len}\r\n{nothing}").ok()?;
                return Some(());
            }
            Some((from, last)) => {
                let last = last.min(bytes.len() - 1);
                let of = format!("Content-Range: bytes {from}-{last}/{}", bytes.len());
                write!(to, "HTTP/1.1 206 Partial Content\r\n{of}\r\nContent-Length: {}\r\n", last - from + 1).ok()?;
                &bytes[from..=last]
            }
            None => {
                write!(to, "HTTP/1.1 200 OK\r\n").ok()?;
                match self.without_length.load(Ordering::Relaxed) {
                    true => write!(to, "Connection: close\r\n").ok()?,
                    false => write!(to, "Content-Length: {}\r\n", bytes.len()).ok()?,
                }
                &bytes[..]
            }
        };
        write!(to, "ETag: {tag}\r\n\r\n").ok()?;
        if let Some(Fault::Short(most)) = fault {
            to.write_all(&body[..most.min(body.len())]).ok()?;
            return None;
        }
        to.write_all(body).ok()?;
        (range.is_some() || !self.without_length.load(Ordering::Relaxed)).then_some(())
    }

    /// A page of the objects of a bucket.
    fn list(&self, bucket: &str, query: &BTreeMap<String, String>) -> String {
        const PAGE: usize = 2;
        let bucket = format!("{}/", bucket.trim_end_matches('/'));
        let begin = query.get("prefix").map_or("", String::as_str);
        let from: usize = query.get("continuation-token").and_then(|from| from.parse().ok()).unwrap_or(0);
        let files = lock(&self.files);
        let keys = files.iter().filter_map(|(path, bytes)| Some((path.strip_prefix(&bucket)?, bytes.len())));
        let keys: Vec<_> = keys.filter(|(key, _)| key.starts_with(begin)).collect();
        let mut out = String::from("<?xml version=\"1.0\"?><ListBucketResult><EncodingType>url</EncodingType>");
        for (key, size) in keys.iter().skip(from).take(PAGE) {
            let key: String = key.bytes().map(encoded).collect();
            let about = "<LastModified>2026-01-01T00:00:00Z</LastModified><ETag>1</ETag>";
            out += &format!("<Contents><Key>{key}</Key><Size>{size}</Size>{about}</Contents>");
        }
        if from + PAGE < keys.len() {
            out += &format!("<NextContinuationToken>{}</NextContinuationToken>", from + PAGE);
        }
        out + "</ListBucketResult>"
    }
}
