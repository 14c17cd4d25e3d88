//! A database with a folder.

use std::time::{Duration, Instant};

use engine::rows::text_rows;
use engine::{Config, Database, Session};

/// A folder of the test's own, which goes with it.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("engine-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A session, and a folder for its files.
pub struct Bench {
    session: Session,
    folder: Folder,
}

impl Bench {
    /// Runs a statement in which `@` stands for the folder. Rows come as texts.
    pub fn run(&mut self, sql: &str) -> Vec<String> {
        let sql = sql.replace('@', self.folder.path());
        let rows = self.session.execute(&sql, &[]).and_then(text_rows);
        rows.unwrap_or_else(|e| panic!("{}", e.render(&sql))).into_iter().map(|row| row.join("|")).collect()
    }

    /// Waits until the full chunks of a table are frozen.
    pub fn frozen(&mut self, table: &str) {
        let begin = Instant::now();
        let open = format!("select rows from storage_info('{table}') where form = 'open' and rows >= 65536");
        while !self.run(&open).is_empty() && begin.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

pub fn bench() -> Bench {
    let database = Database::new(Config { threads: Some(2), ..Config::default() }).unwrap();
    Bench { session: database.connect(), folder: Folder::new("types") }
}
