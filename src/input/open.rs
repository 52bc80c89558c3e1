//! Opens files and streams, and decompresses gzip and zstd.

use std::{
    fs::{File, Metadata},
    io::{self, BufReader, Cursor, Read, Seek},
    path::Path,
};

use super::{
    Origin,
    archive::{self, Archived},
    gzip::GzipReader,
    pipe::{self, Stop},
};

/// The bytes of a source.
pub enum Bytes {
    /// An uncompressed file, which can be read from any offset.
    File(File),
    /// A pipe or compressed data, which can only be read from front to back.
    Stream(Box<dyn Read + Send>),
    /// The chunks of a lean log.
    Lean(Box<dyn Read + Send>),
}

impl Bytes {
    /// Opens a source. Compression is detected by the first bytes, not by the name.
    pub fn open(origin: &Origin, stop: &Stop) -> io::Result<Self> {
        match origin {
            Origin::Stdin => Self::stream(pipe::spawn_reader(stop, || Ok(io::stdin().lock()))),
            Origin::File(path) => {
                // Opening a pipe or a device may block forever, so a thread does that.
                let metadata = path.metadata()?;
                if metadata.is_dir() {
                    return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder"));
                }
                if metadata.is_file() {
                    return Self::file(path);
                }
                let path = path.to_owned();
                Self::stream(pipe::spawn_reader(stop, move || open(&path)))
            }
        }
    }

    /// Wraps a stream and decompresses it if necessary.
    pub fn stream(mut stream: Box<dyn Read + Send>) -> io::Result<Self> {
        let (head, length) = magic(&mut stream)?;
        let compression = Compression::of(&head[..length]);
        let head = Cursor::new(head[..length].to_vec());
        let whole: Box<dyn Read + Send> = Box::new(head.chain(stream));
        match compression {
            None => Ok(Self::Stream(whole)),
            Some(compression) => compression.open(whole),
        }
    }

    /// Opens a path that was a regular file a moment ago. Fails if something else has replaced it since.
    ///
    /// The type is checked on the open file only: a second lookup by name took a tenth of the time for ten
    /// thousand small files.
    pub(crate) fn file(path: &Path) -> io::Result<Self> {
        let mut file = open_checked(path)?;
        match compression_of(&mut file)? {
            None => Ok(Self::File(file)),
            Some(Compression::Archive) => {
                let committed = Archived::read(&mut file)?.map_or(u64::MAX, |archived| archived.committed());
                file.rewind()?;
                Compression::Archive.open(Box::new(file.take(committed)))
            }
            Some(compression) => compression.open(Box::new(file)),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "pipes and devices are opened here alone")]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Opens a regular file, or a link to one. Never blocks: a named pipe, a device or a folder is an error.
///
/// The type is checked before opening, since opening a device can have effects, and again afterwards, since
/// the file may have been replaced in between.
pub fn open_regular(path: &Path) -> io::Result<File> {
    check_regular(&path.metadata()?)?;
    open_checked(path)
}

/// Like [`open_regular`], for a path whose type was checked a moment ago.
pub(super) fn open_checked(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    // Without this flag, opening a named pipe blocks until someone writes to it. It changes nothing for
    // regular files.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    let file = options.open(path)?;
    check_regular(&file.metadata()?)?;
    Ok(file)
}

pub(super) fn check_regular(metadata: &Metadata) -> io::Result<()> {
    match () {
        () if metadata.is_file() => Ok(()),
        () if metadata.is_dir() => Err(is_directory()),
        () => Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file")),
    }
}

/// The error that the system gives for reading a folder.
#[cfg(unix)]
fn is_directory() -> io::Error {
    rustix::io::Errno::ISDIR.into()
}

#[cfg(not(unix))]
fn is_directory() -> io::Error {
    io::ErrorKind::IsADirectory.into()
}

/// Detects the compression of a file. Leaves the file position at the start.
#[cfg(unix)]
fn compression_of(file: &mut File) -> io::Result<Option<Compression>> {
    use std::os::unix::fs::FileExt;
    let mut head = [0; 4];
    let length = loop {
        match file.read_at(&mut head, 0) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => break done?,
        }
    };
    Ok(Compression::of(&head[..length]))
}

/// Detects the compression of a file. Leaves the file position at the start.
#[cfg(not(unix))]
fn compression_of(file: &mut File) -> io::Result<Option<Compression>> {
    let (head, length) = magic(file)?;
    file.rewind()?;
    Ok(Compression::of(&head[..length]))
}

/// Reads up to four bytes: as many as it takes to detect the compression.
fn magic(reader: &mut dyn Read) -> io::Result<([u8; 4], usize)> {
    let mut head = [0; 4];
    let mut length = 0;
    while length < head.len() {
        match reader.read(&mut head[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if !b"\x1f\x8b".starts_with(&head[..length.min(2)])
            && !ZSTD_MAGIC.starts_with(&head[..length])
            && !archive::MAGIC.starts_with(&head[..length])
            && !LEAN_MAGIC.starts_with(&head[..length])
            && !OLD_LEAN.starts_with(&head[..length])
        {
            break; // do not wait for four bytes of a live pipe
        }
    }
    Ok((head, length))
}

const ZSTD_MAGIC: &[u8; 4] = b"\x28\xb5\x2f\xfd";

/// Start of a lean log; the last byte is the version of its form.
pub const LEAN_MAGIC: &[u8; 4] = b"\x8fLN\x03";

/// Start of the lines of an earlier form, which was never released.
const OLD_LEAN: &[u8; 4] = b"{\"~\"";

#[derive(Clone, Copy)]
enum Compression {
    Gzip,
    Zstd,
    /// zstd, in a file of an archive.
    Archive,
    /// None: a lean log that somebody has decompressed.
    Lean,
    /// A lean log of another form than ours.
    OtherLean,
}

impl Compression {
    fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            _ if head == ZSTD_MAGIC => Some(Self::Zstd),
            _ if head == archive::MAGIC => Some(Self::Archive),
            _ if head == LEAN_MAGIC => Some(Self::Lean),
            _ if head == OLD_LEAN || head.len() == 4 && head[..3] == LEAN_MAGIC[..3] => Some(Self::OtherLean),
            _ => None,
        }
    }

    /// Decompresses all members or frames, one after another.
    fn open(self, mut stream: Box<dyn Read + Send>) -> io::Result<Bytes> {
        match self {
            Self::Gzip => {
                let unpacked = GzipReader::new(BufReader::with_capacity(128 << 10, stream));
                Ok(Bytes::Stream(Box::new(unpacked)))
            }
            Self::Zstd | Self::Archive => {
                let mut unpacked: Box<dyn Read + Send> = Box::new(zstd::stream::read::Decoder::new(stream)?);
                // An error here is met again, and then reported with its place.
                let Ok((head, length)) = magic(&mut unpacked) else { return Ok(Bytes::Stream(unpacked)) };
                let head = &head[..length];
                match Self::of(head) {
                    Some(lean @ (Self::Lean | Self::OtherLean)) => {
                        lean.open(Box::new(Cursor::new(head.to_vec()).chain(unpacked)))
                    }
                    _ => Ok(Bytes::Stream(Box::new(Cursor::new(head.to_vec()).chain(unpacked)))),
                }
            }
            Self::Lean => {
                stream.read_exact(&mut [0; LEAN_MAGIC.len()])?;
                Ok(Bytes::Lean(stream))
            }
            Self::OtherLean => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "is a lean log in a form of another version of ccstat: archive the log again",
            )),
        }
    }
}
