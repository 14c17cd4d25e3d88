//! The interactive shell: lines with history, editing over several lines, and completion.

use std::io::IsTerminal;
use std::path::PathBuf;

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use crate::script;
use crate::shell::commands::{COMMANDS, quoted};
use crate::shell::{Ended, Shell};

const KEYWORDS: &str = "all analyze and any array as asc between bigint boolean by case cast char coalesce copy count \
    create cross current_date date decimal default delete desc describe distinct double drop else end except exists \
    explain extract false fetch filter first following for from full group having if in inner insert integer \
    intersect interval into is join last lateral left like limit max min natural not null nullif nulls numeric offset \
    on optimized or order outer over partition pipelines preceding precision range read_csv read_parquet real replace \
    reset right rows select set show smallint some substring sum table tables text then timestamp to trim true \
    unbounded union unique using values varchar view when where with";

/// Reads and runs until the end of the input or `.quit`.
pub fn run(shell: &mut Shell) -> Result<(), Ended> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .history_ignore_space(true)
        .auto_add_history(true)
        .max_history_size(10_000)
        .map(rustyline::config::Builder::build);
    let editor = config.and_then(Editor::<Assistant, DefaultHistory>::with_config);
    let mut editor = match editor {
        Ok(editor) => editor,
        Err(error) => return shell.fail(&format!("cannot read from the terminal: {error}")),
    };
    editor.set_helper(Some(Assistant { names: Vec::new(), files: FilenameCompleter::new() }));
    let history = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".morsel_history"));
    if let Some(path) = &history {
        // There is none at first.
        let _ = editor.load_history(path);
    }
    if std::io::stdin().is_terminal() {
        println!("MorselDB {}. Statements end with ;  .help lists commands.", env!("CARGO_PKG_VERSION"));
    }
    let mut kept = Ok(());
    let result = read_and_run(shell, &mut editor, &mut |editor| {
        if let Some(path) = &history {
            kept = editor.append_history(path);
        }
    });
    if let Err(error) = kept {
        eprintln!("cannot save the history: {error}");
    }
    result
}

type Lines = Editor<Assistant, DefaultHistory>;

/// Reads and runs; `keep` is called for each entry before it runs, as nobody knows how the shell will end.
fn read_and_run(shell: &mut Shell, editor: &mut Lines, keep: &mut dyn FnMut(&mut Lines)) -> Result<(), Ended> {
    loop {
        if let Some(helper) = editor.helper_mut() {
            helper.names = shell.session.names();
        }
        match editor.readline("morsel> ") {
            Ok(text) => {
                keep(editor);
                shell.run_text(&text).or_else(|ended| match ended {
                    // Errors have been shown, and scripts that were read have stopped: the shell goes on.
                    Ended::Failed => Ok(()),
                    other => Err(other),
                })?
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return shell.fail(&format!("cannot read from the terminal: {error}")),
        }
    }
}

/// Completes words, and knows whether a statement is complete.
struct Assistant {
    /// Names of tables and columns.
    names: Vec<String>,
    files: FilenameCompleter,
}

impl Assistant {
    fn candidates(&self, word: &str, whole_line: bool) -> Vec<Pair> {
        let pair = |text: &str| Pair { display: text.to_string(), replacement: text.to_string() };
        if whole_line && word.starts_with(['.', '\\']) {
            return COMMANDS.iter().filter(|c| c.name.starts_with(word)).map(|c| pair(c.name)).collect();
        }
        let lower = word.to_lowercase();
        let names = self.names.iter().filter(|n| n.to_lowercase().starts_with(&lower)).map(|n| pair(&quoted(n)));
        // Keywords in the case in which the word was begun.
        let upper = word.chars().any(char::is_uppercase) && !word.chars().any(char::is_lowercase);
        let keyword = |k: &str| if upper { pair(&k.to_uppercase()) } else { pair(k) };
        names.chain(KEYWORDS.split_whitespace().filter(|k| k.starts_with(&lower)).map(keyword)).collect()
    }
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, context: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = &line[..pos];
        let in_string = before.matches('\'').count() % 2 == 1;
        if in_string || before.starts_with(".read ") || before.starts_with(".output ") || before.starts_with("\\i ") {
            return self.files.complete(line, pos, context);
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let start = before.char_indices().rev().take_while(|(_, c)| is_word(*c)).last().map_or(pos, |(i, _)| i);
        let start = match before[..start].chars().next_back() {
            Some('.' | '\\') if start == 1 => 0,
            _ => start,
        };
        let word = &before[start..];
        if word.is_empty() {
            return Ok((pos, Vec::new()));
        }
        Ok((start, self.candidates(word, start == 0)))
    }
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match script::is_complete(context.input()) {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

impl Hinter for Assistant {
    type Hint = String;
}
impl Highlighter for Assistant {}
impl Helper for Assistant {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completion_keeps_the_case_and_knows_names() {
        let assistant =
            Assistant { names: vec!["My Table".into(), "selection".into()], files: FilenameCompleter::new() };
        let texts =
            |word: &str, line| assistant.candidates(word, line).into_iter().map(|p| p.replacement).collect::<Vec<_>>();
        assert_eq!(texts("sele", false), ["selection", "select"]);
        assert_eq!(texts("SELE", false), ["selection", "SELECT"]);
        assert_eq!(texts("my", false), ["\"My Table\""]);
        assert_eq!(texts(".mo", true), [".mode"]);
    }
}
