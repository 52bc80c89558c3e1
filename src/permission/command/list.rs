//! The table of commands that the CLI allows without a rule, because they only read.
//!
//! Commands and exceptions were measured on 2.1.326. Many flags were not; those that only read are assumed to
//! be allowed. The CLI asks about other commands, and about these with a flag that is not listed as harmless.

use super::super::shell::Word;

/// A command that only reads.
pub(in super::super) struct ReadOnlyCommand {
    /// Programs that are alike.
    pub(super) programs: &'static [&'static str],
    pub(super) subcommands: &'static [&'static str],
    pub(super) flags: Flags,
    /// The meaning of its operands.
    pub(in super::super) operands: Operands,
    /// Flags whose value is the next word.
    pub(in super::super) valued: &'static [&'static str],
    /// A further condition on the arguments.
    pub(super) condition: fn(&Arguments<'_>) -> bool,
}

/// The arguments of a command.
pub(super) struct Arguments<'w> {
    pub(super) words: &'w [Word],
    /// The words that are neither flags nor values of flags.
    pub(super) operands: Vec<&'w Word>,
}

impl Arguments<'_> {
    fn has(&self, flag: &str) -> bool {
        self.words.iter().any(|word| word.text == flag)
    }
}

/// The flags with which a command is still read-only.
pub(super) enum Flags {
    /// All flags.
    Any,
    /// All flags except these. `-o` includes `-ofile`, `--output` includes `--output=file`.
    AllExcept(&'static [&'static str]),
    /// These letters, alone or combined, and these long flags. A value must be the next word or follow `=`; a
    /// value directly after a letter is asked about (`sort -k2`).
    Only(&'static str, &'static [&'static str]),
}

/// The meaning of the operands of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Operands {
    /// Files that are read.
    Files,
    /// A pattern or a program, then files.
    PatternAndFiles,
    /// Folders up to the first flag, then conditions.
    Folders,
    /// Text, not files.
    Text,
    /// The command must not have operands.
    None,
}

use Flags::{AllExcept, Any, Only};
use Operands::{Files, Folders, PatternAndFiles, Text};

/// A row for several programs.
const fn alike(
    programs: &'static [&'static str],
    operands: Operands,
    flags: Flags,
    valued: &'static [&'static str],
) -> ReadOnlyCommand {
    ReadOnlyCommand { programs, subcommands: &[], flags, operands, valued, condition: |_| true }
}

/// A row for a program with its subcommands.
const fn row(
    words: &'static [&'static str],
    operands: Operands,
    flags: Flags,
    valued: &'static [&'static str],
) -> ReadOnlyCommand {
    let (programs, subcommands) = words.split_at(1);
    ReadOnlyCommand { subcommands, ..alike(programs, operands, flags, valued) }
}

const fn when(row: ReadOnlyCommand, condition: fn(&Arguments<'_>) -> bool) -> ReadOnlyCommand {
    ReadOnlyCommand { condition, ..row }
}

/// Flags of `git log`, `diff` and `show` that write or run something.
const GIT: Flags = AllExcept(&["--output", "--ext-diff", "--textconv", "--no-index", "-O"]);
const LISTS: &[&str] =
    &["-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"];

/// The read-only commands.
pub(in super::super) const READ_ONLY: &[ReadOnlyCommand] = &[
    // The file system.
    alike(&["ls", "cat", "wc", "df", "readlink", "realpath"], Files, Any, &[]),
    alike(&["head", "tail"], Files, Any, &["-n", "-c"]),
    row(&["stat"], Files, Any, &["-c", "-f"]),
    row(
        &["file"],
        Files,
        Only("bihkLNnprsvz0", &["--brief", "--mime", "--mime-type", "--mime-encoding"]),
        &[],
    ),
    row(&["du"], Files, Any, &["-d"]),
    when(
        row(
            &["tree"],
            Files,
            Only("adfilpsugDFhrtvxJXCnqNAS", &["--dirsfirst", "--noreport"]),
            &["-L", "-P", "-I"],
        ),
        plain,
    ),
    row(
        &["find"],
        Folders,
        AllExcept(&[
            "-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls",
        ]),
        &[],
    ),
    alike(&["fd", "fdfind"], PatternAndFiles, FD, FD_VALUED),
    when(row(&["cd"], Files, Any, &[]), |arguments| arguments.words.len() == 1),
    // Contents.
    alike(&["grep", "egrep", "fgrep"], PatternAndFiles, GREP, GREP_VALUED),
    row(&["rg"], PatternAndFiles, RG, RG_VALUED),
    alike(&["diff", "cmp", "comm", "rev", "pr", "tsort"], Files, Any, &[]),
    row(&["paste"], Files, Any, &["-d"]),
    row(&["cut"], Files, Any, &["-d", "-f", "-c", "-b"]),
    row(&["tac"], Files, Any, &["-s"]),
    row(&["nl"], Files, Any, &["-b", "-s", "-w"]),
    alike(&["fold", "fmt"], Files, Any, &["-w"]),
    alike(&["expand", "unexpand"], Files, Any, &["-t"]),
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
    when(
        row(
            &["jq"],
            PatternAndFiles,
            AllExcept(&[
                "-f",
                "--from-file",
                "--rawfile",
                "--slurpfile",
                "-L",
                "--library-path",
                "--run-tests",
            ]),
            &[],
        ),
        no_environment,
    ),
    when(row(&["sed"], PatternAndFiles, Only("nErsz", &["--quiet", "--silent"]), &[]), prints_lines),
    alike(&["md5sum", "sha1sum", "sha256sum"], Files, SUM, &[]),
    row(&["base64"], Files, Only("dDi", &["--decode", "--ignore-garbage"]), &["-w"]),
    // Text and tests.
    row(&["echo"], Text, Any, &[]),
    row(&["printf"], Text, AllExcept(&["-v"]), &[]),
    alike(&["true", "false", "expr", "seq", "sleep", "basename", "dirname", "numfmt"], Text, Any, &[]),
    alike(&["test", "[", "[["], Files, Any, &[]),
    // The system.
    alike(&["pwd", "whoami"], Operands::None, Only("", &[]), &[]),
    alike(
        &["which", "type", "id", "groups", "uname", "nproc", "free", "uptime", "locale", "cal"],
        Text,
        Any,
        &[],
    ),
    row(&["arch"], Operands::None, Any, &[]),
    when(row(&["history"], Text, Only("", &[]), &[]), |arguments| {
        arguments.operands.iter().all(|word| is_number(&word.text))
    }),
    row(&["hostname"], Operands::None, Only("fsiIdAya", &["--fqdn", "--short", "--long", "--domain"]), &[]),
    when(
        row(
            &["date"],
            Text,
            Only("uRI", &["--utc", "--date", "--iso-8601", "--rfc-3339", "--rfc-email"]),
            &["-d", "-r"],
        ),
        only_a_format,
    ),
    row(&["man"], Text, Only("adfhkw", &[]), &[]),
    when(row(&["tput"], Text, Only("", &[]), &["-T"]), |arguments| {
        arguments.operands.iter().all(|word| {
            !["init", "reset", "clear", "rs1", "rs2", "rs3", "is1", "is2", "is3"].contains(&&*word.text)
        })
    }),
    when(
        row(
            &["ps"],
            Text,
            Only("eAafFlhHjTuwxcL", &["--no-headers", "--forest"]),
            &["-p", "-o", "-u", "-C", "--pid"],
        ),
        |arguments| {
            // Letters without a dash are flags too, and `e` shows the environment.
            arguments
                .operands
                .iter()
                .all(|word| word.text.chars().all(|letter| letter.is_ascii_alphanumeric() && letter != 'e'))
        },
    ),
    row(&["pgrep"], Text, Only("falnoxicvw", &[]), &["-u", "-P", "-U", "-G", "-t"]),
    row(&["lsof"], Text, Only("ainPtlRbUV", &[]), &["-p", "-u", "-c", "-d"]),
    row(&["netstat"], Text, Only("anltuprseigcoxWN46v", &[]), &[]),
    row(&["ss"], Text, Only("anltuprseomixwhHOZ46", &[]), &[]),
    when(row(&["ip", "addr"], Operands::None, Only("", &[]), &[]), |arguments| arguments.operands.is_empty()),
    when(row(&["ifconfig"], Text, Only("", &[]), &[]), |arguments| arguments.words.len() < 2),
    row(&["node"], Operands::None, Only("v", &["--version"]), &[]),
    when(alike(&["python", "python3"], Operands::None, Only("", &["--version"]), &[]), |arguments| {
        arguments.operands.is_empty()
    }),
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
        AllExcept(&["-O", "--open-files-in-pager", "--no-index", "--ext-grep", "--textconv"]),
        &[],
    ),
    row(&["git", "rev-parse"], Text, Any, &[]),
    row(&["git", "rev-list"], Text, GIT, &[]),
    row(&["git", "ls-files"], Text, Any, &[]),
    row(&["git", "cat-file"], Text, AllExcept(&["--textconv", "--filters"]), &[]),
    row(&["git", "merge-base"], Text, Any, &[]),
    row(&["git", "for-each-ref"], Text, Any, &[]),
    row(&["git", "describe"], Text, Any, &[]),
    row(&["git", "stash", "list"], Text, GIT, &[]),
    row(&["git", "stash", "show"], Text, GIT, &[]),
    row(&["git", "worktree", "list"], Text, Any, &[]),
    row(
        &["git", "config", "--get"],
        Text,
        AllExcept(&["--edit", "-e", "--unset", "--add", "--replace-all"]),
        &[],
    ),
    when(row(&["git", "reflog"], Text, GIT, &[]), |arguments| {
        arguments
            .operands
            .first()
            .is_none_or(|word| !["expire", "delete", "drop", "write"].contains(&&*word.text))
    }),
    when(row(&["git", "remote"], Text, Only("v", &["--verbose"]), &[]), |arguments| {
        arguments.operands.is_empty()
    }),
    row(&["git", "remote", "show"], Text, Only("n", &[]), &[]),
    when(row(&["git", "branch"], Text, Only("arvqil", LISTING), &["--sort", "--format"]), lists),
    when(row(&["git", "tag"], Text, Only("liq", LISTING), &["--sort", "--format"]), lists),
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

/// Variables that a shell sets itself, so `echo $HOME` is harmless.
pub(super) const SHELL_VARIABLES: &[&str] = &[
    "HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "PATH", "HOSTNAME", "UID", "EUID", "PPID", "RANDOM",
    "SECONDS", "LINENO", "TMPDIR", "?", "$", "#", "!",
];

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn plain(arguments: &Arguments<'_>) -> bool {
    arguments.words.iter().all(|word| !word.has_pattern)
}

/// Accepts `date +%s`; any other operand sets the clock.
fn only_a_format(arguments: &Arguments<'_>) -> bool {
    arguments.operands.iter().all(|word| word.text.starts_with('+'))
}

/// Rejects `jq` programs that read the environment.
fn no_environment(arguments: &Arguments<'_>) -> bool {
    let word = |text: &str| {
        text.split(|letter: char| !letter.is_alphanumeric() && letter != '$')
            .any(|word| word == "env" || word == "$ENV")
    };
    !arguments.operands.is_empty() && arguments.operands.iter().all(|operand| !word(&operand.text))
}

/// Rejects operands of `git branch` and `git tag`, which create branches and tags, unless a flag makes them
/// list.
fn lists(arguments: &Arguments<'_>) -> bool {
    let is = |word: &Word, flag: &str| word.text == flag || word.text.starts_with(&format!("{flag}="));
    let listing = |word: &Word| LISTS.iter().any(|flag| is(word, flag));
    arguments.operands.is_empty() || arguments.words.iter().any(listing)
}

/// Accepts `sed -n 1,2p` with files, and `sed s/a/b/` without.
fn prints_lines(arguments: &Arguments<'_>) -> bool {
    let Some((program, files)) = arguments.operands.split_first() else { return false };
    let line = |text: &str| is_number(text) || text == "$";
    let prints = |step: &str| {
        let range = step.strip_suffix('p').unwrap_or_default();
        range.split_once(',').map_or(line(range), |(from, to)| line(from) && line(to))
    };
    arguments.has("-n") && program.text.split(';').all(|step| prints(step.trim()))
        || files.is_empty() && substitutes(&program.text)
}

/// Returns whether a `sed` program is `s/a/b/g` without flags that write files or run commands.
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
