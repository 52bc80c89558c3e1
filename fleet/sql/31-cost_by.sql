-- Tokens and cost by {key}, as `ccstat cost --by {key}`. Cost that belongs to no {key} is in a row without one.
WITH grouped AS (
    SELECT
        {value} AS {key},
        count(DISTINCT session_key) AS sessions,
        sum({responses}) AS responses,
        sum(input) AS input,
        sum(output) AS output,
        sum(cache_read) AS cache_read,
        sum(cache_write_5m) AS cache_write_5m,
        sum(cache_write_1h) AS cache_write_1h,
        sum(cost_usd) AS cost_usd,
        sum(cache_saved_usd) AS cache_saved_usd
    FROM charges
    GROUP BY {value}
)
SELECT
    *,
    CAST(cost_usd AS DOUBLE) / nullif(CAST(sum(cost_usd) OVER () AS DOUBLE), 0) AS share,
    CAST(cache_read AS DOUBLE)
    / nullif(CAST(input + cache_read + cache_write_5m + cache_write_1h AS DOUBLE), 0) AS cache_hit_rate
FROM grouped
WHERE
    {key} IS NOT NULL
    OR responses + input + output + cache_read + cache_write_5m + cache_write_1h > 0
    OR cost_usd <> 0
ORDER BY {order}
