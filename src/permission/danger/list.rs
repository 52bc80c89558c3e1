//! The tables of destructive commands and of programs that write files.

use super::super::{glob::glob, shell::Word};

/// A dangerous form of a command.
pub(super) struct Row {
    /// Names of the program; `*` matches any text.
    programs: &'static [&'static str],
    /// The first words after it that are not flags.
    words: &'static [&'static str],
    /// One of these must occur, unless the list is empty. `-x` may be combined with other letters.
    marks: &'static [&'static str],
    pub(super) reason: &'static str,
}

const fn row(
    programs: &'static [&'static str],
    words: &'static [&'static str],
    marks: &'static [&'static str],
    reason: &'static str,
) -> Row {
    Row { programs, words, marks, reason }
}

const DISCARDS: &str = "discards work that was not committed";
const REWRITES: &str = "overwrites or deletes what others have fetched";
const PUBLISHES: &str = "publishes, which cannot be taken back";
const DISK: &str = "overwrites a disk or a device";
const RIGHTS: &str = "changes the rights of whole folders, or opens them to all";
const TEXT: &str = "runs text as a command";
const REMOTE: &str = "destroys what runs elsewhere";
const SYSTEM: &str = "stops or changes the system";

/// Commands that are dangerous in these forms.
pub(super) const ROWS: &[Row] = &[
    row(
        &["rm"],
        &[],
        &["-r", "-R", "-f", "--recursive", "--force"],
        "removes whole folders, or without asking",
    ),
    row(&["shred", "srm"], &[], &[], "removes files beyond recovery"),
    row(&["truncate"], &[], &[], "cuts the contents of files"),
    row(&["find"], &[], &["-delete"], "removes every file it finds"),
    row(&["rsync"], &[], &["--delete", "--delete-after", "--delete-before"], "removes files at its target"),
    row(&["dd"], &[], &["of="], DISK),
    row(&["mkfs", "mkfs.*", "fdisk", "parted", "wipefs", "mkswap", "diskutil"], &[], &[], DISK),
    row(
        &["git"],
        &["push"],
        &["-f", "--force", "--force-with-lease", "--mirror", "-d", "--delete", "--prune", "+", ":"],
        REWRITES,
    ),
    row(&["git"], &["reset"], &["--hard", "--merge", "--keep"], DISCARDS),
    row(&["git"], &["clean"], &["-f", "--force"], DISCARDS),
    row(&["git"], &["checkout"], &["-f", "--force", "--", "."], DISCARDS),
    row(&["git"], &["switch"], &["-f", "--force", "--discard-changes"], DISCARDS),
    row(&["git"], &["restore"], &[], DISCARDS),
    row(&["git"], &["stash", "drop"], &[], DISCARDS),
    row(&["git"], &["stash", "clear"], &[], DISCARDS),
    row(&["git"], &["branch"], &["-D", "-f", "--force", "--delete"], DISCARDS),
    row(&["git"], &["filter-branch"], &[], REWRITES),
    row(&["git"], &["filter-repo"], &[], REWRITES),
    row(&["git"], &["config"], &["--global", "--system"], "changes what git runs"),
    row(&["chmod"], &[], &["-R", "--recursive", "777", "a+rwx", "+s", "u+s"], RIGHTS),
    row(&["chown", "chgrp"], &[], &["-R", "--recursive"], RIGHTS),
    row(&["kill"], &[], &["-9", "-KILL", "-SIGKILL", "-1"], "ends processes by force"),
    row(&["killall", "pkill"], &[], &[], "ends processes by name"),
    row(&["shutdown", "reboot", "halt", "poweroff", "init"], &[], &[], SYSTEM),
    row(&["systemctl"], &["stop"], &[], SYSTEM),
    row(&["systemctl"], &["disable"], &[], SYSTEM),
    row(&["systemctl"], &["mask"], &[], SYSTEM),
    row(&["crontab", "iptables", "mount", "umount", "useradd", "userdel", "passwd"], &[], &[], SYSTEM),
    row(&["npm", "pnpm", "yarn", "cargo", "bun", "poetry", "uv"], &["publish"], &[], PUBLISHES),
    row(&["npm"], &["unpublish"], &[], PUBLISHES),
    row(&["cargo"], &["yank"], &[], PUBLISHES),
    row(&["gem", "docker", "podman"], &["push"], &[], PUBLISHES),
    row(&["twine"], &["upload"], &[], PUBLISHES),
    row(&["gh"], &["release", "create"], &[], PUBLISHES),
    row(&["gh"], &["repo", "delete"], &[], REMOTE),
    row(&["docker", "podman"], &["system", "prune"], &[], "removes containers, images or volumes"),
    row(&["docker", "podman"], &["volume"], &[], "removes containers, images or volumes"),
    row(&["kubectl"], &["delete"], &[], REMOTE),
    row(&["terraform", "tofu"], &["destroy"], &[], REMOTE),
    row(&["terraform", "tofu"], &["apply"], &[], REMOTE),
    row(&["helm"], &["uninstall"], &[], REMOTE),
    row(&["aws"], &["s3", "rm"], &[], REMOTE),
    row(&["aws"], &["s3", "rb"], &[], REMOTE),
    row(&["dropdb", "dropuser"], &[], &[], "destroys a database"),
    row(&["ssh"], &[], &[], "runs on another machine"),
    row(&["su"], &[], &[], "runs with the rights of another user"),
    row(&["sh", "bash", "zsh", "dash", "ksh", "fish"], &[], &["-c"], TEXT),
    row(&["eval", "source", "."], &[], &[], TEXT),
];

/// Flags with a value that may precede a subcommand.
const VALUED: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "-n", "--namespace", "--context", "--prefix"];

impl Row {
    /// Returns whether a command has this form.
    pub(super) fn fits(&self, program: &str, rest: &[Word]) -> bool {
        let marked = |word: &Word| self.marks.iter().any(|mark| bears(&word.text, mark));
        self.is_of(program)
            && subcommands(rest).take(self.words.len()).eq(self.words.iter().copied())
            && (self.marks.is_empty() || rest.iter().any(marked))
    }

    fn is_of(&self, program: &str) -> bool {
        self.programs.iter().any(|name| glob(name, program))
    }
}

/// Returns the words that are neither flags nor values of flags before a subcommand.
fn subcommands(rest: &[Word]) -> impl Iterator<Item = &str> {
    let mut value = false;
    rest.iter().map(|word| word.text.as_str()).filter(move |word| {
        let skipped = value || word.starts_with('-');
        value = !value && VALUED.contains(word);
        !skipped
    })
}

/// Returns whether a word is or contains a mark.
fn bears(word: &str, mark: &str) -> bool {
    let letter = mark.strip_prefix('-').filter(|rest| rest.len() == 1 && *rest != "-");
    match letter {
        Some(letter) => word.starts_with('-') && !word.starts_with("--") && word[1..].contains(letter),
        None if mark.starts_with('-') => {
            word == mark || word.strip_prefix(mark).is_some_and(|rest| rest.starts_with('='))
        }
        None => word.starts_with(mark),
    }
}

/// Returns whether a command that begins with these words can be dangerous, depending on further words.
pub(in super::super) fn may_destroy(program: &str, words: &[&str]) -> bool {
    let on_the_way = |row: &Row| row.words.iter().zip(words).all(|(one, other)| one == other);
    ROWS.iter().any(|row| row.is_of(program) && on_the_way(row)) || written_by(program).is_some()
}

/// The operands of a program that are files it writes.
pub(in super::super) enum WrittenOperands {
    All,
    Last,
    /// All except the first, if there is a flag `-i`.
    InPlace,
    /// The word after one of these flags.
    After(&'static [&'static str]),
}

/// Programs that write files named by their operands.
const WRITERS: &[(&[&str], WrittenOperands)] = &[
    (&["chgrp", "chmod", "chown", "mkdir", "mv", "rm", "rmdir"], WrittenOperands::All),
    (&["tee", "touch", "unlink"], WrittenOperands::All),
    (&["cp", "install", "ln", "rsync"], WrittenOperands::Last),
    (&["sed"], WrittenOperands::InPlace),
    (&["curl", "sort"], WrittenOperands::After(&["-o", "--output"])),
    (&["tar"], WrittenOperands::After(&["-C", "--directory"])),
    (&["unzip"], WrittenOperands::After(&["-d"])),
    (&["wget"], WrittenOperands::After(&["-O", "-P", "--output-document"])),
];

/// Returns the operands of a program that are files it writes, if there are any.
pub(in super::super) fn written_by(program: &str) -> Option<&'static WrittenOperands> {
    WRITERS.iter().find(|(names, _)| names.contains(&program)).map(|(_, which)| which)
}

/// Returns the words that are not flags, and all words after `--`.
pub(in super::super) fn operands(rest: &[Word]) -> Vec<&Word> {
    let end = rest.iter().position(|word| word.text == "--").unwrap_or(rest.len());
    let before = rest[..end].iter().filter(|word| !word.text.starts_with('-') || word.text == "-");
    before.chain(rest.iter().skip(end + 1)).collect()
}
