//! The texts of records, found again by their places.

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
};

use tempfile::SpooledTempFile;

use crate::{
    event::{Event, may_have_content},
    input::{self, Bytes, Limits, Origin, Place, Source, SourceId, Stop},
    scan::{self, Observer, Options},
};

/// Bytes that are held in memory; beyond that a file without a name has them.
const HELD: usize = 16 << 20;

/// Room for blanks before a record: its place is then where they begin.
const SLACK: u64 = 64;

/// A record, as the ledger knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) source: SourceId,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

impl Item {
    pub(super) fn key(self) -> (SourceId, u64) {
        (self.source, self.offset)
    }
}

/// Keeps records of sources that cannot be read again, and reads those of files when they are wanted.
pub(in crate::cli) struct Shelf {
    /// The sources that cannot be read again.
    once: HashSet<SourceId>,
    /// If only these are wanted: their places.
    only: Option<HashSet<(SourceId, u64)>>,
    spool: SpooledTempFile,
    /// The offset of each record in the spool, and its length.
    kept: HashMap<(SourceId, u64), (u64, u64)>,
    end: u64,
    /// The file that was read last.
    open: Option<(SourceId, File)>,
    /// Why some record is missing.
    error: Option<io::Error>,
}

impl Shelf {
    /// For these sources.
    pub(in crate::cli) fn new(sources: &[Source]) -> Self {
        let once = sources.iter().zip(0..).filter(|(source, _)| is_read_once(source));
        Self {
            once: once.map(|(_, id)| SourceId(id)).collect(),
            only: None,
            spool: SpooledTempFile::new(HELD),
            kept: HashMap::new(),
            end: 0,
            open: None,
            error: None,
        }
    }

    /// Whether some source has to be kept while it is read.
    pub(in crate::cli) fn keeps_some(&self) -> bool {
        !self.once.is_empty()
    }

    /// Why some record could not be kept or found.
    pub(in crate::cli) fn error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// Keeps those of these records that lie in packed files, which can only be read from front to back.
    pub(super) fn unpack(&mut self, items: &[Item], sources: &[Source], limits: Limits) {
        let mut asked: HashMap<SourceId, HashSet<(SourceId, u64)>> = HashMap::new();
        for item in items.iter().filter(|item| !self.once.contains(&item.source)) {
            // Alone it is the first source.
            asked.entry(item.source).or_default().insert((SourceId(0), item.offset));
        }
        let options = Options { threads: 1, limits, ..Options::default() };
        for (id, only) in asked {
            let Some(source) = sources.get(id.0 as usize) else { continue };
            match Bytes::open(&source.origin, &Stop::default()) {
                Ok(Bytes::File(_)) => {}
                Ok(Bytes::Stream(_)) => {
                    let mut part = Self { only: Some(only), ..Self::new(&[]) };
                    scan::scan_observed(std::slice::from_ref(source), &options, &mut part);
                    self.take_in(part, id);
                }
                Err(error) => self.error = Some(error),
            }
        }
    }

    /// Takes in what was read of one source.
    fn take_in(&mut self, mut part: Self, id: SourceId) {
        let kept: Vec<((SourceId, u64), (u64, u64))> =
            part.kept.iter().map(|(&key, &at)| (key, at)).collect();
        for ((_, offset), at) in kept {
            match part.spooled(at) {
                Ok(text) => self.keep((id, offset), &text),
                Err(error) => self.error = Some(error),
            }
        }
        self.error = self.error.take().or(part.error);
    }

    fn keep(&mut self, key: (SourceId, u64), text: &[u8]) {
        if self.error.is_some() {
            return;
        }
        match self.spool.seek(SeekFrom::Start(self.end)).and_then(|_| self.spool.write_all(text)) {
            Ok(()) => {
                self.kept.insert(key, (self.end, text.len() as u64));
                self.end += text.len() as u64;
            }
            Err(error) => self.error = Some(error),
        }
    }

    /// The text of a record; none if it is not there any more.
    pub(super) fn text(&mut self, item: Item, sources: &[Source]) -> Option<Vec<u8>> {
        let text = match self.kept.get(&item.key()) {
            Some(&at) => self.spooled(at),
            None if self.once.contains(&item.source) => return None,
            None => self.read(item, sources),
        };
        text.map_err(|error| self.error = Some(error)).ok()
    }

    fn spooled(&mut self, (offset, length): (u64, u64)) -> io::Result<Vec<u8>> {
        self.spool.seek(SeekFrom::Start(offset))?;
        let mut text = Vec::new();
        (&mut self.spool).take(length).read_to_end(&mut text)?;
        Ok(text)
    }

    /// Reads a record out of its file.
    fn read(&mut self, item: Item, sources: &[Source]) -> io::Result<Vec<u8>> {
        let mut file = match self.open.take() {
            Some((source, file)) if source == item.source => file,
            _ => {
                let source = sources.get(item.source.0 as usize).ok_or(io::ErrorKind::NotFound)?;
                match Bytes::open(&source.origin, &Stop::default())? {
                    Bytes::File(file) => file,
                    Bytes::Stream(_) => return Ok(Vec::new()), // it was replaced meanwhile
                }
            }
        };
        file.seek(SeekFrom::Start(item.offset))?;
        let mut text = Vec::new();
        (&mut file).take(item.bytes + SLACK).read_to_end(&mut text)?;
        self.open = Some((item.source, file));
        Ok(input::first_value(&text).unwrap_or_default().to_vec())
    }
}

impl Observer for Shelf {
    fn record(&mut self, place: Place, event: &Event<'_>, text: &[u8]) {
        let key = (place.source, place.offset);
        let wanted = match &self.only {
            Some(only) => only.contains(&key),
            None => self.once.contains(&place.source) && may_have_content(&event.kind.name()),
        };
        if wanted {
            self.keep(key, text);
        }
    }

    fn batch_end(&mut self) {}
}

/// Standard input, a named pipe or a device.
fn is_read_once(source: &Source) -> bool {
    match &source.origin {
        Origin::Stdin => true,
        Origin::File(path) => path.metadata().is_ok_and(|about| !about.is_file()),
    }
}
