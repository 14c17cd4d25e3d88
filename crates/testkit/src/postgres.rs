//! A PostgreSQL server of our own to compare answers with: started from the system's package in a temporary folder, reached
//! over a socket there with the simple query protocol (PostgreSQL's manual, "Frontend/Backend Protocol"), stopped when
//! dropped.

use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use engine::rows::NULL;

/// A running server.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    /// Its data and its socket.
    folder: PathBuf,
    /// Whose processes the server's are: PostgreSQL refuses to run as root.
    user: Option<(u32, u32)>,
    databases: AtomicUsize,
}

impl Postgres {
    /// Starts a server; none where PostgreSQL is not installed.
    pub fn start() -> Option<io::Result<Self>> {
        newest_programs().map(Self::start_in)
    }

    fn start_in(programs: PathBuf) -> io::Result<Self> {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("morsel-postgres-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder)?;
        let mut server = Self { programs, folder, user: None, databases: AtomicUsize::new(0) };
        if std::fs::metadata("/proc/self")?.uid() == 0 {
            server.user = Some(unprivileged_user()?);
            chown(&server.folder, server.user.map(|u| u.0), server.user.map(|u| u.1))?;
        }
        let sorts = ["--encoding=UTF8", "--lc-collate=C", "--lc-ctype=C.UTF-8", "--lc-messages=C"];
        server.run("initdb", &[&["--no-sync", "--auth=trust", "--username=postgres"], &sorts[..]].concat())?;
        let folder = server.folder.display();
        let options = format!(
            "-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off -c timezone=UTC -c shared_buffers=16MB"
        );
        let log = server.folder.join("log").display().to_string();
        server.run("pg_ctl", &["start", "--wait", "--silent", "--log", &log, "--options", &options])?;
        Ok(server)
    }

    /// Runs one of PostgreSQL's programs on the server's data.
    fn run(&self, program: &str, arguments: &[&str]) -> io::Result<()> {
        let mut command = Command::new(self.programs.join(program));
        command.arg("--pgdata").arg(self.folder.join("data")).args(arguments).current_dir(&self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        match command.status()? {
            status if status.success() => Ok(()),
            status => Err(io::Error::other(format!("{program} ends with {status}"))),
        }
    }

    /// A connection to a new, empty database.
    pub fn new_database(&self) -> io::Result<Connection> {
        let name = format!("d{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let made = self.connect("postgres")?.query(&format!("CREATE DATABASE {name}"))?;
        made.map_err(|e| io::Error::other(e.to_string()))?;
        self.connect(&name)
    }

    fn connect(&self, database: &str) -> io::Result<Connection> {
        let stream = UnixStream::connect(self.folder.join(".s.PGSQL.5432"))?;
        let mut connection = Connection { stream: BufReader::new(stream) };
        let mut start = 196_608u32.to_be_bytes().to_vec();
        for text in ["user", "postgres", "database", database, "client_encoding", "UTF8", ""] {
            start.extend(text.as_bytes());
            start.push(0);
        }
        connection.send(None, &start)?;
        connection.answer()?.map_err(|e| io::Error::other(e.to_string()))?;
        Ok(connection)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Nothing can be done where the server is gone already.
        let _ = self.run("pg_ctl", &["stop", "--mode=immediate", "--silent"]);
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Where Debian's packages have the newest version's programs.
fn newest_programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten().map(|e| e.path().join("bin"));
    let version = |p: &PathBuf| p.parent()?.file_name()?.to_str()?.parse::<u32>().ok();
    versions.filter(|p| p.join("initdb").exists() && p.join("postgres").exists()).max_by_key(version)
}

/// The ids of the user and group `postgres`, or of `nobody`.
fn unprivileged_user() -> io::Result<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd")?;
    let ids = |name: &str| {
        let fields = users.lines().map(|l| l.split(':').collect::<Vec<_>>()).find(|f| f[0] == name)?;
        Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
    };
    ids("postgres").or_else(|| ids("nobody")).ok_or_else(|| io::Error::other("no user to run PostgreSQL as"))
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<UnixStream>,
}

/// What a statement gives.
#[derive(Debug, Default)]
pub struct Answer {
    /// Object ids of the columns' types; none for a statement without rows.
    pub types: Option<Vec<u32>>,
    /// Values as text; none is NULL.
    pub rows: Vec<Vec<Option<String>>>,
    /// The number in the command's tag.
    pub count: u64,
}

impl Answer {
    /// The rows as MorselDB writes them.
    pub fn text_rows(self) -> Vec<Vec<String>> {
        const BOOL: u32 = 16;
        let types = self.types.unwrap_or_default();
        let text = |(value, &type_id): (Option<String>, &u32)| match (value, type_id) {
            (None, _) => NULL.to_owned(),
            (Some(text), BOOL) => (text == "t").to_string(),
            (Some(text), _) => text,
        };
        self.rows.into_iter().map(|row| row.into_iter().zip(&types).map(text).collect()).collect()
    }
}

/// An error as PostgreSQL reports it.
#[derive(Debug, Default)]
pub struct Failure {
    /// SQLSTATE.
    pub state: String,
    /// The message.
    pub message: String,
    /// Character in the text, from 1.
    pub position: Option<u32>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.state, self.message)?;
        self.position.map_or(Ok(()), |p| write!(f, " at {p}"))
    }
}

impl std::error::Error for Failure {}

impl Connection {
    /// Runs a statement. The outer error is of the connection, the inner one of the statement.
    pub fn query(&mut self, sql: &str) -> io::Result<Result<Answer, Failure>> {
        self.send(Some(b'Q'), &[sql.as_bytes(), &[0]].concat())?;
        self.answer()
    }

    fn send(&mut self, kind: Option<u8>, body: &[u8]) -> io::Result<()> {
        let length = u32::try_from(body.len() + 4).map_err(io::Error::other)?;
        let message = [kind.as_slice(), &length.to_be_bytes(), body].concat();
        self.stream.get_mut().write_all(&message)
    }

    /// Reads messages until the server waits for the next statement.
    fn answer(&mut self) -> io::Result<Result<Answer, Failure>> {
        let mut result = Ok(Answer::default());
        loop {
            let mut head = [0; 5];
            self.stream.read_exact(&mut head)?;
            let mut body = vec![0; u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4];
            self.stream.read_exact(&mut body)?;
            let mut message = Message(&body);
            match (head[0], &mut result) {
                (b'T', Ok(answer)) => answer.types = Some(message.column_types()?),
                (b'D', Ok(answer)) => answer.rows.push(message.row()?),
                (b'C', Ok(answer)) => {
                    answer.count = message.text()?.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
                }
                (b'E', _) => result = Err(message.failure()?),
                (b'Z', _) => return Ok(result),
                _ => {}
            }
        }
    }
}

/// What is left of a message.
struct Message<'a>(&'a [u8]);

impl<'a> Message<'a> {
    fn bytes(&mut self, length: usize) -> io::Result<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(length).ok_or(io::ErrorKind::UnexpectedEof)?;
        self.0 = rest;
        Ok(first)
    }

    fn number(&mut self, length: usize) -> io::Result<u32> {
        Ok(self.bytes(length)?.iter().fold(0, |n, &b| n << 8 | u32::from(b)))
    }

    /// A text that a zero ends.
    fn text(&mut self) -> io::Result<String> {
        let end = self.0.iter().position(|&b| b == 0).ok_or(io::ErrorKind::UnexpectedEof)?;
        let text = String::from_utf8_lossy(self.bytes(end)?).into_owned();
        self.bytes(1)?;
        Ok(text)
    }

    fn column_types(&mut self) -> io::Result<Vec<u32>> {
        let column = |m: &mut Self| {
            m.text()?;
            m.bytes(6)?;
            let type_id = m.number(4)?;
            m.bytes(8)?;
            Ok(type_id)
        };
        (0..self.number(2)?).map(|_| column(self)).collect()
    }

    fn row(&mut self) -> io::Result<Vec<Option<String>>> {
        let value = |m: &mut Self| match m.number(4)? {
            u32::MAX => Ok(None),
            length => Ok(Some(String::from_utf8_lossy(m.bytes(length as usize)?).into_owned())),
        };
        (0..self.number(2)?).map(|_| value(self)).collect()
    }

    fn failure(&mut self) -> io::Result<Failure> {
        let mut failure = Failure::default();
        while let [kind, rest @ ..] = self.0
            && *kind != 0
        {
            self.0 = rest;
            let text = self.text()?;
            match kind {
                b'C' => failure.state = text,
                b'M' => failure.message = text,
                b'P' => failure.position = text.parse().ok(),
                _ => {}
            }
        }
        Ok(failure)
    }
}
