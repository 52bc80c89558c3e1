//! Every kind has a sample. `testdata/kinds/README.md` says how the samples are named and where they come
//! from.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use ccstat::internal::event::{self, Body, KindId};

use crate::{
    plain::{self, records},
    support::testdata,
};

/// Returns the line of each sample, by the kind in its name.
fn samples() -> BTreeMap<String, String> {
    let files = plain::listing(&testdata("kinds")).into_iter();
    let logs = files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    let sample = |path: std::path::PathBuf| {
        let kind = path.file_stem().unwrap().to_string_lossy().replace("--", "/");
        let text = fs::read_to_string(&path).unwrap();
        let line = text.strip_suffix('\n').filter(|line| !line.contains('\n'));
        (kind, line.unwrap_or_else(|| panic!("{}: not one line", path.display())).to_owned())
    };
    logs.map(sample).collect()
}

fn recorded_kinds() -> BTreeSet<String> {
    let all = plain::all("stream").into_iter().chain(plain::all("transcript"));
    all.flat_map(|path| plain::kinds(&records(&path)).into_keys()).collect()
}

#[test]
fn a_sample_decodes_as_the_kind_in_its_name() {
    for (kind, line) in samples() {
        let event = event::decode(line.as_bytes()).unwrap_or_else(|flaw| panic!("{kind}: {flaw}"));
        assert_eq!(event.kind.name(), kind);
        assert!(event.kind.is_known(), "{kind}");
    }
}

#[test]
fn every_kind_that_carries_facts_has_a_sample() {
    let samples = samples();
    let rows = KindId::all().map(KindId::row).filter(|row| row.facts);
    let missing: Vec<&str> = rows.map(|row| row.name).filter(|name| !samples.contains_key(*name)).collect();
    assert!(missing.is_empty(), "add testdata/kinds/<type>--<discriminator>.jsonl for {missing:?}");
}

#[test]
fn every_kind_that_was_recorded_has_a_sample() {
    let samples: BTreeSet<String> = samples().into_keys().collect();
    let missing: Vec<String> = recorded_kinds().difference(&samples).cloned().collect();
    assert!(missing.is_empty(), "add testdata/kinds/<type>--<discriminator>.jsonl for {missing:?}");
}

#[test]
fn a_sample_says_what_its_row_promises() {
    let carries: BTreeSet<&str> =
        KindId::all().map(KindId::row).filter(|row| row.facts).map(|row| row.name).collect();
    for (kind, line) in samples() {
        let event = event::decode(line.as_bytes()).unwrap();
        // An init has a session and a version, as every record may; nothing else of it counts.
        let says = event.body != Body::Plain || kind == "system/init";
        assert_eq!(says, carries.contains(&*kind), "{kind}: {:?}", event.body);
    }
}
