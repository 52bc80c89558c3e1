-- Tool calls, each once. A call without an id is counted where its session is.
SELECT
    raw.started,
    raw.session,
    raw.project,
    raw.agent,
    raw.model,
    raw.version,
    raw.tool,
    raw.id AS tool_use_id,
    raw.end AS outcome,
    CAST(raw.latency_ms AS DECIMAL(18, 3)) AS latency_ms,
    raw.result_bytes,
    raw.part
FROM raw_calls AS raw
WHERE
    NOT EXISTS (
        SELECT 1 FROM call_copies AS copy WHERE copy.tool_use_id = raw.id AND copy.part = raw.part
    )
    AND NOT EXISTS (
        SELECT 1
        FROM session_copies AS copy
        WHERE raw.id IS NULL AND copy.session = raw.session AND copy.part = raw.part
    )
