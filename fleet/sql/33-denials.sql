-- Denied calls by tool: how often, in how many sessions, first and last time.
SELECT
    name AS tool,
    count(*) AS denied,
    count(DISTINCT session_key) AS sessions,
    min(started) AS first,
    max(started) AS last
FROM failures
WHERE sort = 'denial'
GROUP BY name
ORDER BY denied DESC, tool ASC
