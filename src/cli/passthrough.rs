//! Passes a stream on while showing and counting it. Shared by `run` and `--tee`.

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
    live::{LiveDisplay, Snapshot},
    print::PrintMode,
    signal::{self, Received},
};
use crate::{
    event::Event,
    facts::{Arrivals, Arrived, Detail, Facts},
    input::{FailedOutlet, Outlet, Place, Relay},
    measure::{Millis, Prices, Usd},
    scan::{self, Observer, Options, Unread},
};

/// Interval of the supervisor's checks while no message arrives.
const TICK: Duration = Duration::from_millis(100);

/// Minimum interval between recounts. Counting takes at most a tenth of the time.
const RECOUNT: Duration = Duration::from_millis(250);

/// A message to the main loop.
pub(super) enum Message {
    /// The parser has read the whole stream.
    Parsed(Option<Unread>),
    /// The parser panicked or could not be started; its counts are lost.
    ParserFailed,
    /// The command ended.
    ChildEnded,
    Signal(Received),
}

/// Reacts to events and decides whether to stop a stream before its end.
pub(super) trait Supervisor {
    /// Called for each caught signal.
    fn signal(&mut self, received: Received);
    /// Called after each message, and at least every tenth of a second.
    fn tick(&mut self) {}
    /// Called when the command has ended.
    fn child_ended(&mut self) {}
    /// Checks the current state, if [`Passthrough::checked`] is set or the state is displayed. Returns a
    /// message for the user.
    fn check(&mut self, _: &Snapshot) -> Option<String> {
        None
    }
    /// Whether to close the stream although it has not ended.
    fn should_stop(&mut self, relay: &Relay) -> bool;
    /// Whether the run is over once the stream has ended: a command may continue after closing its output.
    fn is_done(&mut self) -> bool {
        true
    }
}

/// A stream with its destinations.
pub(super) struct Passthrough<'a> {
    pub(super) input: Box<dyn Read + Send>,
    pub(super) outlets: Vec<Outlet>,
    pub(super) printer: Option<PrintMode>,
    pub(super) display: LiveDisplay,
    /// Whether [`Supervisor::check`] must run even if nothing is displayed.
    pub(super) checked: bool,
    pub(super) options: Options,
    pub(super) prices: &'a Prices,
}

/// The outcome of a [`Passthrough`].
#[derive(Default)]
pub(super) struct Outcome {
    /// `None` if the parser failed.
    pub(super) facts: Option<Facts>,
    pub(super) unread: Option<Unread>,
    pub(super) arrived: Arrived,
    pub(super) failed_outlets: Vec<FailedOutlet>,
    /// The stream was abandoned before its end because nobody reads standard output any more.
    pub(super) abandoned: bool,
}

impl Passthrough<'_> {
    /// Passes the stream on until it ends or the supervisor stops it.
    pub(super) fn run(self, inbox: Inbox, supervisor: &mut dyn Supervisor) -> Outcome {
        let Self { input, outlets, printer, mut display, checked, options, prices } = self;
        let prices_responses = options.detail.contains(Detail::RESPONSES);
        let relay = Relay::start(input, outlets);
        let facts = Arc::new(Mutex::new(Facts::new(options.detail)));
        let arrivals = Arc::new(Mutex::new(Arrivals::default()));
        let watcher = Watcher {
            arrivals: Arc::clone(&arrivals),
            relay: relay.clone(),
            printer,
            display: display.clone(),
        };
        parse(&relay, options, &facts, watcher, inbox.sender);
        let mut counter =
            Counter { snapshot: Snapshot::default(), next: Instant::now(), records: 0, prices_responses };
        let (mut parser_failed, mut parsed) = (false, None);
        let unread = loop {
            match inbox.receiver.recv_timeout(TICK) {
                Ok(Message::Parsed(unread)) => parsed = Some(unread),
                Ok(Message::ParserFailed) => parser_failed = true,
                Ok(Message::ChildEnded) => supervisor.child_ended(),
                Ok(Message::Signal(received)) => supervisor.signal(received),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            supervisor.tick();
            if !parser_failed && (checked || display.is_visible()) {
                let snapshot = counter.count(&facts, &arrivals, &relay, prices);
                display.update(snapshot);
                if let Some(message) = supervisor.check(snapshot) {
                    display.suspended(|| complain(&message));
                }
            }
            let ended = relay.wait_for_end(Duration::ZERO);
            if parser_failed && ended {
                parsed = Some(None);
            }
            if parsed.is_some() && supervisor.is_done() {
                break parsed.flatten();
            }
            if !ended && supervisor.should_stop(&relay) {
                relay.close();
            }
        };
        relay.close();
        display.clear();
        let (failed_outlets, abandoned) = (relay.take_failed(), relay.was_abandoned());
        if parser_failed {
            return Outcome { facts: None, unread, arrived: Arrived::default(), failed_outlets, abandoned };
        }
        let elapsed = millis(relay.elapsed());
        let arrived = arrivals.lock().map(|arrivals| arrivals.settle(elapsed)).unwrap_or_default();
        let facts = facts.lock().map(|mut facts| std::mem::take(&mut *facts)).ok();
        Outcome { facts, unread, arrived, failed_outlets, abandoned }
    }
}

fn millis(count: u64) -> Millis {
    Millis::new(i64::try_from(count).unwrap_or(i64::MAX))
}

/// The channel of messages to the main loop.
pub(super) struct Inbox {
    pub(super) sender: Sender<Message>,
    receiver: Receiver<Message>,
}

impl Inbox {
    pub(super) fn new() -> Self {
        let (sender, receiver) = channel();
        Self { sender, receiver }
    }

    /// Delivers these signals as messages from now on, instead of their default action.
    pub(super) fn listen(&self, signals: &[i32]) -> io::Result<()> {
        let sender = self.sender.clone();
        signal::listen(signals, move |received| sender.send(Message::Signal(received)).is_ok())
    }
}

/// Name of the parser thread; a panic on it does not end the stream.
const PARSER: &str = "parser";

/// Parses the relayed stream on its own thread.
fn parse(
    relay: &Relay,
    options: Options,
    facts: &Arc<Mutex<Facts>>,
    mut watcher: Watcher,
    messages: Sender<Message>,
) {
    let stream = Box::new(relay.reader(&options.stop));
    let facts = Arc::clone(facts);
    spawn_parser(messages, move || {
        Message::Parsed(scan::scan_stream(stream, &options, &facts, &mut watcher))
    });
}

/// Runs `work` on the parser thread and sends its message. If it panics, the program continues to pass the
/// stream on.
fn spawn_parser(messages: Sender<Message>, work: impl FnOnce() -> Message + Send + 'static) {
    let (panicked, not_started) = (Mutex::new(messages.clone()), messages.clone());
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        hook(panic);
        if std::thread::current().name() == Some(PARSER) {
            let _ = panicked.lock().map(|messages| messages.send(Message::ParserFailed));
            // With `panic = "abort"`, returning from the hook ends the program and would cut the stream.
            while cfg!(panic = "abort") {
                std::thread::park();
            }
        }
    }));
    let work = move || {
        let _ = messages.send(work());
    };
    if std::thread::Builder::new().name(PARSER.to_owned()).spawn(work).is_err() {
        let _ = not_started.send(Message::ParserFailed);
    }
}

/// Prints records and notes their arrival times while they are counted.
struct Watcher {
    arrivals: Arc<Mutex<Arrivals>>,
    relay: Relay,
    printer: Option<PrintMode>,
    display: LiveDisplay,
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
            && printer.has_output()
        {
            self.display.suspended(|| printer.batch_end());
        }
    }
}

/// Keeps a [`Snapshot`] up to date, at limited cost.
struct Counter {
    snapshot: Snapshot,
    next: Instant,
    records: u64,
    /// Whether the facts hold single responses, so that unbilled ones can be priced.
    prices_responses: bool,
}

/// Minimum cost of the responses that no result has billed yet.
fn unbilled(facts: Facts, prices: &Prices) -> Option<Usd> {
    let costs =
        facts.ledger(prices).responses.iter().filter_map(|response| response.unbilled).collect::<Vec<_>>();
    (!costs.is_empty()).then(|| costs.into_iter().sum())
}

impl Counter {
    fn count(
        &mut self,
        facts: &Mutex<Facts>,
        arrivals: &Mutex<Arrivals>,
        relay: &Relay,
        prices: &Prices,
    ) -> &Snapshot {
        if Instant::now() >= self.next {
            let begun = Instant::now();
            // The parser locks it for one batch at a time. If it is locked now, the next tick is soon enough.
            let copy = match facts.try_lock() {
                Ok(facts) if facts.records() != self.records => Some(facts.clone()),
                Ok(_) | Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => None,
            };
            if let Some(facts) = copy {
                self.records = facts.records();
                self.snapshot.unbilled =
                    self.prices_responses.then(|| unbilled(facts.clone(), prices)).flatten();
                self.snapshot.account = facts.settle(prices);
            }
            self.next = Instant::now() + RECOUNT.max(begun.elapsed() * 10);
        }
        if let Ok(arrivals) = arrivals.try_lock() {
            self.snapshot.running = arrivals.running();
            self.snapshot.steps = arrivals.turns();
            self.snapshot.agents = arrivals.agents();
        }
        self.snapshot.elapsed = millis(relay.elapsed());
        self.snapshot.idle = millis(relay.idle_time().as_millis().try_into().unwrap_or(u64::MAX));
        &self.snapshot
    }
}

/// Reports outlets that failed, and returns whether there are any.
pub(super) fn complain_of(failed: &[FailedOutlet]) -> bool {
    // A reader that closed its pipe does not want the rest.
    let wanted = failed.iter().filter(|outlet| outlet.error.kind() != io::ErrorKind::BrokenPipe);
    wanted
        .inspect(|outlet| {
            complain(&format!("cannot pass the stream on to `{}`: {}", outlet.name, outlet.error));
        })
        .count()
        > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Stop;

    /// A writer whose bytes the test can read.
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
    fn a_panic_of_the_parser_is_reported_and_the_stream_continues() {
        let (stream, seen) = (b"{\"type\":\"x\"}\n".repeat(100_000), Shared::default());
        let outlet = Outlet { name: "here".to_owned(), write: Box::new(seen.clone()), essential: false };
        let relay = Relay::start(io::Cursor::new(stream.clone()), vec![outlet]);
        let mut bytes = relay.reader(&Stop::default());
        let inbox = Inbox::new();
        spawn_parser(inbox.sender, move || {
            bytes.read_exact(&mut [0; 100]).unwrap();
            panic!("a bug in the parser")
        });
        let timeout = Duration::from_secs(20);
        assert!(matches!(inbox.receiver.recv_timeout(timeout), Ok(Message::ParserFailed)));
        assert!(relay.wait_for_end(timeout), "the stream waits for a parser that has ended");
        assert!(*seen.0.lock().unwrap() == stream, "bytes were lost");
    }
}
