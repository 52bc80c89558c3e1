-- Totals, named as the keys of `ccstat summarize --format json`. Counts of records are sums over the partitions.
WITH
read_in AS (
    SELECT
        sum(sources) AS input_sources,
        sum(bytes) AS input_bytes,
        sum(lines) AS input_lines,
        sum(blank) AS input_blank,
        sum(records) AS input_records,
        sum(invalid) AS input_invalid,
        sum(truncated) AS input_truncated,
        sum(copies) AS input_copies,
        sum(orphans) AS tools_orphans,
        min(first) AS duration_first,
        max(last) AS duration_last
    FROM partitions
),
of_sessions AS (
    SELECT
        count(session) AS sessions,
        coalesce(sum(prompts), 0) AS prompts,
        coalesce(sum(CASE WHEN outcome = 'no-result' THEN 1 ELSE 0 END), 0) AS turns_no_result_sessions,
        sum(wall_ms) AS duration_wall_ms,
        sum(api_ms) AS duration_api_ms,
        coalesce(bool_and(complete), TRUE) AS cost_complete
    FROM sessions
),
of_turns AS (
    SELECT
        count(*) AS turns_total,
        coalesce(sum(CASE WHEN ok THEN 1 ELSE 0 END), 0) AS turns_ok,
        coalesce(sum(CASE WHEN ok THEN 0 ELSE 1 END), 0) AS turns_errors,
        coalesce(sum(num_turns), 0) AS turns_num_turns
    FROM turns
),
of_calls AS (
    SELECT
        count(*) AS tools_calls,
        coalesce(sum(CASE WHEN outcome = 'ok' THEN 1 ELSE 0 END), 0) AS tools_ok,
        coalesce(sum(CASE WHEN outcome = 'error' THEN 1 ELSE 0 END), 0) AS tools_errors,
        coalesce(sum(CASE WHEN outcome = 'denied' THEN 1 ELSE 0 END), 0) AS tools_denied,
        coalesce(sum(CASE WHEN outcome = 'open' THEN 1 ELSE 0 END), 0) AS tools_open,
        sum(latency_ms) AS duration_tool_ms
    FROM calls
),
of_failures AS (
    SELECT
        coalesce(sum(CASE WHEN sort = 'denial' THEN 1 ELSE 0 END), 0) AS denials_total,
        coalesce(sum(CASE WHEN sort = 'tool' THEN 1 ELSE 0 END), 0) AS errors_tool,
        coalesce(sum(CASE WHEN sort = 'turn' THEN 1 ELSE 0 END), 0) AS errors_turn,
        coalesce(sum(CASE WHEN sort = 'api' THEN 1 ELSE 0 END), 0) AS errors_api,
        coalesce(sum(CASE WHEN sort = 'retry' THEN 1 ELSE 0 END), 0) AS errors_api_retries
    FROM failures
),
of_charges AS (
    SELECT
        coalesce(sum(responses), 0) AS responses,
        coalesce(sum(input), 0) AS tokens_input,
        coalesce(sum(output), 0) AS tokens_output,
        coalesce(sum(cache_read), 0) AS tokens_cache_read,
        coalesce(sum(cache_write_5m), 0) AS tokens_cache_write_5m,
        coalesce(sum(cache_write_1h), 0) AS tokens_cache_write_1h,
        coalesce(sum(web_searches), 0) AS tokens_web_searches,
        sum(cost_usd) AS cost_total_usd,
        sum(CASE WHEN reported THEN cost_usd END) AS cost_reported_usd,
        sum(computed_usd) AS cost_computed_usd
    FROM charges
)
SELECT *
FROM read_in
CROSS JOIN of_sessions
CROSS JOIN of_turns
CROSS JOIN of_calls
CROSS JOIN of_failures
CROSS JOIN of_charges
