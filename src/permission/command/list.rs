//! Commands that the CLI lets through without a rule, because they only read.
//!
//! The commands and the exceptions were measured on 2.1.326. Many flags were not: those that only read are assumed to pass.
//! A command that is not listed is asked about. So is a listed one with a flag that is not known to be harmless.

use super::super::shell::Word;

/// A command that only reads.
pub(in super::super) struct Reading {
    /// The program, and the words that must follow it.
    pub(super) words: &'static [&'static str],
    pub(super) flags: Flags,
    /// What its operands are.
    pub(in super::super) operands: Operands,
    /// Flags whose value is the next word.
    pub(in super::super) valued: &'static [&'static str],
    /// What else must hold of the words after it.
    pub(super) also: fn(&Tail<'_>) -> bool,
}

/// The words after a command.
pub(super) struct Tail<'w> {
    /// All of them.
    pub(super) words: &'w [Word],
    /// Those that are no flags and no values of flags.
    pub(super) operands: Vec<&'w Word>,
}

impl Tail<'_> {
    fn has(&self, flag: &str) -> bool {
        self.words.iter().any(|word| word.text == flag)
    }
}

/// Which flags leave a command one that only reads.
pub(super) enum Flags {
    /// All.
    Any,
    /// All but these; `-o` also as `-ofile`, `--output` also as `--output=file`.
    But(&'static [&'static str]),
    /// These letters, alone or together, and these long ones. Values stand in the next word or after `=`, never glued to
    /// a letter (`sort -k2` is asked about).
    Only(&'static str, &'static [&'static str]),
}

/// What the words are that are no flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Operands {
    /// Files that are read.
    Files,
    /// A pattern or a program, then files.
    PatternAndFiles,
    /// Folders up to the first flag, then conditions.
    Folders,
    /// No files.
    Text,
    /// There must be none.
    None,
}

use Flags::{Any, But, Only};
use Operands::{Files, Folders, PatternAndFiles, Text};

const fn row(
    words: &'static [&'static str],
    operands: Operands,
    flags: Flags,
    valued: &'static [&'static str],
) -> Reading {
    Reading { words, flags, operands, valued, also: |_| true }
}

const fn also(row: Reading, also: fn(&Tail<'_>) -> bool) -> Reading {
    Reading { also, ..row }
}

/// Flags of `git log`, `diff` and `show` that write or run something.
const GIT: Flags = But(&["--output", "--ext-diff", "--textconv", "--no-index", "-O"]);
const LISTS: &[&str] =
    &["-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"];

/// The commands.
pub(in super::super) const READING: &[Reading] = &[
    // The file system.
    row(&["ls"], Files, Any, &[]),
    row(&["cat"], Files, Any, &[]),
    row(&["head"], Files, Any, &["-n", "-c"]),
    row(&["tail"], Files, Any, &["-n", "-c"]),
    row(&["wc"], Files, Any, &[]),
    row(&["stat"], Files, Any, &["-c", "-f"]),
    row(
        &["file"],
        Files,
        Only("bihkLNnprsvz0", &["--brief", "--mime", "--mime-type", "--mime-encoding"]),
        &[],
    ),
    row(&["du"], Files, Any, &["-d"]),
    row(&["df"], Files, Any, &[]),
    also(
        row(
            &["tree"],
            Files,
            Only("adfilpsugDFhrtvxJXCnqNAS", &["--dirsfirst", "--noreport"]),
            &["-L", "-P", "-I"],
        ),
        plain,
    ),
    row(&["readlink"], Files, Any, &[]),
    row(&["realpath"], Files, Any, &[]),
    row(
        &["find"],
        Folders,
        But(&["-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls"]),
        &[],
    ),
    row(&["fd"], PatternAndFiles, FD, FD_VALUED),
    row(&["fdfind"], PatternAndFiles, FD, FD_VALUED),
    also(row(&["cd"], Files, Any, &[]), |tail| tail.words.len() == 1),
    // Contents.
    row(&["grep"], PatternAndFiles, GREP, GREP_VALUED),
    row(&["egrep"], PatternAndFiles, GREP, GREP_VALUED),
    row(&["fgrep"], PatternAndFiles, GREP, GREP_VALUED),
    row(&["rg"], PatternAndFiles, RG, RG_VALUED),
    row(&["diff"], Files, Any, &[]),
    row(&["cmp"], Files, Any, &[]),
    row(&["comm"], Files, Any, &[]),
    row(&["paste"], Files, Any, &["-d"]),
    row(&["cut"], Files, Any, &["-d", "-f", "-c", "-b"]),
    row(&["rev"], Files, Any, &[]),
    row(&["tac"], Files, Any, &["-s"]),
    row(&["nl"], Files, Any, &["-b", "-s", "-w"]),
    row(&["fold"], Files, Any, &["-w"]),
    row(&["fmt"], Files, Any, &["-w"]),
    row(&["pr"], Files, Any, &[]),
    row(&["expand"], Files, Any, &["-t"]),
    row(&["unexpand"], Files, Any, &["-t"]),
    row(&["tsort"], Files, Any, &[]),
    row(&["column"], Files, Any, &["-s", "-c", "-o"]),
    row(&["strings"], Files, Any, &["-n"]),
    row(&["od"], Files, Any, &["-A", "-t", "-N", "-j"]),
    row(&["hexdump"], Files, Any, &["-n", "-s", "-e"]),
    row(
        &["sort"],
        Files,
        Only("bcdfghiMnrRsuVz", &["--unique", "--reverse", "--numeric-sort", "--key", "--field-separator"]),
        &["-k", "-t"],
    ),
    row(&["uniq"], Operands::None, Any, &["-f", "-s", "-w"]),
    row(&["tr"], Text, Any, &[]),
    also(
        row(
            &["jq"],
            PatternAndFiles,
            But(&["-f", "--from-file", "--rawfile", "--slurpfile", "-L", "--library-path", "--run-tests"]),
            &[],
        ),
        no_environment,
    ),
    also(row(&["sed"], PatternAndFiles, Only("nErsz", &["--quiet", "--silent"]), &[]), prints_lines),
    row(&["md5sum"], Files, SUM, &[]),
    row(&["sha1sum"], Files, SUM, &[]),
    row(&["sha256sum"], Files, SUM, &[]),
    row(&["base64"], Files, Only("dDi", &["--decode", "--ignore-garbage"]), &["-w"]),
    // Text and tests.
    row(&["echo"], Text, Any, &[]),
    row(&["printf"], Text, But(&["-v"]), &[]),
    row(&["true"], Text, Any, &[]),
    row(&["false"], Text, Any, &[]),
    row(&["test"], Files, Any, &[]),
    row(&["["], Files, Any, &[]),
    row(&["[["], Files, Any, &[]),
    row(&["expr"], Text, Any, &[]),
    row(&["seq"], Text, Any, &[]),
    row(&["sleep"], Text, Any, &[]),
    row(&["basename"], Text, Any, &[]),
    row(&["dirname"], Text, Any, &[]),
    row(&["numfmt"], Text, Any, &[]),
    // The system.
    row(&["pwd"], Operands::None, Only("", &[]), &[]),
    row(&["whoami"], Operands::None, Only("", &[]), &[]),
    row(&["which"], Text, Any, &[]),
    row(&["type"], Text, Any, &[]),
    row(&["id"], Text, Any, &[]),
    row(&["groups"], Text, Any, &[]),
    row(&["uname"], Text, Any, &[]),
    row(&["arch"], Operands::None, Any, &[]),
    row(&["nproc"], Text, Any, &[]),
    row(&["free"], Text, Any, &[]),
    row(&["uptime"], Text, Any, &[]),
    row(&["locale"], Text, Any, &[]),
    row(&["cal"], Text, Any, &[]),
    also(row(&["history"], Text, Only("", &[]), &[]), |tail| {
        tail.operands.iter().all(|word| is_number(&word.text))
    }),
    row(&["hostname"], Operands::None, Only("fsiIdAya", &["--fqdn", "--short", "--long", "--domain"]), &[]),
    also(
        row(
            &["date"],
            Text,
            Only("uRI", &["--utc", "--date", "--iso-8601", "--rfc-3339", "--rfc-email"]),
            &["-d", "-r"],
        ),
        only_a_format,
    ),
    row(&["man"], Text, Only("adfhkw", &[]), &[]),
    also(row(&["tput"], Text, Only("", &[]), &["-T"]), |tail| {
        tail.operands.iter().all(|word| {
            !["init", "reset", "clear", "rs1", "rs2", "rs3", "is1", "is2", "is3"].contains(&&*word.text)
        })
    }),
    also(
        row(
            &["ps"],
            Text,
            Only("eAafFlhHjTuwxcL", &["--no-headers", "--forest"]),
            &["-p", "-o", "-u", "-C", "--pid"],
        ),
        |tail| {
            // Letters without a dash are flags too, and `e` shows the environment.
            tail.operands
                .iter()
                .all(|word| word.text.chars().all(|letter| letter.is_ascii_alphanumeric() && letter != 'e'))
        },
    ),
    row(&["pgrep"], Text, Only("falnoxicvw", &[]), &["-u", "-P", "-U", "-G", "-t"]),
    row(&["lsof"], Text, Only("ainPtlRbUV", &[]), &["-p", "-u", "-c", "-d"]),
    row(&["netstat"], Text, Only("anltuprseigcoxWN46v", &[]), &[]),
    row(&["ss"], Text, Only("anltuprseomixwhHOZ46", &[]), &[]),
    also(row(&["ip", "addr"], Operands::None, Only("", &[]), &[]), |tail| tail.operands.is_empty()),
    also(row(&["ifconfig"], Text, Only("", &[]), &[]), |tail| tail.words.len() < 2),
    row(&["node"], Operands::None, Only("v", &["--version"]), &[]),
    also(row(&["python"], Operands::None, Only("", &["--version"]), &[]), |tail| tail.operands.is_empty()),
    also(row(&["python3"], Operands::None, Only("", &["--version"]), &[]), |tail| tail.operands.is_empty()),
    row(&["docker", "ps"], Text, Any, &[]),
    row(&["docker", "images"], Text, Any, &[]),
    row(&["docker", "logs"], Text, Any, &[]),
    row(&["docker", "inspect"], Text, Any, &[]),
    // Git, without flags before its command: `git -C x status` is asked about.
    row(&["git", "status"], Text, Any, &[]),
    row(&["git", "log"], Text, GIT, &[]),
    row(&["git", "diff"], Text, GIT, &[]),
    row(&["git", "show"], Text, GIT, &[]),
    row(&["git", "shortlog"], Text, GIT, &[]),
    row(&["git", "blame"], Text, GIT, &[]),
    row(
        &["git", "grep"],
        Text,
        But(&["-O", "--open-files-in-pager", "--no-index", "--ext-grep", "--textconv"]),
        &[],
    ),
    row(&["git", "rev-parse"], Text, Any, &[]),
    row(&["git", "rev-list"], Text, GIT, &[]),
    row(&["git", "ls-files"], Text, Any, &[]),
    row(&["git", "cat-file"], Text, But(&["--textconv", "--filters"]), &[]),
    row(&["git", "merge-base"], Text, Any, &[]),
    row(&["git", "for-each-ref"], Text, Any, &[]),
    row(&["git", "describe"], Text, Any, &[]),
    row(&["git", "stash", "list"], Text, GIT, &[]),
    row(&["git", "stash", "show"], Text, GIT, &[]),
    row(&["git", "worktree", "list"], Text, Any, &[]),
    row(&["git", "config", "--get"], Text, But(&["--edit", "-e", "--unset", "--add", "--replace-all"]), &[]),
    also(row(&["git", "reflog"], Text, GIT, &[]), |tail| {
        tail.operands.first().is_none_or(|word| !["expire", "delete", "drop", "write"].contains(&&*word.text))
    }),
    also(row(&["git", "remote"], Text, Only("v", &["--verbose"]), &[]), |tail| tail.operands.is_empty()),
    row(&["git", "remote", "show"], Text, Only("n", &[]), &[]),
    also(row(&["git", "branch"], Text, Only("arvqil", LISTING), &["--sort", "--format"]), lists),
    also(row(&["git", "tag"], Text, Only("liq", LISTING), &["--sort", "--format"]), lists),
];

const LISTING: &[&str] = &[
    "--all",
    "--remotes",
    "--list",
    "--verbose",
    "--show-current",
    "--sort",
    "--format",
    "--contains",
    "--no-contains",
    "--merged",
    "--no-merged",
    "--points-at",
    "--column",
    "--no-column",
    "--color",
    "--no-color",
    "--abbrev",
];

const GREP: Flags = Only(
    "EFGPivwxcLloqshHnrRUzaIbZT",
    &[
        "--ignore-case",
        "--invert-match",
        "--word-regexp",
        "--line-regexp",
        "--count",
        "--color",
        "--colour",
        "--files-without-match",
        "--files-with-matches",
        "--max-count",
        "--only-matching",
        "--quiet",
        "--silent",
        "--no-messages",
        "--byte-offset",
        "--with-filename",
        "--no-filename",
        "--line-number",
        "--null",
        "--recursive",
        "--after-context",
        "--before-context",
        "--context",
        "--text",
        "--binary-files",
        "--exclude",
        "--exclude-dir",
        "--include",
        "--extended-regexp",
        "--fixed-strings",
        "--basic-regexp",
        "--perl-regexp",
        "--regexp",
    ],
);
const GREP_VALUED: &[&str] =
    &["-e", "-A", "-B", "-C", "-m", "--include", "--exclude", "--exclude-dir", "--regexp"];

const RG: Flags = Only(
    "FivwxclLoqsnNHIaSUPu0",
    &[
        "--ignore-case",
        "--case-sensitive",
        "--smart-case",
        "--fixed-strings",
        "--word-regexp",
        "--invert-match",
        "--count",
        "--count-matches",
        "--files-with-matches",
        "--files-without-match",
        "--line-number",
        "--no-line-number",
        "--only-matching",
        "--max-count",
        "--max-depth",
        "--hidden",
        "--no-ignore",
        "--glob",
        "--iglob",
        "--type",
        "--type-not",
        "--type-list",
        "--multiline",
        "--json",
        "--heading",
        "--no-heading",
        "--stats",
        "--color",
        "--sort",
        "--context",
        "--after-context",
        "--before-context",
        "--regexp",
        "--column",
        "--with-filename",
        "--no-filename",
        "--vimgrep",
        "--trim",
    ],
);
const RG_VALUED: &[&str] =
    &["-e", "-A", "-B", "-C", "-m", "-g", "-t", "-T", "-d", "--glob", "--type", "--max-count", "--regexp"];

const FD: Flags = Only(
    "HIusiFpagL0q1",
    &[
        "--hidden",
        "--no-ignore",
        "--ignore-case",
        "--case-sensitive",
        "--glob",
        "--fixed-strings",
        "--full-path",
        "--absolute-path",
        "--follow",
        "--extension",
        "--type",
        "--exclude",
        "--max-depth",
        "--min-depth",
        "--size",
        "--color",
    ],
);
const FD_VALUED: &[&str] =
    &["-e", "-t", "-d", "-E", "-S", "--extension", "--type", "--exclude", "--max-depth"];

const SUM: Flags =
    Only("bctwz", &["--check", "--binary", "--text", "--quiet", "--status", "--tag", "--zero"]);

/// Commands that `xargs` may start without a rule.
pub(super) const FOR_XARGS: &[&str] = &["echo", "printf", "wc", "grep", "head", "tail"];

/// Variables that a shell sets itself, so that `echo $HOME` says what it seems to say.
pub(super) const SHELL_VARIABLES: &[&str] = &[
    "HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "PATH", "HOSTNAME", "UID", "EUID", "PPID", "RANDOM",
    "SECONDS", "LINENO", "TMPDIR", "?", "$", "#", "!",
];

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn plain(tail: &Tail<'_>) -> bool {
    tail.words.iter().all(|word| !word.varies)
}

/// `date +%s`: any other operand sets the clock.
fn only_a_format(tail: &Tail<'_>) -> bool {
    tail.operands.iter().all(|word| word.text.starts_with('+'))
}

/// A program of `jq` that shows the environment is asked about.
fn no_environment(tail: &Tail<'_>) -> bool {
    let word = |text: &str| {
        text.split(|letter: char| !letter.is_alphanumeric() && letter != '$')
            .any(|word| word == "env" || word == "$ENV")
    };
    !tail.operands.is_empty() && tail.operands.iter().all(|operand| !word(&operand.text))
}

/// `git branch` and `git tag` create what they are given, unless a flag lists.
fn lists(tail: &Tail<'_>) -> bool {
    let is = |word: &Word, flag: &str| word.text == flag || word.text.starts_with(&format!("{flag}="));
    let listing = |word: &Word| LISTS.iter().any(|flag| is(word, flag));
    tail.operands.is_empty() || tail.words.iter().any(listing)
}

/// `sed -n 1,2p` of files, or `sed s/a/b/` of the input.
fn prints_lines(tail: &Tail<'_>) -> bool {
    let Some((program, files)) = tail.operands.split_first() else { return false };
    let line = |text: &str| is_number(text) || text == "$";
    let prints = |step: &str| {
        let range = step.strip_suffix('p').unwrap_or_default();
        range.split_once(',').map_or(line(range), |(from, to)| line(from) && line(to))
    };
    tail.has("-n") && program.text.split(';').all(|step| prints(step.trim()))
        || files.is_empty() && substitutes(&program.text)
}

/// `s/a/b/g`, with no flag that writes or runs something.
pub(super) fn substitutes(program: &str) -> bool {
    let mut halves = Vec::new();
    let mut letters = program.strip_prefix("s/").unwrap_or_default().chars();
    let mut half = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => half.extend(letters.next()),
            '/' => halves.push(std::mem::take(&mut half)),
            '\n' => return false,
            letter => half.push(letter),
        }
    }
    halves.len() == 2 && half.chars().all(|flag| "gpiImM".contains(flag) || flag.is_ascii_digit())
}
