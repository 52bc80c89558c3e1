//! The folder of an archive: what it remembers, its lock and its secret.

use std::{
    fs::{self, File, TryLockError},
    hash::{BuildHasher, RandomState},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{create_folder, file::write_replacing, lean::Secret, private};
use crate::input::archive::MARKER;

/// Version of the layout of the folder.
const FORMAT: u64 = 1;

/// The file with the secret of a lean archive.
const SECRET: &str = "ccstat-archive.key";

/// The file that is locked while a run writes.
const LOCK: &str = "ccstat-archive.lock";

/// An archive that is open for writing. No other run can write while it exists.
#[derive(Debug)]
pub struct Archive {
    /// The folder of this machine.
    pub(super) folder: PathBuf,
    /// The name of this machine.
    pub machine: String,
    /// The secret of a lean archive; `None` if the archive keeps content.
    pub(super) lean: Option<Secret>,
    _lock: File,
}

/// The reason why an archive cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    #[error("not a name of a machine, use letters, digits, `-`, `_` and `.`: `{0}`")]
    Machine(String),
    #[error("the archive keeps content, give --lean another folder than `{}`", .0.display())]
    KeepsContent(PathBuf),
    #[error("a newer ccstat wrote the archive `{}`", .0.display())]
    Newer(PathBuf),
    #[error("the file that describes the archive is damaged: `{}`", .0.display())]
    Damaged(PathBuf),
    #[error("cannot write `{}`: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// The settings that an archive stores.
struct Memory {
    machine: String,
    lean: bool,
}

impl Archive {
    /// Opens an archive, or creates it. Waits while another run writes, after a call of `wait` with the id of its
    /// process, if known. The machine has the given name, or the one that the archive remembers, or that of the
    /// host.
    pub fn open(
        folder: &Path,
        machine: Option<&str>,
        host: &str,
        lean: bool,
        wait: impl FnOnce(Option<u32>),
    ) -> Result<Self, OpenError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| OpenError::Io { path, source }
        };
        create_folder(folder).map_err(failed(folder))?;
        let lock = lock(&folder.join(LOCK), wait).map_err(failed(&folder.join(LOCK)))?;
        let remembered = Memory::read(folder)?;
        let name = machine.map(str::to_owned);
        let name = name.or_else(|| remembered.as_ref().map(|memory| memory.machine.clone()));
        let machine = name.unwrap_or_else(|| machine_name(host));
        if machine != machine_name(&machine) {
            return Err(OpenError::Machine(machine));
        }
        if lean && remembered.as_ref().is_some_and(|memory| !memory.lean) {
            return Err(OpenError::KeepsContent(folder.to_owned()));
        }
        let lean = remembered.as_ref().map_or(lean, |memory| memory.lean);
        let secret = lean.then(|| secret(folder)).transpose().map_err(failed(&folder.join(SECRET)))?;
        if remembered.is_none() {
            Memory { machine: machine.clone(), lean }.write(folder).map_err(failed(&folder.join(MARKER)))?;
        }
        Ok(Self { folder: folder.join(&machine), machine, lean: secret, _lock: lock })
    }

    /// Whether it keeps no content.
    pub fn is_lean(&self) -> bool {
        self.lean.is_some()
    }
}

impl Memory {
    /// Reads what an archive remembers; `None` if the folder is not an archive yet.
    fn read(folder: &Path) -> Result<Option<Self>, OpenError> {
        let path = folder.join(MARKER);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(OpenError::Io { path, source }),
        };
        let memory: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        match (memory["format"].as_u64(), memory["machine"].as_str()) {
            (Some(format), _) if format > FORMAT => Err(OpenError::Newer(folder.to_owned())),
            (Some(_), Some(machine)) => {
                Ok(Some(Self { machine: machine.to_owned(), lean: memory["lean"] == Value::Bool(true) }))
            }
            _ => Err(OpenError::Damaged(path)),
        }
    }

    fn write(&self, folder: &Path) -> io::Result<()> {
        let memory = json!({"format": FORMAT, "machine": self.machine, "lean": self.lean});
        write_replacing(&folder.join(MARKER), |file| writeln!(file, "{memory:#}"))
    }
}

/// Locks a file and writes the id of this process to it. The lock ends with the process.
fn lock(path: &Path, wait: impl FnOnce(Option<u32>)) -> io::Result<File> {
    let mut file = private().truncate(false).open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // Windows does not let others read a locked file.
            let _ = file.read_to_string(&mut holder);
            wait(holder.trim().parse().ok());
            file.lock()?;
        }
        // Some network file systems have no locks. Writing without one is better than not archiving.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
        Err(TryLockError::Error(error)) => return Err(error),
    }
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())?;
    Ok(file)
}

/// Reads the secret of an archive, or makes one.
fn secret(folder: &Path) -> io::Result<Secret> {
    let path = folder.join(SECRET);
    let parse = |text: String| {
        let number = u128::from_str_radix(text.trim(), 16).ok()?;
        Some(Secret(number.to_le_bytes()))
    };
    match fs::read_to_string(&path) {
        Ok(text) => parse(text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "is not a key")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // The keys of `RandomState` are random; they differ for each one by a counter only.
            let [high, low] = [0, 1].map(|number: u64| u128::from(RandomState::new().hash_one(number)));
            let number = high << 64 | low;
            write_replacing(&path, |file| writeln!(file, "{number:032x}"))?;
            Ok(Secret(number.to_le_bytes()))
        }
        Err(error) => Err(error),
    }
}

/// The name of a folder for a machine: other characters than letters, digits, `-`, `_` and `.` become `-`.
fn machine_name(host: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let name: String = host.chars().map(|letter| if plain(letter) { letter } else { '-' }).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "machine".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(folder: &Path, machine: Option<&str>, host: &str, lean: bool) -> Result<Archive, OpenError> {
        Archive::open(folder, machine, host, lean, |_| panic!("nobody else has the lock"))
    }

    #[test]
    fn an_archive_remembers_its_machine_and_whether_it_is_lean() {
        let folder = tempfile::tempdir().unwrap();
        let name =
            |machine, host, lean| open(folder.path(), machine, host, lean).map(|one| (one.machine, one.lean));
        let (first, secret) = name(None, "alpha", true).unwrap();
        assert_eq!(first, "alpha");
        assert_eq!(name(None, "renamed", false).unwrap(), ("alpha".to_owned(), secret));
        assert_eq!(name(Some("beta"), "renamed", false).unwrap().0, "beta");
        assert_eq!(name(None, "renamed", false).unwrap().0, "alpha");
        assert!(matches!(name(Some("../up"), "x", false), Err(OpenError::Machine(_))));
        let content = tempfile::tempdir().unwrap();
        open(content.path(), None, "alpha", false).unwrap();
        assert!(matches!(open(content.path(), None, "alpha", true), Err(OpenError::KeepsContent(_))));
    }

    #[test]
    fn a_damaged_or_newer_description_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let marker = folder.path().join(MARKER);
        fs::write(&marker, "{").unwrap();
        assert!(matches!(open(folder.path(), None, "a", false), Err(OpenError::Damaged(_))));
        fs::write(&marker, r#"{"format":2,"machine":"a"}"#).unwrap();
        assert!(matches!(open(folder.path(), None, "a", false), Err(OpenError::Newer(_))));
    }

    #[test]
    fn names_of_hosts_become_names_of_folders() {
        assert_eq!(machine_name("build 7/b"), "build-7-b");
        assert_eq!(machine_name("../x"), "-x");
        assert_eq!(machine_name(""), "machine");
    }
}
