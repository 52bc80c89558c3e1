//! Output files that have their old or their new content, never a part of it.

use std::{
    fs,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

/// Whether a path is a pipe or a device, which cannot be replaced by a file. A shell creates one for `-o
/// json=>(jq .)`.
pub(super) fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Writes to a pipe or a device.
pub(super) fn write_through(
    path: &Path,
    render: impl Fn(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = io::BufWriter::new(fs::OpenOptions::new().write(true).open(path)?);
    match render(&mut out).and_then(|()| out.flush()) {
        // A reader that closed the pipe does not want the rest, as with standard output.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// A temporary file that replaces another when it is complete. Dropped before, it is removed.
pub(super) struct WholeFile {
    out: BufWriter<NamedTempFile>,
    path: PathBuf,
}

impl WholeFile {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::metadata(folder)?; // a missing folder fails with the plain system error
        let mut builder = tempfile::Builder::new();
        builder.prefix(".ccstat-");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // minus the umask
        let out = BufWriter::new(builder.tempfile_in(folder).map_err(|error| error.kind())?);
        Ok(Self { out, path: path.to_owned() })
    }

    /// Renames it to its path.
    pub(super) fn persist(self) -> io::Result<()> {
        let file = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes a file completely or not at all.
pub(super) fn write_whole(
    path: &Path,
    render: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = WholeFile::create(path)?;
    render(&mut file)?;
    file.persist()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        fs::write(&path, "before").unwrap();
        let broken = |out: &mut dyn Write| {
            out.write_all(&[b'x'; 100_000])?;
            Err(io::Error::other("broken"))
        };
        assert!(write_whole(&path, broken).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "before");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a temporary file is left");
        write_whole(&path, |out| out.write_all(b"after")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "after");
    }
}
