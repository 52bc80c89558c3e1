-- Sessions, each once. The row of a changed session is put together again from responses, calls and results. Its prompts and the
-- durations of an interactive session are those of the partition that has most of them.
WITH changed AS (
    SELECT raw.*
    FROM raw_sessions AS raw
    JOIN changed_sessions ON changed_sessions.session = raw.session
),
span AS (
    SELECT
        session,
        min(started) AS started,
        max(ended) AS ended,
        max(wall_ms) AS wall_ms,
        max(api_ms) AS api_ms,
        max(prompts) AS prompts,
        bool_and(complete) AS complete,
        count(*) AS parts
    FROM changed
    GROUP BY session
),
charged AS (
    SELECT
        session,
        sum(responses) AS responses,
        sum(input) AS input,
        sum(output) AS output,
        sum(cache_read) AS cache_read,
        sum(cache_write_5m) AS cache_write_5m,
        sum(cache_write_1h) AS cache_write_1h,
        sum(cost_usd) AS cost_usd
    FROM charges
    WHERE session IN (SELECT session FROM changed_sessions)
    GROUP BY session
),
called AS (
    SELECT
        session,
        count(*) AS calls,
        sum(CASE WHEN outcome = 'ok' THEN 1 ELSE 0 END) AS ok,
        sum(CASE WHEN outcome = 'error' THEN 1 ELSE 0 END) AS errors,
        sum(CASE WHEN outcome = 'denied' THEN 1 ELSE 0 END) AS denied,
        sum(CASE WHEN outcome = 'open' THEN 1 ELSE 0 END) AS open,
        sum(latency_ms) AS tool_ms
    FROM calls
    WHERE session IN (SELECT session FROM changed_sessions)
    GROUP BY session
),
taken AS (
    SELECT session, count(*) AS turns, sum(wall_ms) AS wall_ms, sum(api_ms) AS api_ms
    FROM turns
    WHERE session IN (SELECT session FROM changed_sessions)
    GROUP BY session
),
home AS (
    SELECT changed.*
    FROM changed
    WHERE
        NOT EXISTS (
            SELECT 1
            FROM session_copies AS copy
            WHERE copy.session = changed.session AND copy.part = changed.part
        )
)
SELECT
    raw.session,
    raw.project,
    raw.machine,
    raw.version,
    raw.outcome,
    raw.started,
    raw.ended,
    CAST(raw.wall_ms AS DECIMAL(18, 3)) AS wall_ms,
    CAST(raw.api_ms AS DECIMAL(18, 3)) AS api_ms,
    CAST(raw.tool_ms AS DECIMAL(18, 3)) AS tool_ms,
    raw.turns,
    raw.prompts,
    raw.calls,
    raw.ok,
    raw.errors,
    raw.denied,
    raw.open,
    raw.responses,
    raw.input,
    raw.output,
    raw.cache_read,
    raw.cache_write_5m,
    raw.cache_write_1h,
    raw.cost_usd,
    raw.complete,
    CAST(1 AS BIGINT) AS parts
FROM raw_sessions AS raw
WHERE
    NOT EXISTS (SELECT 1 FROM changed_sessions WHERE changed_sessions.session = raw.session)
UNION ALL
SELECT
    home.session,
    home.project,
    home.machine,
    home.version,
    home.outcome,
    span.started,
    span.ended,
    CAST(greatest(coalesce(taken.wall_ms, span.wall_ms), coalesce(span.wall_ms, taken.wall_ms)) AS DECIMAL(18, 3)),
    CAST(greatest(coalesce(taken.api_ms, span.api_ms), coalesce(span.api_ms, taken.api_ms)) AS DECIMAL(18, 3)),
    CAST(called.tool_ms AS DECIMAL(18, 3)),
    CAST(coalesce(taken.turns, 0) AS BIGINT),
    span.prompts,
    CAST(coalesce(called.calls, 0) AS BIGINT),
    CAST(coalesce(called.ok, 0) AS BIGINT),
    CAST(coalesce(called.errors, 0) AS BIGINT),
    CAST(coalesce(called.denied, 0) AS BIGINT),
    CAST(coalesce(called.open, 0) AS BIGINT),
    CAST(coalesce(charged.responses, 0) AS BIGINT),
    CAST(coalesce(charged.input, 0) AS BIGINT),
    CAST(coalesce(charged.output, 0) AS BIGINT),
    CAST(coalesce(charged.cache_read, 0) AS BIGINT),
    CAST(coalesce(charged.cache_write_5m, 0) AS BIGINT),
    CAST(coalesce(charged.cache_write_1h, 0) AS BIGINT),
    charged.cost_usd,
    span.complete,
    span.parts
FROM home
JOIN span ON span.session = home.session
LEFT JOIN charged ON charged.session = home.session
LEFT JOIN called ON called.session = home.session
LEFT JOIN taken ON taken.session = home.session
