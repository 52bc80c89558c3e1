-- Errors of tools, results and the API: how often, in how many sessions, time waited for retries, first and last time.
SELECT
    sort,
    name,
    count(*) AS errors,
    count(DISTINCT session_key) AS sessions,
    sum(wait_ms) AS wait_ms,
    min(started) AS first,
    max(started) AS last
FROM failures
WHERE sort <> 'denial'
GROUP BY sort, name
ORDER BY errors DESC, sort ASC, name ASC
