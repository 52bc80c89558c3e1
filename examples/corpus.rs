//! Writes a seeded log and, beside it, the answer that a reader must find.

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use corpus::{Answer, Corpus, Shape};

#[path = "../benches/corpus.rs"]
mod corpus;

const USAGE: &str = "\
usage: corpus --shape transcript|stream|events|pretty --size BYTES --out DIR [--files N] [--seed S]
  --size    bytes, with K, M or G for thousands, millions and billions
  --files   files of a transcript (500), or sessions of the one file of the other shapes
  --out     folder to create; the answer is written beside it, as DIR.answer.json";

struct Order {
    corpus: Corpus,
    out: PathBuf,
}

#[expect(clippy::print_stderr, reason = "an example has no other place for its error")]
fn main() -> ExitCode {
    match order(env::args().skip(1)).and_then(|order| write(&order)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("corpus: {error}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn order(mut args: impl Iterator<Item = String>) -> Result<Order, Box<dyn Error>> {
    let (mut shape, mut size, mut out, mut files, mut seed) = (None, None, None, None, 1);
    while let Some(name) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("no value for `{name}`"));
        match name.as_str() {
            "--shape" => shape = Some(value()?.parse::<Shape>()?),
            "--size" => size = Some(bytes(&value()?)?),
            "--out" => out = Some(PathBuf::from(value()?)),
            "--files" => files = Some(number(&value()?)?.max(1)),
            "--seed" => seed = number(&value()?)?,
            _ => return Err(format!("unknown argument `{name}`").into()),
        }
    }
    let shape = shape.ok_or("`--shape` is missing")?;
    let mut corpus = Corpus::new(shape, seed, size.ok_or("`--size` is missing")?);
    match (files, shape) {
        (Some(files), _) => corpus.sessions = files,
        (None, Shape::Transcript) => corpus.sessions = 500,
        (None, Shape::Stream | Shape::Events | Shape::Pretty) => {}
    }
    Ok(Order { corpus, out: out.ok_or("`--out` is missing")? })
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("not a number: `{text}`"))
}

fn bytes(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 1_000),
        Some(b'M') => (&text[..text.len() - 1], 1_000_000),
        Some(b'G') => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    number(digits)?.checked_mul(unit).ok_or_else(|| format!("too large: `{text}`"))
}

fn write(Order { corpus, out }: &Order) -> Result<(), Box<dyn Error>> {
    // An older corpus in the same folder would be read too, and no answer would be right.
    if out.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(format!("not an empty folder: `{}`; remove it first", out.display()).into());
    }
    fs::create_dir_all(out).map_err(|error| format!("cannot create `{}`: {error}", out.display()))?;
    let answer = match corpus.shape {
        Shape::Transcript => corpus.write_files(|name| create(&out.join(name)))?,
        Shape::Stream | Shape::Events => one_file(corpus, &out.join(format!("{}.jsonl", corpus.shape)))?,
        Shape::Pretty => one_file(corpus, &out.join("pretty.json"))?,
    };
    let mut beside = out.as_os_str().to_owned();
    beside.push(".answer.json");
    fs::write(&beside, answer.to_json())
        .map_err(|error| format!("cannot write `{}`: {error}", beside.display()).into())
}

fn one_file(corpus: &Corpus, path: &Path) -> std::io::Result<Answer> {
    corpus.write(&mut create(path)?)
}

fn create(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    File::create(path)
}
