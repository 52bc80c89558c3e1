//! Returns the text of a record by its place, after everything was read.

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

/// Bytes that are stored in memory; beyond that, an unnamed temporary file is used.
const MAX_IN_MEMORY: usize = 16 << 20;

/// Extra bytes to read, for whitespace before a record: its offset is where the whitespace begins.
const SLACK: u64 = 64;

/// Place and length of a record.
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

/// Stores the records of sources that cannot be read again, and reads the others from their files on demand.
pub(in crate::cli) struct RecordStore {
    /// The sources that cannot be read again.
    once: HashSet<SourceId>,
    /// Store only the records at these places.
    only: Option<HashSet<(SourceId, u64)>>,
    spool: SpooledTempFile,
    /// Offset in the spool and length of each stored record.
    stored: HashMap<(SourceId, u64), (u64, u64)>,
    end: u64,
    /// The file that was read last.
    open: Option<(SourceId, File)>,
    /// The first reason why a record is missing.
    error: Option<io::Error>,
}

impl RecordStore {
    pub(in crate::cli) fn new(sources: &[Source]) -> Self {
        let once = sources.iter().zip(0..).filter(|(source, _)| is_read_once(source));
        Self {
            once: once.map(|(_, id)| SourceId(id)).collect(),
            only: None,
            spool: SpooledTempFile::new(MAX_IN_MEMORY),
            stored: HashMap::new(),
            end: 0,
            open: None,
            error: None,
        }
    }

    /// Whether a source has to be stored while it is read.
    pub(in crate::cli) fn is_needed(&self) -> bool {
        !self.once.is_empty()
    }

    /// Takes the reason why a record could not be stored or found.
    pub(in crate::cli) fn error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// Stores those of these records that are in compressed files, which can only be read from front to back.
    pub(super) fn load_compressed(&mut self, items: &[Item], sources: &[Source], limits: Limits) {
        let mut asked: HashMap<SourceId, HashSet<(SourceId, u64)>> = HashMap::new();
        for item in items.iter().filter(|item| !self.once.contains(&item.source)) {
            // Each file is scanned alone below, so its source id is 0 there.
            asked.entry(item.source).or_default().insert((SourceId(0), item.offset));
        }
        let options = Options { threads: 1, limits, ..Options::default() };
        for (id, only) in asked {
            let Some(source) = sources.get(id.0 as usize) else { continue };
            match Bytes::open(&source.origin, &Stop::default()) {
                Ok(Bytes::File(_)) => {}
                Ok(Bytes::Stream(_) | Bytes::Lean(_)) => {
                    let mut part = Self { only: Some(only), ..Self::new(&[]) };
                    scan::scan_observed(std::slice::from_ref(source), &options, &mut part);
                    self.merge(part, id);
                }
                Err(error) => self.error = Some(error),
            }
        }
    }

    /// Adds the records that were read from one source.
    fn merge(&mut self, mut part: Self, id: SourceId) {
        let stored: Vec<((SourceId, u64), (u64, u64))> =
            part.stored.iter().map(|(&key, &at)| (key, at)).collect();
        for ((_, offset), at) in stored {
            match part.spooled(at) {
                Ok(text) => self.store((id, offset), &text),
                Err(error) => self.error = Some(error),
            }
        }
        self.error = self.error.take().or(part.error);
    }

    fn store(&mut self, key: (SourceId, u64), text: &[u8]) {
        if self.error.is_some() {
            return;
        }
        match self.spool.seek(SeekFrom::Start(self.end)).and_then(|_| self.spool.write_all(text)) {
            Ok(()) => {
                self.stored.insert(key, (self.end, text.len() as u64));
                self.end += text.len() as u64;
            }
            Err(error) => self.error = Some(error),
        }
    }

    /// The text of a record; `None` if it cannot be found any more.
    pub(super) fn text(&mut self, item: Item, sources: &[Source]) -> Option<Vec<u8>> {
        let text = match self.stored.get(&item.key()) {
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

    /// Reads a record from its file.
    fn read(&mut self, item: Item, sources: &[Source]) -> io::Result<Vec<u8>> {
        let mut file = match self.open.take() {
            Some((source, file)) if source == item.source => file,
            _ => {
                let source = sources.get(item.source.0 as usize).ok_or(io::ErrorKind::NotFound)?;
                match Bytes::open(&source.origin, &Stop::default())? {
                    Bytes::File(file) => file,
                    Bytes::Stream(_) | Bytes::Lean(_) => return Ok(Vec::new()), // the file was replaced meanwhile
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

impl Observer for RecordStore {
    fn record(&mut self, place: Place, event: &Event<'_>, text: &[u8]) {
        let key = (place.source, place.offset);
        let wanted = match &self.only {
            Some(only) => only.contains(&key),
            None => self.once.contains(&place.source) && may_have_content(&event.kind.name()),
        };
        if wanted {
            self.store(key, text);
        }
    }

    fn batch_end(&mut self) {}
}

/// Whether a source is standard input, a named pipe or a device.
fn is_read_once(source: &Source) -> bool {
    match &source.origin {
        Origin::Stdin => true,
        Origin::File(path) => path.metadata().is_ok_and(|about| !about.is_file()),
    }
}
