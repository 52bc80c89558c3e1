//! Documentation hosts that `WebFetch` reads without a rule (measured on 2.1.326).

/// Hosts, each with the path below which pages need no rule; empty for all pages.
const HOSTS: &[(&str, &str)] = &[
    ("angular.io", ""),
    ("cloud.google.com", ""),
    ("code.claude.com", ""),
    ("developer.android.com", ""),
    ("developer.apple.com", ""),
    ("developer.mozilla.org", ""),
    ("doc.rust-lang.org", ""),
    ("docs.aws.amazon.com", ""),
    ("docs.djangoproject.com", ""),
    ("docs.oracle.com", ""),
    ("docs.python.org", ""),
    ("en.cppreference.com", ""),
    ("fastapi.tiangolo.com", ""),
    ("flask.palletsprojects.com", ""),
    ("git-scm.com", ""),
    ("github.com", "/anthropics"),
    ("graphql.org", ""),
    ("jestjs.io", ""),
    ("kubernetes.io", ""),
    ("learn.microsoft.com", ""),
    ("modelcontextprotocol.io", ""),
    ("nextjs.org", ""),
    ("nginx.org", ""),
    ("nodejs.org", ""),
    ("numpy.org", ""),
    ("platform.claude.com", ""),
    ("pytorch.org", ""),
    ("react.dev", ""),
    ("redis.io", ""),
    ("ruby-doc.org", ""),
    ("tailwindcss.com", ""),
    ("vuejs.org", ""),
    ("webpack.js.org", ""),
    ("www.php.net", ""),
    ("www.postgresql.org", ""),
    ("www.typescriptlang.org", ""),
];

/// Returns whether `WebFetch` reads an address without a rule.
pub(super) fn is_documentation(host: &str, url: &str) -> bool {
    let after = url.split_once("://").map_or("", |(_, rest)| rest);
    let path = after.find('/').map_or("", |at| &after[at..]);
    let below =
        |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    HOSTS.iter().any(|(known, folder)| *known == host && (folder.is_empty() || below(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_unique_and_a_path_limits_one() {
        assert!(HOSTS.is_sorted() && HOSTS.windows(2).all(|pair| pair[0].0 != pair[1].0));
        assert!(is_documentation("github.com", "https://github.com/anthropics/x"));
        assert!(!is_documentation("github.com", "https://github.com/anthropics-x/y"));
        assert!(!is_documentation("github.com", "https://github.com/other"));
        assert!(is_documentation("react.dev", "https://react.dev/x?y"));
    }
}
