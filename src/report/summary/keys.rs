//! The keys of the summary as programs read it, with what they mean.

use crate::report::{
    Key::{self, ByName, List, Maybe, Object, One},
    Keys, Unit,
};

const COUNT: Key = One(Unit::Count);
const TEXT: Key = One(Unit::Text);
const USD: Key = Maybe(&One(Unit::Usd));
const MILLIS: Key = Maybe(&One(Unit::Millis));
const TIME: Key = Maybe(&One(Unit::Time));

pub(super) const KEYS: Keys = &[
    ("input", "What was read.", Object(INPUT)),
    ("kinds", "Records by kind: type, and discriminator after a slash.", ByName(&COUNT)),
    ("blocks", "Content blocks by role and type.", ByName(&COUNT)),
    ("unknown", "Names that ccstat does not know, with the first place of each.", Object(UNKNOWN)),
    ("sessions", "Sessions.", COUNT),
    ("prompts", "Prompts of a human.", COUNT),
    ("responses", "API responses.", COUNT),
    ("turns", "Turns, one for each result.", Object(TURNS)),
    ("tools", "Tool calls, and how they ended.", Object(TOOLS)),
    ("denials", "Calls that were refused.", Object(DENIALS)),
    ("errors", "What went wrong in the run.", Object(ERRORS)),
    ("tokens", "Tokens of all models.", Object(TOKENS)),
    ("cost", "Cost, an estimate at API prices.", Object(COST)),
    ("duration", "How long it took.", Object(DURATION)),
    ("models", "Models that answered, sorted.", List(&TEXT)),
    ("versions", "Versions of the CLI, sorted.", List(&TEXT)),
    (
        "by_arrival",
        "What `run` and --live measured while it arrived, whatever the times in the log; else null.",
        Maybe(&Object(BY_ARRIVAL)),
    ),
];

const BY_ARRIVAL: Keys = &[
    ("elapsed_ms", "From the start to the end of the stream.", One(Unit::Millis)),
    ("first_record_ms", "From the start to the first record.", MILLIS),
    (
        "tools",
        "Latencies of the calls, by tool: from the arrival of the call to that of its answer.",
        ByName(&Object(LATENCY)),
    ),
];

const INPUT: Keys = &[
    ("sources", "Files and streams.", COUNT),
    ("bytes", "Bytes after decompression.", One(Unit::Bytes)),
    ("lines", "Physical lines.", COUNT),
    ("blank", "Lines with nothing on them.", COUNT),
    ("records", "JSON objects with a `type`.", COUNT),
    ("invalid", "Lines and values that are no record.", COUNT),
    ("truncated", "Sources that end inside a record.", COUNT),
    ("copies", "Records whose uuid was seen before.", COUNT),
    ("dialects", "Records by dialect.", ByName(&COUNT)),
    ("invalid_places", "The first hundred that are no record.", List(&Object(INVALID_PLACE))),
    ("interrupted", "Whether reading was stopped before its end.", One(Unit::Flag)),
];

const INVALID_PLACE: Keys = &[
    ("source", "Name of the source.", TEXT),
    ("line", "Line, from 1.", COUNT),
    ("offset", "Byte offset of its beginning.", COUNT),
    ("reason", "What is wrong.", TEXT),
];

const UNKNOWN: Keys = &[
    ("kinds", "Kinds of records.", ByName(&Object(STRANGER))),
    ("blocks", "Kinds of blocks.", ByName(&Object(STRANGER))),
];

const STRANGER: Keys = &[
    ("count", "How many.", COUNT),
    ("source", "Source of the first.", TEXT),
    ("line", "Line of the first, from 1.", COUNT),
    ("version", "Version of the CLI that wrote the first.", Maybe(&TEXT)),
];

const TURNS: Keys = &[
    ("total", "All.", COUNT),
    ("ok", "Those that ended well.", COUNT),
    ("errors", "Those that failed.", COUNT),
    ("by_subtype", "All, by the subtype of their result.", ByName(&COUNT)),
    ("failed_by_subtype", "Those that failed, by the subtype of their result.", ByName(&COUNT)),
    ("num_turns", "Sum of `num_turns` of the results.", COUNT),
    ("no_result_sessions", "Streams that never got a result.", COUNT),
];

const TOOLS: Keys = &[
    ("calls", "All.", COUNT),
    ("ok", "Those that were answered.", COUNT),
    ("errors", "Those that failed.", COUNT),
    ("denied", "Those that were refused.", COUNT),
    ("open", "Those without an answer.", COUNT),
    ("orphans", "Answers without a call.", COUNT),
    ("by_name", "Calls by the name of the tool.", ByName(&Object(TOOL))),
];

const TOOL: Keys = &[
    ("calls", "All.", COUNT),
    ("ok", "Those that were answered.", COUNT),
    ("errors", "Those that failed.", COUNT),
    ("denied", "Those that were refused.", COUNT),
    ("open", "Those without an answer.", COUNT),
    ("latency_ms", "From asking to answer, where both have a time.", Maybe(&Object(LATENCY))),
];

const LATENCY: Keys = &[
    ("count", "Calls with a latency.", COUNT),
    ("total", "Sum.", One(Unit::Millis)),
    ("p50", "Median.", One(Unit::Millis)),
    ("p90", "90th percentile.", One(Unit::Millis)),
    ("p95", "95th percentile.", One(Unit::Millis)),
    ("p99", "99th percentile.", One(Unit::Millis)),
    ("max", "Longest.", One(Unit::Millis)),
];

const DENIALS: Keys = &[("total", "All.", COUNT), ("by_tool", "By the name of the tool.", ByName(&COUNT))];

const ERRORS: Keys = &[
    ("tool", "Calls that failed.", COUNT),
    ("turn", "Turns that failed.", COUNT),
    ("api", "API errors.", COUNT),
    ("api_retries", "Requests that were tried again.", COUNT),
    ("by_type", "API errors and retries by type.", ByName(&COUNT)),
];

const TOKENS: Keys = &[
    ("input", "Prompt tokens that came from no cache.", COUNT),
    ("output", "Tokens that the model wrote.", COUNT),
    ("cache_read", "Prompt tokens read from the cache.", COUNT),
    ("cache_write_5m", "Prompt tokens written to the cache for five minutes.", COUNT),
    ("cache_write_1h", "Prompt tokens written to the cache for an hour.", COUNT),
    ("web_searches", "Web searches.", COUNT),
];

const COST: Keys = &[
    ("total_usd", "Reported where the CLI did, computed for the other sessions.", USD),
    ("reported_usd", "What the CLI reported.", USD),
    ("computed_usd", "Tokens times prices, where the final counts are known.", USD),
    ("complete", "Whether nothing is known to be missing from the total.", One(Unit::Flag)),
    ("unpriced_models", "Models without a price, in sessions without reported cost.", List(&TEXT)),
    ("by_model", "Cost and tokens by model.", ByName(&Object(MODEL))),
];

const MODEL: Keys = &[
    ("total_usd", "Cost.", USD),
    ("input", "Prompt tokens that came from no cache.", COUNT),
    ("output", "Tokens that the model wrote.", COUNT),
    ("cache_read", "Prompt tokens read from the cache.", COUNT),
    ("cache_write_5m", "Prompt tokens written to the cache for five minutes.", COUNT),
    ("cache_write_1h", "Prompt tokens written to the cache for an hour.", COUNT),
];

const DURATION: Keys = &[
    ("wall_ms", "Sum of the turns.", MILLIS),
    ("api_ms", "Time spent in the API.", MILLIS),
    ("tool_ms", "Sum of the latencies of tool calls.", MILLIS),
    ("first", "Earliest time in a record.", TIME),
    ("last", "Latest time in a record.", TIME),
];
