//! Opening: files and streams, packed or not.

use std::{
    fs::File,
    io::{self, BufReader, Cursor, Read, Seek, SeekFrom},
    path::Path,
};

use super::{
    Origin,
    pipe::{self, Stop},
};

/// The bytes of a source.
pub enum Bytes {
    /// A file that may be read in several places at once; its length.
    File(File, u64),
    /// What can only be read from front to back.
    Stream(Box<dyn Read + Send>),
}

/// A source that could be opened.
pub struct Opened {
    /// Its bytes.
    pub bytes: Bytes,
    /// Bytes on the disk, where that is known.
    pub stored: Option<u64>,
}

impl Opened {
    /// Opens a source. What is compressed is known by its first bytes, whatever its name.
    pub fn open(origin: &Origin, stop: &Stop) -> io::Result<Self> {
        match origin {
            Origin::Stdin => Self::stream(pipe::stream(stop, || Ok(io::stdin().lock()))),
            Origin::File(path) => Self::open_file(path, stop),
        }
    }

    /// What comes from elsewhere, packed or not.
    pub fn stream(stream: Box<dyn Read + Send>) -> io::Result<Self> {
        Ok(Self { bytes: plain(stream)?, stored: None })
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    fn open_file(path: &Path, stop: &Stop) -> io::Result<Self> {
        let about = path.metadata()?;
        if about.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder"));
        }
        if !about.is_file() {
            let path = path.to_owned();
            return Self::stream(pipe::stream(stop, move || File::open(path)));
        }
        let mut file = File::open(path)?;
        let about = file.metadata()?;
        let (head, length) = magic(&mut file)?;
        file.seek(SeekFrom::Start(0))?;
        let bytes = match Packing::of(&head[..length]) {
            None => Bytes::File(file, about.len()),
            Some(packing) => Bytes::Stream(packing.unpack(Box::new(file))?),
        };
        Ok(Self { bytes, stored: Some(about.len()) })
    }
}

/// A stream as it is, or unpacked.
fn plain(mut stream: Box<dyn Read + Send>) -> io::Result<Bytes> {
    let (head, length) = magic(&mut stream)?;
    let packing = Packing::of(&head[..length]);
    let head = Cursor::new(head[..length].to_vec());
    let whole: Box<dyn Read + Send> = Box::new(head.chain(stream));
    Ok(Bytes::Stream(match packing {
        None => whole,
        Some(packing) => packing.unpack(whole)?,
    }))
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
            Self::Gzip => {
                Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(128 << 10, packed)))
            }
            Self::Zstd => Box::new(zstd::stream::read::Decoder::new(packed)?),
        })
    }
}
