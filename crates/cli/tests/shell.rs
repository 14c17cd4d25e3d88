//! The shell as its users see it: what goes in, what comes out, and the exit code.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Runs the shell without a terminal.
fn morsel(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_morsel"))
        .args(["--threads", "2"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn commands_of_the_command_line_share_a_session() {
    let run =
        morsel(&["--mode", "csv", "-c", "create table t as select 1 as a, 'x;y' as b", "-c", "select * from t;"], "");
    assert_eq!((out(&run), run.status.code()), ("a,b\n1,x;y\n".into(), Some(0)), "{}", errors(&run));
}

#[test]
fn results_are_tables() {
    let run = morsel(&["-c", "select 1 as n, null as nothing, 'text' as t"], "");
    let text = out(&run);
    assert!(
        text.contains("│ n │ nothing │  t   │") && text.contains("│ 1 │ NULL    │ text │"),
        "{text}{}",
        errors(&run)
    );
}

#[test]
fn scripts_come_from_standard_input() {
    let script =
        "-- a comment; with a semicolon\n.mode json\nselect 1 as a,\n  2.50 as b;\n.mode tsv\nselect true as c";
    let run = morsel(&[], script);
    assert_eq!(
        (out(&run), run.status.code()),
        ("[{\"a\":1,\"b\":2.50}]\nc\ntrue\n".into(), Some(0)),
        "{}",
        errors(&run)
    );
}

#[test]
fn the_first_error_ends_a_script() {
    let script = "select 1 as a;\nselect b;\nselect 3 as c;\n";
    let run = morsel(&["--mode", "csv"], script);
    assert_eq!((out(&run), run.status.code()), ("a\n1\n".into(), Some(1)));
    let text = errors(&run);
    assert!(text.starts_with("ERROR 42703") && text.contains("LINE 2: select b;\n               ^"), "{text}");
    let run = morsel(&["--mode", "csv", "--continue"], script);
    assert_eq!((out(&run), run.status.code()), ("a\n1\nc\n3\n".into(), Some(1)));
}

#[test]
fn usage_errors_have_their_own_exit_code() {
    assert_eq!(morsel(&["--mode", "nonsense"], "").status.code(), Some(2));
    assert_eq!(morsel(&["--memory-limit", "much", "-c", "select 1"], "").status.code(), Some(2));
    assert_eq!(morsel(&["--set", "no_such_setting=1", "-c", "select 1"], "").status.code(), Some(2));
    assert_eq!(morsel(&["-c", ".nonsense"], "").status.code(), Some(1));
    assert_eq!(morsel(&["no-such-file.sql"], "").status.code(), Some(1));
}

#[test]
fn settings_come_from_the_command_line() {
    let run = morsel(
        &["--mode", "list", "--no-headers", "--memory-limit", "64MB", "-c", "show memory_limit; show threads"],
        "",
    );
    assert_eq!(out(&run), "64MiB\n2\n", "{}", errors(&run));
}

#[test]
fn files_read_files_and_write_files() {
    let folder = std::env::temp_dir().join(format!("morsel-shell-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (inner, outer, result) = (folder.join("inner file.sql"), folder.join("outer.sql"), folder.join("out.csv"));
    std::fs::write(&inner, "create table t (a integer not null, \"B c\" text);").unwrap();
    let script = format!(
        ".read '{}'\n.mode csv\n.output '{}'\nselect 7 as seven;\n.output\n.schema\n.schema t;",
        inner.display(),
        result.display()
    );
    std::fs::write(&outer, script).unwrap();
    let run = morsel(&[outer.to_str().unwrap()], "");
    let table = "CREATE TABLE t (\n    a integer NOT NULL,\n    \"B c\" text\n);\n";
    assert_eq!((out(&run), run.status.code()), (table.repeat(2), Some(0)), "{}", errors(&run));
    assert_eq!(std::fs::read_to_string(&result).unwrap(), "seven\n7\n");
    std::fs::write(&inner, format!(".read '{}'", inner.display())).unwrap();
    assert!(errors(&morsel(&[inner.to_str().unwrap()], "")).contains("too deeply"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn tables_are_listed_and_described() {
    let run = morsel(&["--mode", "csv"], "create table t (a integer);\n\\dt\n\\d t\n.help\n");
    let text = out(&run);
    assert!(text.contains(",t,table,0\n") && text.contains("a,integer,yes\n") && text.contains(".tables"), "{text}");
}

#[test]
fn looks_can_be_set() {
    let script = ".mode csv\n.headers off\n.null nil\n.echo on\nselect null, 1;\n\\x\n.echo off\nselect 1 as a;";
    let run = morsel(&["--timer"], script);
    assert_eq!(out(&run), "select null, 1;\nnil,1\n\\x\n.echo off\n1\n", "{}", errors(&run));
    assert!(errors(&run).matches("Time: ").count() == 2);
    let run = morsel(&["-c", ".maxrows 2", "-c", "select * from (values (1), (2), (3)) as v(x)"], "");
    assert!(out(&run).ends_with("… 1 more row\n"), "{}", out(&run));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let digits = "create table d as select * from (values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) as v(x)";
    let mut child = Command::new(env!("CARGO_BIN_EXE_morsel"))
        .args(["--mode", "csv", "-c", digits, "-c", "select a.x, b.x, c.x, e.x, f.x from d a, d b, d c, d e, d f"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let text = errors(&output);
    assert!(!text.contains("panicked") && !text.contains("cannot write"), "{text}");
}

#[test]
fn statements_end_where_the_engine_says() {
    let run = morsel(&["--mode", "csv", "-c", "select 1 as x$$a$; select 2 as b"], "");
    assert_eq!((out(&run), run.status.code()), ("x$$a$\n1\nb\n2\n".into(), Some(0)), "{}", errors(&run));
    let run = morsel(&["--mode", "csv", "-c", "select 1 as a; /* open"], "");
    assert_eq!((out(&run), run.status.code()), ("a\n1\n".into(), Some(1)));
    assert!(errors(&run).contains("comment"), "{}", errors(&run));
}

#[test]
fn every_setting_is_an_option() {
    let run = morsel(&["--help"], "");
    for setting in ["--memory-limit", "--threads", "--enable-external-access", "--query-memory-limit", "--compile"] {
        assert!(out(&run).contains(setting), "{}", out(&run));
    }
    let show = ["--mode", "csv", "--no-headers", "-c", "show compile", "-c", "show query_memory_limit"];
    let run = morsel(&[&["--compile", "off", "--query-memory-limit", "1GB"], &show[..]].concat(), "");
    assert_eq!(out(&run), "off\n1gb\n", "{}", errors(&run));
    assert_eq!(morsel(&["--disabled-passes", "nonsense", "-c", "select 1"], "").status.code(), Some(2));
}

#[test]
fn safe_mode_closes_files() {
    let folder = Folder::new("safe");
    let target = folder.0.join("out");
    let commands = [
        format!("copy (select 1) to '{}'", target.display()),
        format!("select * from '{}/*.csv'", folder.0.display()),
        format!(".output {}", target.display()),
        format!(".read {}", target.display()),
        "set enable_external_access = on".into(),
        "set threads = 1".into(),
    ];
    for command in &commands {
        let run = morsel(&["--safe", "-c", command], "");
        assert_eq!(run.status.code(), Some(1), "{command}: {}", out(&run));
    }
    assert!(!target.exists());
    assert_eq!(out(&morsel(&["--safe", "--mode", "csv", "-c", "select 1 as a"], "")), "a\n1\n");
}

#[test]
fn files_of_output_hold_results_and_nothing_else() {
    let folder = Folder::new("output");
    let path = folder.0.join("out");
    let rows = (0..150).map(|i| format!("({i})")).collect::<Vec<_>>().join(",");
    let script = format!(
        ".mode csv\n.output {0}\nselect * from (values {rows}) v(n);\n.output\n.mode box\n.output {0}.box\n\
         select * from (values {rows}) v(n);\n",
        path.display()
    );
    let run = morsel(&["--interactive", "-c", &script], "");
    assert_eq!(errors(&run), "");
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!((text.lines().count(), text.lines().last()), (151, Some("149")), "{text}");
    let boxed = std::fs::read_to_string(folder.0.join("out.box")).unwrap();
    assert!(boxed.contains("149") && boxed.contains(" 75 ") && !boxed.contains("rows"), "{boxed}");
}

/// A folder that goes with the test.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("morsel-shell-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn being_told_to_end_leaves_no_part_of_a_file() {
    let folder = Folder::new("term");
    let sql = format!(
        "create table t as select 1 as a from (values (1),(2),(3),(4),(5),(6),(7),(8),(9),(10)) v(x);\n\
         copy (select a.a from t a, t b, t c, t d, t e, t f, t g, t h, t i, t j) to '{}/out.csv'",
        folder.0.display()
    );
    for signal in ["-TERM", "-HUP", "-KILL"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_morsel"))
            .args(["--threads", "2", "-c", &sql])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(700));
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        assert!(!child.wait().unwrap().success());
        if signal != "-KILL" {
            assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0, "{signal}");
        }
    }
}

/// Runs the shell after `ulimit` with these arguments.
fn limited(limit: &str, arguments: &[&str]) -> Output {
    let script = format!("ulimit {limit}; exec \"$0\" --threads 2 \"$@\"");
    Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_morsel")]).args(arguments).output().unwrap()
}

#[test]
fn limits_of_the_process_are_errors_or_suffice() {
    let folder = Folder::new("limits");
    let to = folder.0.join("out.csv");
    let table = "create table t as select 1 as a from (values (1),(2),(3),(4),(5),(6),(7),(8),(9),(10)) v(x)";
    let copy = format!("copy (select a.a from t a, t b, t c, t d, t e) to '{}'", to.display());
    // The file may not grow: the signal does not end the shell, and no part of the file stays.
    let run = limited("-f 16", &["-c", table, "-c", &copy]);
    assert_eq!((errors(&run).is_empty(), run.status.code()), (false, Some(1)));
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0, "{}", errors(&run));
    // Small stacks and few files will do.
    for limit in ["-s 256", "-n 12"] {
        let read = format!("select count(*) from '{}'", to.display());
        let run = limited(limit, &["--mode", "csv", "-c", table, "-c", &copy, "-c", &read]);
        assert!(out(&run).ends_with("100000\n") && run.status.success(), "{limit}: {}{}", out(&run), errors(&run));
    }
}

#[test]
fn as_many_threads_on_the_command_line_as_in_a_setting() {
    for threads in ["0", "64", "65", "1025"] {
        let flag = Command::new(env!("CARGO_BIN_EXE_morsel")).args(["-t", threads, "-c", "select 1"]).output().unwrap();
        let set = morsel(&["-c", &format!("set threads = {threads}")], "");
        assert_eq!(flag.status.success(), set.status.success(), "{threads}: {}{}", errors(&flag), errors(&set));
    }
}

#[test]
fn dumps_come_by_files_and_pipes() {
    let dump = format!("{}/../testkit/dumps/rental.sql", env!("CARGO_MANIFEST_DIR"));
    let count = "select count(*) as films from public.film";
    let read = morsel(&["--mode", "csv", &dump], "");
    assert!(read.status.success(), "{}", errors(&read));
    let script = std::fs::read_to_string(&dump).unwrap();
    let piped = morsel(&["--mode", "csv"], &format!("\\restrict key\n{script}{count};\n\\unrestrict key\n"));
    assert!(piped.status.success() && out(&piped).ends_with("films\n3\n"), "{}{}", out(&piped), errors(&piped));
}
