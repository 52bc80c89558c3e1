#!/usr/bin/env bash
# Compares ccstat with the newline floor and with other programs, over one corpus, in one run.
#
#   cargo run --release --example corpus -- --shape transcript --size 1G --out /tmp/corpus
#   benches/compare.sh /tmp/corpus
#
# First the answers: DIR.answer.json has the expected ones, and a wrong answer ends the script (exit 1), since
# a fast wrong answer is worthless. Then the times: programs take turns, and the best of RUNS counts.
#
#   RUNS=5        runs of the floor, wc and ccstat
#   SLOW_RUNS=1   runs of jq and ccusage, which take minutes for a GB; 0 leaves them out
#   CCSTAT=PATH   the program to measure, instead of building target/release/ccstat
#   FLOOR=PATH    the floor, instead of building the example

# shellcheck disable=SC2016 # commands are expanded by the `sh` that runs them

set -euo pipefail

die() {
    printf 'compare.sh: %s\n' "$1" >&2
    exit 2
}

[[ $# -eq 1 && -d $1 ]] || die 'give the folder that `cargo run --release --example corpus` wrote'
dir=$(cd "$1" && pwd)
answer=$dir.answer.json
[[ -f $answer ]] || die "cannot find \`$answer\`; the corpus example writes it beside the folder"
command -v python3 >/dev/null || die 'python3 is needed for the clock'

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
ccstat=${CCSTAT:-$target/release/ccstat}
floor=${FLOOR:-$target/release/examples/floor}
[[ -n ${CCSTAT:-} ]] || cargo build --quiet --release --manifest-path "$root/Cargo.toml" --bin ccstat
[[ -n ${FLOOR:-} ]] || cargo build --quiet --release --manifest-path "$root/Cargo.toml" --example floor

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$floor" "$dir" >/dev/null # read every file once, so that no program pays for the disk
export dir ccstat floor
export logs='find "$dir" -name "*.json*" -type f -print0'
export all='eval "$logs" | xargs -0 cat'
"$ccstat" summarize --format json "$dir" >"$work/files.json" || die "\`$ccstat summarize\` ended with $?"
eval "$all" | "$ccstat" summarize --format json >"$work/pipe.json" || die "from a pipe it ended with $?"

python3 - "$answer" "$work/files.json" "$work/pipe.json" <<'PYTHON' || exit 1
"""Every key of the answer must stand in each summary with the same value."""
import json, sys

def leaves(value, path=()):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, path + (key,))
    else:
        yield path, value

def look(value, path):
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value

wanted, *summaries = (json.load(open(name)) for name in sys.argv[1:])
wrong = [(".".join(path), look(found, path), value) for found in summaries for path, value in leaves(wanted)]
wrong = [(key, got, value) for key, got, value in wrong if got != value]
for key, got, value in wrong:
    print(f"compare.sh: wrong answer: {key} is {got}, must be {value}", file=sys.stderr)
sys.exit(bool(wrong))
PYTHON

# The programs: name, runs, command for `sh`. The others are compared with the first.
programs=()
program() {
    programs+=("$1" "$2" "$3")
}
runs=${RUNS:-5}
slow_runs=${SLOW_RUNS:-1}
program 'newline floor' "$runs" '"$floor" "$dir"'
program 'newline floor, unaligned buffer' "$runs" '"$floor" --unaligned "$dir"'
program 'wc -l' "$runs" 'eval "$logs" | wc -l --files0-from=-'
program 'ccstat, 1 thread' "$runs" '"$ccstat" summarize --format json --threads 1 "$dir"'
program 'ccstat, 2 threads' "$runs" '"$ccstat" summarize --format json --threads 2 "$dir"'
program 'ccstat, its default threads' "$runs" '"$ccstat" summarize --format json "$dir"'
program 'ccstat, 1 thread, from a pipe' "$runs" 'eval "$all" | "$ccstat" summarize --format json --threads 1'

# One start is too short for the clock, so there are a hundred.
export line=$work/line.jsonl
printf '{"type":"result","subtype":"success","session_id":"s","num_turns":1,"total_cost_usd":0.1}\n' >"$line"
program 'ccstat, one line on stdin, 100 times' "$runs" \
    'for i in $(seq 100); do "$ccstat" summarize --format json <"$line"; done'

versions=$("$ccstat" --version)
if command -v jq >/dev/null; then
    export filter='
        reduce (inputs | if type == "array" then .[] else . end) as $record ({records: 0, calls: 0};
            .records += 1 | .calls += ([$record.message | objects.content | arrays[] | select(.type == "tool_use")] | length))'
    versions+=", $(jq --version)"
    program 'jq, records and calls only' "$slow_runs" 'eval "$all" | jq -n "$filter"'
fi
if command -v ccusage >/dev/null && compgen -G "$dir/*/*.jsonl" >/dev/null; then
    mkdir "$work/claude"
    ln -s "$dir" "$work/claude/projects"
    export claude=$work/claude # as its home too: it looks for the logs of other programs there
    versions+=", $(ccusage --version)"
    program 'ccusage, tokens and cost only' "$slow_runs" \
        'HOME=$claude CLAUDE_CONFIG_DIR=$claude ccusage daily --json --offline'
fi

python3 - "${programs[@]}" <<'PYTHON'
"""Runs the programs in turns and prints the best of each as a Markdown table."""
import os, subprocess, sys, tempfile, time

# A child's peak memory includes that of the process it was forked from, so a small process forks it.
SMALL = "/usr/bin/time"
programs = [tuple(sys.argv[i:i + 3]) for i in range(1, len(sys.argv), 3)]

def run(command):
    """Wall seconds, CPU seconds and peak MB of one run, its children included."""
    peak = tempfile.NamedTemporaryFile()
    between = [SMALL, "-q", "-f", "%M", "-o", peak.name] if os.path.exists(SMALL) else []
    start = time.perf_counter()
    child = subprocess.Popen([*between, "sh", "-c", command], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"compare.sh: `{command}` ended with {child.returncode}")
    kilobytes = int(peak.read()) if between else used.ru_maxrss
    return wall, used.ru_utime + used.ru_stime, kilobytes / 1024

best = {}
for turn in range(max(int(runs) for _, runs, _ in programs)):
    for name, runs, command in programs:
        if turn < int(runs):
            new = run(command)
            best[name] = [min(pair) for pair in zip(best.get(name, new), new)]

floor_wall, floor_cpu, _ = best[programs[0][0]]
print("| program | wall s | × floor | CPU s | × floor | peak MB |")
print("|---|--:|--:|--:|--:|--:|")
for name, (wall, cpu, peak) in best.items():
    print(f"| {name} | {wall:.2f} | {wall / floor_wall:.2f} | {cpu:.2f} | {cpu / floor_cpu:.2f} | {peak:.0f} |")
PYTHON

# Facts to know beside a table of times.
files=$(find "$dir" -name '*.json*' -type f | wc -l)
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
printf '\n%sB in files: %s; best of %s; %s, processors: %s; %s\n' \
    "$(du -shL --apparent-size "$dir" | cut -f 1)" "$files" "$runs" "${cpu:-$(uname -m)}" \
    "$(getconf _NPROCESSORS_ONLN)" "$versions"
