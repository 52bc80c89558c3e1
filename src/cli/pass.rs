//! A stream that is passed on, shown and accounted for while it runs: what `run` and `--tee` share.

use std::{
    io::{self, Read},
    sync::{
        Arc, Mutex, TryLockError,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::{Duration, Instant},
};

use super::{
    complain,
    live::{Now, Show},
    print::Prints,
    signal::{self, Received},
};
use crate::{
    event::Event,
    facts::{Arrivals, Arrived, Detail, Facts},
    input::{FailedOutlet, Outlet, Place, Relay},
    measure::{Millis, Prices, Usd},
    scan::{self, Observer, Options, Unread},
};

/// How often a run is looked at.
const TICK: Duration = Duration::from_millis(100);

/// How often what is shown is counted anew; counting takes a tenth of the time at most.
const COUNT: Duration = Duration::from_millis(250);

/// Something that happened meanwhile.
pub(super) enum News {
    /// All that was passed on has been looked at.
    Parsed(Option<Unread>),
    /// The parser failed; what it has counted is not to be had.
    Broken,
    /// The command ended.
    ChildEnded,
    /// A signal.
    Signal(Received),
}

/// Who decides when a stream is over before its end.
pub(super) trait Keeper {
    /// A signal came.
    fn signal(&mut self, received: Received);
    /// Called after each event, and every tenth of a second.
    fn tick(&mut self) {}
    /// The command ended.
    fn child_ended(&mut self) {}
    /// How it is now, for those who said that they watch; what there is to say about it.
    fn look(&mut self, _: &Now) -> Option<String> {
        None
    }
    /// Whether to stop, although the stream has not ended.
    fn is_over(&mut self, relay: &Relay) -> bool;
    /// Whether there is nothing more to keep, when the stream has ended: a command may go on without its output.
    fn is_done(&mut self) -> bool {
        true
    }
}

/// A stream, and what is to be done with it.
pub(super) struct Pass<'a> {
    pub(super) from: Box<dyn Read + Send>,
    pub(super) outlets: Vec<Outlet>,
    pub(super) printer: Option<Prints>,
    pub(super) show: Show,
    /// Whether someone looks at how it is now, beside what is shown.
    pub(super) watched: bool,
    pub(super) options: Options,
    pub(super) prices: &'a Prices,
}

/// What came of it.
#[derive(Default)]
pub(super) struct Passed {
    /// What was counted; nothing if the parser broke.
    pub(super) facts: Option<Facts>,
    pub(super) unread: Option<Unread>,
    pub(super) arrived: Arrived,
    pub(super) lost: Vec<FailedOutlet>,
    /// The stream was left before its end, because nobody reads standard output any more.
    pub(super) left: bool,
}

impl Pass<'_> {
    /// Passes the stream on until it ends or its keeper ends it.
    pub(super) fn run(self, wires: Wires, keeper: &mut dyn Keeper) -> Passed {
        let Self { from, outlets, printer, mut show, watched, options, prices } = self;
        let kept = options.detail.contains(Detail::RESPONSES);
        let relay = Relay::start(from, outlets);
        let facts = Arc::new(Mutex::new(Facts::new(options.detail)));
        let arrivals = Arc::new(Mutex::new(Arrivals::default()));
        let watcher =
            Watcher { arrivals: Arc::clone(&arrivals), relay: relay.clone(), printer, show: show.clone() };
        parse(&relay, options, &facts, watcher, wires.sender);
        let mut counter = Counter { counted: Now::default(), next: Instant::now(), records: 0, kept };
        let (mut broken, mut parsed) = (false, None);
        let unread = loop {
            match wires.receiver.recv_timeout(TICK) {
                Ok(News::Parsed(unread)) => parsed = Some(unread),
                Ok(News::Broken) => broken = true,
                Ok(News::ChildEnded) => keeper.child_ended(),
                Ok(News::Signal(received)) => keeper.signal(received),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            keeper.tick();
            if !broken && (watched || show.is_wanted()) {
                let now = counter.count(&facts, &arrivals, &relay, prices);
                show.show(now);
                if let Some(message) = keeper.look(now) {
                    show.around(|| complain(&message));
                }
            }
            let ended = relay.wait_for_end(Duration::ZERO);
            if broken && ended {
                parsed = Some(None);
            }
            if parsed.is_some() && keeper.is_done() {
                break parsed.flatten();
            }
            if !ended && keeper.is_over(&relay) {
                relay.close();
            }
        };
        relay.close();
        show.end();
        let (lost, left) = (relay.take_failed(), relay.was_abandoned());
        if broken {
            return Passed { facts: None, unread, arrived: Arrived::default(), lost, left };
        }
        let elapsed = millis(relay.elapsed());
        let arrived = arrivals.lock().map(|arrivals| arrivals.settle(elapsed)).unwrap_or_default();
        let facts = facts.lock().map(|mut facts| std::mem::take(&mut *facts)).ok();
        Passed { facts, unread, arrived, lost, left }
    }
}

fn millis(count: u64) -> Millis {
    Millis::new(i64::try_from(count).unwrap_or(i64::MAX))
}

/// The ends of the wire on which news come.
pub(super) struct Wires {
    pub(super) sender: Sender<News>,
    receiver: Receiver<News>,
}

impl Wires {
    pub(super) fn new() -> Self {
        let (sender, receiver) = channel();
        Self { sender, receiver }
    }

    /// These signals are news from now on, instead of what they do by default.
    pub(super) fn listen(&self, signals: &[i32]) -> io::Result<()> {
        let sender = self.sender.clone();
        signal::listen(signals, move |received| sender.send(News::Signal(received)).is_ok())
    }
}

/// The name of the thread that may fail without harm to the stream.
const PARSER: &str = "parser";

/// Looks at what was passed on, in a thread of its own.
fn parse(
    relay: &Relay,
    options: Options,
    facts: &Arc<Mutex<Facts>>,
    mut watcher: Watcher,
    news: Sender<News>,
) {
    let stream = Box::new(relay.reader(&options.stop));
    let facts = Arc::clone(facts);
    beside(news, move || News::Parsed(scan::scan_stream(stream, &options, &facts, &mut watcher)));
}

/// Works in a thread of its own, and tells what came of it. If it panics, the program does not end: the stream goes on.
fn beside(news: Sender<News>, work: impl FnOnce() -> News + Send + 'static) {
    let (broken, failed) = (Mutex::new(news.clone()), news.clone());
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        hook(panic);
        if std::thread::current().name() == Some(PARSER) {
            let _ = broken.lock().map(|news| news.send(News::Broken));
            // Where a panic aborts, it does so when this returns, and the stream would be cut.
            while cfg!(panic = "abort") {
                std::thread::park();
            }
        }
    }));
    let work = move || {
        let _ = news.send(work());
    };
    if std::thread::Builder::new().name(PARSER.to_owned()).spawn(work).is_err() {
        let _ = failed.send(News::Broken);
    }
}

/// Looks on while records are counted.
struct Watcher {
    arrivals: Arc<Mutex<Arrivals>>,
    relay: Relay,
    printer: Option<Prints>,
    show: Show,
}

impl Observer for Watcher {
    fn record(&mut self, place: Place, event: &Event<'_>, text: &[u8]) {
        if let Ok(mut arrivals) = self.arrivals.lock() {
            arrivals.absorb(event, millis(self.relay.current_arrival()));
        }
        if let Some(printer) = &mut self.printer {
            printer.record(place, event, text);
        }
    }

    fn batch_end(&mut self) {
        if let Some(printer) = &mut self.printer
            && printer.has_something()
        {
            self.show.around(|| printer.batch_end());
        }
    }
}

/// Counts what came so far, but not more often than it is worth.
struct Counter {
    counted: Now,
    next: Instant,
    records: u64,
    /// Whether responses are kept one by one.
    kept: bool,
}

/// What responses cost at least that no figure holds yet.
fn unbilled(facts: Facts, prices: &Prices) -> Option<Usd> {
    let unbilled =
        facts.ledger(prices).responses.iter().filter_map(|response| response.unbilled).collect::<Vec<_>>();
    (!unbilled.is_empty()).then(|| unbilled.into_iter().sum())
}

impl Counter {
    fn count(
        &mut self,
        facts: &Mutex<Facts>,
        arrivals: &Mutex<Arrivals>,
        relay: &Relay,
        prices: &Prices,
    ) -> &Now {
        if Instant::now() >= self.next {
            let begun = Instant::now();
            // The parser holds it only for what came at once; if it does so now, the next look will do.
            let copy = match facts.try_lock() {
                Ok(facts) if facts.records() != self.records => Some(facts.clone()),
                Ok(_) | Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => None,
            };
            if let Some(facts) = copy {
                self.records = facts.records();
                self.counted.unbilled = self.kept.then(|| unbilled(facts.clone(), prices)).flatten();
                self.counted.account = facts.settle(prices);
            }
            self.next = Instant::now() + COUNT.max(begun.elapsed() * 10);
        }
        if let Ok(arrivals) = arrivals.try_lock() {
            self.counted.running = arrivals.running();
            self.counted.turns = arrivals.turns();
        }
        self.counted.elapsed = millis(relay.elapsed());
        self.counted.silence = millis(relay.idle_time().as_millis().try_into().unwrap_or(u64::MAX));
        &self.counted
    }
}

/// Says which outlets could not take everything; whether bytes were lost that someone wanted.
pub(super) fn complain_of(lost: &[FailedOutlet]) -> bool {
    // A reader that goes away wants no more.
    let wanted = lost.iter().filter(|lost| lost.error.kind() != io::ErrorKind::BrokenPipe);
    wanted
        .inspect(|lost| complain(&format!("cannot pass the stream on to `{}`: {}", lost.name, lost.error)))
        .count()
        > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Stop;

    /// What was written, to be looked at by whoever gave it away.
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_parser_that_panics_is_told_of_and_the_stream_goes_on() {
        let (stream, seen) = (b"{\"type\":\"x\"}\n".repeat(100_000), Shared::default());
        let outlet = Outlet { name: "here".to_owned(), write: Box::new(seen.clone()), essential: false };
        let relay = Relay::start(io::Cursor::new(stream.clone()), vec![outlet]);
        let mut bytes = relay.reader(&Stop::default());
        let wires = Wires::new();
        beside(wires.sender, move || {
            bytes.read_exact(&mut [0; 100]).unwrap();
            panic!("as if there were a mistake in it")
        });
        let patience = Duration::from_secs(20);
        assert!(matches!(wires.receiver.recv_timeout(patience), Ok(News::Broken)));
        assert!(relay.wait_for_end(patience), "the stream waits for a parser that is no more");
        assert!(*seen.0.lock().unwrap() == stream, "something was lost");
    }
}
