//! Finds the files that a command reads and writes, as far as the CLI checks them (measured on 2.1.326).

use super::{
    super::{
        danger::{WrittenOperands, is_in_place, operands, written_by, written_operands},
        shell::{Part, Word, program},
    },
    list::{Operands, READ_ONLY, ReadOnlyCommand},
};

/// The files that a part reads and writes.
#[derive(Debug, Default)]
pub(in super::super) struct Files<'p> {
    pub(in super::super) read: Vec<&'p Word>,
    pub(in super::super) written: Vec<&'p Word>,
    /// Files that redirections write. They need a rule of their own.
    pub(in super::super) redirected: Vec<&'p Word>,
}

/// Programs whose operands the CLI treats as written files.
const WRITING: &[&str] = &["touch", "mkdir", "rm", "rmdir", "mv", "cp", "tee", "sed"];

/// Programs that read files but are not read-only, and which of their operands are the files.
const ALSO_READING: &[(&str, Operands)] = &[("awk", Operands::PatternAndFiles), ("uniq", Operands::Files)];

/// Returns the files of a part, ignoring wrappers of its command.
pub(in super::super) fn files(part: &Part) -> Files<'_> {
    let mut files = Files { redirected: part.written().collect(), ..Files::default() };
    files.read.extend(part.read());
    let Some((first, rest)) = part.core().split_first() else { return files };
    let name = program(&first.text);
    if let Some(which) = written_by(name).filter(|_| WRITING.contains(&name)) {
        files.written = written_operands(which, rest);
        let copies = matches!(which, WrittenOperands::Last);
        if copies {
            let all = operands(rest);
            files.read.extend(all.iter().take(all.len().saturating_sub(1)).copied());
        }
        if name == "mv" {
            files.read.extend(files.written.iter().rev().skip(1).rev().copied());
        }
    }
    if name == "sed" && is_in_place(rest) {
        return files;
    }
    let row = READ_ONLY.iter().find(|row| row.matches(part.core()));
    let also =
        || ALSO_READING.iter().find(|(other, _)| *other == name).map(|(_, operands)| (*operands, &[][..], 1));
    let found = row.map(|row| (row.operands, row.valued, row.length())).or_else(also);
    if let Some((kind, valued, skip)) = found {
        let rest = part.core().get(skip..).unwrap_or_default();
        files.read.extend(read(name, kind, valued, rest));
    }
    files
}

impl ReadOnlyCommand {
    /// Returns whether the words begin with this command.
    pub(super) fn matches(&self, words: &[Word]) -> bool {
        let Some((first, rest)) = words.split_first() else { return false };
        self.programs.contains(&program(&first.text))
            && rest.len() >= self.subcommands.len()
            && rest.iter().zip(self.subcommands).all(|(word, own)| word.text == *own)
    }

    /// Number of words of the program and its subcommands.
    pub(super) fn length(&self) -> usize {
        1 + self.subcommands.len()
    }
}

/// Returns the operands that are files.
fn read<'w>(name: &str, kind: Operands, valued: &[&str], rest: &'w [Word]) -> Vec<&'w Word> {
    match kind {
        Operands::Files if ["test", "[", "[["].contains(&name) => {
            rest.iter().filter(|word| word.text.contains('/')).collect()
        }
        Operands::Files => non_flags(rest, valued),
        Operands::PatternAndFiles => {
            let named =
                rest.iter().any(|word| ["-e", "--regexp", "-f", "--file"].contains(&word.text.as_str()));
            non_flags(rest, valued).into_iter().skip(usize::from(!named)).collect()
        }
        Operands::Folders => {
            let flag = |word: &&Word| !word.text.starts_with(['-', '(', '!']);
            rest.iter().take_while(flag).collect()
        }
        Operands::Text | Operands::None => Vec::new(),
    }
}

/// Returns the words that are neither flags nor values of flags.
pub(super) fn non_flags<'w>(rest: &'w [Word], valued: &[&str]) -> Vec<&'w Word> {
    let (mut value, mut plain) = (false, false);
    let non_flags = |word: &&Word| {
        let text = word.text.as_str();
        if value || !plain && text == "--" {
            plain |= !value;
            value = false;
            return false;
        }
        let flag = !plain && text.starts_with('-') && text != "-";
        value = flag && valued.contains(&text);
        !flag
    };
    rest.iter().filter(non_flags).filter(|word| word.text != "-").collect()
}
