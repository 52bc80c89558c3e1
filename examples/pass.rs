//! Measures the cost of passing a stream through ccstat, compared with `cat`: latency per line and
//! throughput.
//!
//! ```sh
//! cargo build --release && cargo run --release --example pass -- target/release/ccstat LOG
//! ```
//!
//! LOG is a file of lines. The first thousand lines are written one by one, each after the previous one has
//! come back. Then the whole file is written at full speed, seven times; the best run counts.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

/// A program to compare: its name and its command line.
type Rival<'a> = (&'a str, Vec<&'a str>);

#[expect(clippy::print_stderr, reason = "what is wrong is said there")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, log] = &*arguments else {
        eprintln!("usage: pass PROGRAM LOG");
        return ExitCode::from(2);
    };
    match measure(program, Path::new(log)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pass: {error}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "the table is its output")]
fn measure(program: &str, log: &Path) -> io::Result<()> {
    let rivals: [Rival<'_>; 2] =
        [("cat", vec!["cat"]), ("ccstat --tee", vec![program, "summarize", "--tee", "-q"])];
    println!("| program | median ms a line | worst ms | MB/s | of cat |\n|---|--:|--:|--:|--:|");
    let mut cat = None;
    for (name, command) in &rivals {
        let mut times = latencies(command, log)?;
        times.sort_unstable();
        let best = (0..7).map(|_| throughput(command, log)).collect::<io::Result<Vec<f64>>>()?;
        let best = best.into_iter().fold(0.0, f64::max);
        let of_cat = best / *cat.get_or_insert(best);
        let millis = |at: usize| times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1000.0);
        let (median, worst) = (millis(times.len() / 2), millis(times.len().saturating_sub(1)));
        println!("| {name} | {median:.3} | {worst:.3} | {best:.0} | {of_cat:.2} |");
    }
    Ok(())
}

fn start(command: &[&str], stdin: Stdio) -> io::Result<Child> {
    Command::new(command[0])
        .args(&command[1..])
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

/// Measures how long each line takes to come back.
fn latencies(command: &[&str], log: &Path) -> io::Result<Vec<Duration>> {
    let mut child = start(command, Stdio::piped())?;
    let gone = || io::Error::other("no pipe");
    let mut to = child.stdin.take().ok_or_else(gone)?;
    let mut from = BufReader::new(child.stdout.take().ok_or_else(gone)?);
    let mut times = Vec::new();
    for line in BufReader::new(File::options().read(true).open(log)?).split(b'\n').take(1000) {
        let mut line = line?;
        line.push(b'\n');
        // Writing needs its own thread: a line longer than the pipe's buffer would block the only thread.
        let begun = Instant::now();
        let mut back = Vec::new();
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| to.write_all(&line).and_then(|()| to.flush()));
            from.read_until(b'\n', &mut back)?;
            writing.join().unwrap_or_else(|_| Err(io::Error::other("the writer failed")))
        })?;
        times.push(begun.elapsed());
        assert_eq!(back, line, "a line came back changed");
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(to);
    child.wait()?;
    Ok(times)
}

/// Measures megabytes per second through a pipe, until the end of the program's output.
fn throughput(command: &[&str], log: &Path) -> io::Result<f64> {
    let begun = Instant::now();
    let mut cat = Command::new("cat").arg(log).stdout(Stdio::piped()).spawn()?;
    let pipe = cat.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
    let mut child = start(command, pipe.into())?;
    let mut from = child.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
    let mut block = vec![0; 256 << 10];
    let mut bytes = 0u64;
    loop {
        match from.read(&mut block)? {
            0 => break,
            count => bytes += count as u64,
        }
    }
    let took = begun.elapsed();
    cat.wait()?;
    child.wait()?;
    assert_eq!(bytes, log.metadata()?.len(), "bytes were lost");
    #[expect(clippy::cast_precision_loss, reason = "megabytes with three digits")]
    Ok(bytes as f64 / 1e6 / took.as_secs_f64())
}
