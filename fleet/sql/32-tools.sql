-- Calls by tool, with exact percentiles of the latency by nearest rank, as `ccstat tools`. A percentile is the smallest latency
-- that at least so many percent of the calls do not exceed. Calls are counted by latency first, so no call is sorted.
WITH grouped AS (
    SELECT
        tool,
        count(*) AS calls,
        sum(CASE WHEN outcome = 'ok' THEN 1 ELSE 0 END) AS ok,
        sum(CASE WHEN outcome = 'error' THEN 1 ELSE 0 END) AS errors,
        sum(CASE WHEN outcome = 'denied' THEN 1 ELSE 0 END) AS denied,
        sum(CASE WHEN outcome = 'open' THEN 1 ELSE 0 END) AS open,
        sum(latency_ms) AS tool_ms,
        sum(result_bytes) AS result_bytes
    FROM calls
    GROUP BY tool
),
counted AS (
    SELECT tool, latency_ms, count(*) AS calls
    FROM calls
    WHERE latency_ms IS NOT NULL
    GROUP BY tool, latency_ms
),
ranked AS (
    SELECT
        tool,
        latency_ms,
        sum(calls) OVER (PARTITION BY tool ORDER BY latency_ms ROWS UNBOUNDED PRECEDING) AS upto,
        sum(calls) OVER (PARTITION BY tool) AS timed
    FROM counted
),
percentiles AS (
    SELECT
        tool,
        min(CASE WHEN upto * 100 >= timed * 50 THEN latency_ms END) AS p50_ms,
        min(CASE WHEN upto * 100 >= timed * 90 THEN latency_ms END) AS p90_ms,
        min(CASE WHEN upto * 100 >= timed * 95 THEN latency_ms END) AS p95_ms,
        min(CASE WHEN upto * 100 >= timed * 99 THEN latency_ms END) AS p99_ms,
        max(latency_ms) AS max_ms
    FROM ranked
    GROUP BY tool
)
SELECT
    grouped.tool,
    grouped.calls,
    grouped.ok,
    grouped.errors,
    grouped.denied,
    grouped.open,
    CAST(grouped.errors AS DOUBLE) / nullif(CAST(grouped.ok + grouped.errors AS DOUBLE), 0) AS error_rate,
    percentiles.p50_ms,
    percentiles.p90_ms,
    percentiles.p95_ms,
    percentiles.p99_ms,
    percentiles.max_ms,
    grouped.tool_ms,
    grouped.result_bytes
FROM grouped
LEFT JOIN percentiles ON percentiles.tool = grouped.tool
ORDER BY grouped.calls DESC, grouped.tool ASC
