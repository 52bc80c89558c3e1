//! Every report of any log in every format: no panic, and no control characters for a terminal. The fuzz
//! target `report` and `tests/mutation/` share this file.

use std::io::Write;

use ccstat::internal::{
    facts::{Detail, Facts, Name, ledger::SessionIndex},
    input::{Origin, Source},
    measure::{
        Millis, Prices, Usd,
        calendar::{self, Zone},
    },
    permission::Breadth,
    render::{self, Format, Style, otlp, perfetto},
    report::{
        self, Arrangement, By, Findings, Gate, Growth, Kind, Names, Periods, REPORTS, Report, TestedCall,
        TimeBy, Trial, View, Windows, trace::Traces,
    },
    scan::{self, Options, Progress},
};

/// Every format.
pub(crate) const FORMATS: &[Format] = &[
    Format::Table,
    Format::Json,
    Format::Jsonl,
    Format::Csv,
    Format::Tsv,
    Format::Parquet,
    Format::Markdown,
    Format::Comment,
    Format::Junit,
    Format::Prometheus,
    Format::Html,
];

/// Makes every report of a log, writes it in every format that it has, and returns the number of texts.
pub(crate) fn every_report(log: &[u8]) -> usize {
    reports_in(FORMATS, log)
}

/// Writes every report in some of the formats.
pub(crate) fn reports_in(formats: &[Format], log: &[u8]) -> usize {
    let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile().expect("a temporary file");
    file.write_all(log).expect("room for a log");
    let sources = [Source { origin: Origin::File(file.path().to_owned()), unverified: false, machine: None }];
    let read = |detail| -> Facts {
        let options = Options { threads: 1, detail, ..Options::default() };
        scan::scan(&sources, &options, &Progress::default()).facts
    };
    let prices = Prices::built_in();
    let ledger = read(Detail::ALL).ledger(&prices);
    let names: Vec<Name> = sources.iter().map(|source| source.name().into()).collect();
    let zone = Zone::named("Europe/Berlin").expect("a zone");
    let view = View { ledger: &ledger, names: Names(&names), zone: &zone };
    let summary = report::summary(&read(Detail::TOTALS).settle(&prices), Names(&names));
    let traced = String::from_utf8(traces(&view)).expect("traces are UTF-8");
    let raw = traced.chars().find(|&letter| letter.is_control() && letter != '\n');
    assert_eq!(raw, None, "traces of {}", log.escape_ascii());
    let mut written = 0;
    for report in [summary].into_iter().chain(all(&view, &prices)) {
        let name = report.name;
        let report = report.arranged(&Arrangement::default()).expect("no column was asked for").local(&zone);
        for &format in formats.iter().filter(|format| format.fits(name)) {
            let mut text = Vec::new();
            let style = Style { width: Some(80), color: false };
            render::render(&report, format, style, &mut text).expect("a Vec takes everything");
            if format.is_binary() {
                assert!(text.starts_with(b"PAR1") && text.ends_with(b"PAR1"), "{name}");
                written += 1;
                continue;
            }
            let text = String::from_utf8(text).expect("every format is UTF-8");
            let separates = |letter: char| letter == '\n' || letter == '\t' && format == Format::Tsv;
            // CSV ends its lines with CRLF, as RFC 4180 requires.
            let harmless = |letter: char| separates(letter) || letter == '\r' && format == Format::Csv;
            let raw = text.chars().find(|&letter| letter.is_control() && !harmless(letter));
            assert_eq!(raw, None, "{name} as {format:?} of {}", log.escape_ascii());
            written += 1;
        }
    }
    written
}

/// Writes the traces of all sessions in both formats, with all texts.
fn traces(view: &View<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    let traces = Traces::of(view.ledger, view.names);
    for (session, _) in SessionIndex::each(&view.ledger.sessions) {
        let session = traces.session(session);
        let mut events = perfetto::Writer::new(&mut text).expect("a Vec takes everything");
        events.session(&session).and_then(|()| events.end()).expect("a Vec takes everything");
        for write in [otlp::write_spans, otlp::write_metrics, otlp::write_logs] {
            write(&session, &mut text).expect("a Vec takes everything");
        }
    }
    text
}

/// The periods of an overview.
fn periods(zone: &Zone) -> Periods {
    Periods::of(zone, None, None, calendar::now()).expect("today is within the calendar")
}

/// Returns every report except for the summary; `REPORTS` shows whether one is missing.
fn all(view: &View<'_>, prices: &Prices) -> Vec<Report> {
    let gates = [
        Gate::MaxCost(Usd::from_nanos(1)),
        Gate::MaxRebuiltCost(Usd::from_nanos(1)),
        Gate::MaxTurns(0),
        Gate::MaxDuration(Millis::new(0)),
        Gate::MaxToolErrorRate(0.0),
        Gate::FailOn(Kind::Denial),
        Gate::FailOn(Kind::Invalid),
        Gate::FailOn(Kind::Unknown),
        Gate::FailOn(Kind::Loop),
    ];
    let trial = Trial::default();
    let text = view.ledger.calls.first().and_then(|call| call.input_text.clone()).unwrap_or_default();
    let tried = TestedCall { tool: "Bash", text: &text, folder: "/home/dev/project" };
    let limits: &[(Growth, _)] = &[];
    let last = view.ledger.sessions.iter().filter_map(|session| session.ended).max();
    let plain = REPORTS.iter().filter_map(|spec| spec.make).map(|make| make(view));
    let mut reports: Vec<Report> = plain.collect();
    reports.extend([
        report::check(view, &gates),
        report::permissions(view, None),
        report::permissions(view, Some(&trial)),
        report::suggestions(view, Breadth::Prefix),
        report::verdicts(&trial, &tried),
        report::diff(view, view, limits),
        report::cost(view, &[By::Project, By::Model]),
        report::time(view, TimeBy::Prompt),
        report::time(view, TimeBy::Project),
        report::prices(prices),
        report::forecast(view, None, last),
        report::blocks(view, Windows::Active, last),
        report::blocks(view, Windows::Recent, last),
        report::overview(view, &periods(view.zone), None, true),
        report::doctor(&Findings::default(), &view.ledger.account(), view.zone),
        report::archive(&[], "host", false),
    ]);
    for spec in REPORTS.iter().filter(|spec| !["summary", "show"].contains(&spec.name)) {
        assert!(reports.iter().any(|report| report.name == spec.name), "`{}` is not made", spec.name);
    }
    let sessions = SessionIndex::each(&view.ledger.sessions).take(3);
    reports.extend(sessions.map(|(session, _)| report::show(view, Some(session), true)));
    reports
}
