//! Opening: files and streams, packed or not.

use std::{
    fs::{File, Metadata},
    io::{self, BufReader, Cursor, Read},
    path::Path,
};

use super::{
    Origin,
    gzip::Gunzip,
    pipe::{self, Stop},
};

/// The bytes of a source.
pub enum Bytes {
    /// A file that may be read in several places at once.
    File(File),
    /// What can only be read from front to back.
    Stream(Box<dyn Read + Send>),
}

impl Bytes {
    /// Opens a source. What is compressed is known by its first bytes, whatever its name.
    pub fn open(origin: &Origin, stop: &Stop) -> io::Result<Self> {
        match origin {
            Origin::Stdin => Self::stream(pipe::stream(stop, || Ok(io::stdin().lock()))),
            Origin::File(path) => {
                // To open what is no file could wait for ever.
                let about = path.metadata()?;
                if about.is_dir() {
                    return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder"));
                }
                if about.is_file() {
                    return Self::file(path);
                }
                let path = path.to_owned();
                Self::stream(pipe::stream(stop, move || open(&path)))
            }
        }
    }

    /// What comes from elsewhere, packed or not.
    pub fn stream(mut stream: Box<dyn Read + Send>) -> io::Result<Self> {
        let (head, length) = magic(&mut stream)?;
        let packing = Packing::of(&head[..length]);
        let head = Cursor::new(head[..length].to_vec());
        let whole: Box<dyn Read + Send> = Box::new(head.chain(stream));
        Ok(Self::Stream(match packing {
            None => whole,
            Some(packing) => packing.unpack(whole)?,
        }))
    }

    /// Opens what was seen to be a regular file; refuses anything else that took its place since. The type is not asked for
    /// by name a second time: on ten thousand small files that took a tenth of the time.
    pub(crate) fn file(path: &Path) -> io::Result<Self> {
        let mut file = open_seen(path)?;
        Ok(match packing_of(&mut file)? {
            None => Self::File(file),
            Some(packing) => Self::Stream(packing.unpack(Box::new(file))?),
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one place")]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Opens a regular file, or a link to one. Never waits: a named pipe, a device or a folder is an error.
///
/// The type is checked before opening, since opening a device can have effects, and again afterwards, since the file may
/// have been replaced in between.
pub fn open_regular(path: &Path) -> io::Result<File> {
    check_regular(&path.metadata()?)?;
    open_seen(path)
}

/// The same for a path whose type was checked just before.
pub(super) fn open_seen(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    // Without this flag, opening a named pipe waits until someone writes into it. It changes nothing for regular files.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    let file = options.open(path)?;
    check_regular(&file.metadata()?)?;
    Ok(file)
}

pub(super) fn check_regular(about: &Metadata) -> io::Result<()> {
    match () {
        () if about.is_file() => Ok(()),
        () if about.is_dir() => Err(is_directory()),
        () => Err(io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file")),
    }
}

/// What the system says about reading a folder.
#[cfg(unix)]
fn is_directory() -> io::Error {
    rustix::io::Errno::ISDIR.into()
}

#[cfg(not(unix))]
fn is_directory() -> io::Error {
    io::ErrorKind::IsADirectory.into()
}

/// How a file is packed. It is read from its beginning afterwards.
#[cfg(unix)]
fn packing_of(file: &mut File) -> io::Result<Option<Packing>> {
    use std::os::unix::fs::FileExt;
    let mut head = [0; 4];
    let length = loop {
        match file.read_at(&mut head, 0) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => break done?,
        }
    };
    Ok(Packing::of(&head[..length]))
}

/// How a file is packed. It is read from its beginning afterwards.
#[cfg(not(unix))]
fn packing_of(file: &mut File) -> io::Result<Option<Packing>> {
    let (head, length) = magic(file)?;
    std::io::Seek::rewind(file)?;
    Ok(Packing::of(&head[..length]))
}

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
        if !b"\x1f\x8b".starts_with(&head[..length.min(2)]) && !ZSTD.starts_with(&head[..length]) {
            break; // a live pipe must not wait for four bytes
        }
    }
    Ok((head, length))
}

const ZSTD: &[u8; 4] = b"\x28\xb5\x2f\xfd";

enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            _ if head == ZSTD => Some(Self::Zstd),
            _ => None,
        }
    }

    /// All members or frames, one after another.
    fn unpack(self, packed: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Gzip => Box::new(Gunzip::new(BufReader::with_capacity(128 << 10, packed))),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::new(packed)?),
        })
    }
}
