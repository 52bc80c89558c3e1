//! Values that completion scripts get beside those of clap: sessions, which the script asks the program for, and columns where
//! clap lists no values.

use std::{fmt::Write as _, fs, path::PathBuf, time::SystemTime};

use clap::Command;

use super::{args::Shell, help, plan::Variables};
use crate::{
    input::{self, Origin, Roots},
    report::LATEST,
};

/// Maximum number of sessions that a script gets.
const SESSIONS: usize = 100;

/// The ids of the saved sessions that changed last, newest first, by the names of their logs. Reading the logs would take too
/// long for a key press.
pub(super) fn sessions(variables: &Variables) -> Vec<String> {
    let found = input::find(&Roots::SavedSessions(variables.environment()));
    let changed = |path: &PathBuf| fs::metadata(path).and_then(|data| data.modified()).ok();
    let id = |path: &PathBuf| {
        let stem = path.file_stem()?.to_str()?;
        let is_id =
            stem.len() == 36 && stem.chars().all(|letter| letter.is_ascii_hexdigit() || letter == '-');
        is_id.then(|| stem.to_owned())
    };
    let logs = found.sources.iter().filter_map(|source| match &source.origin {
        Origin::File(path) => Some((changed(path)?, id(path)?)),
        Origin::Stdin => None,
    });
    let mut logs: Vec<(SystemTime, String)> = logs.collect();
    logs.sort_by(|one, two| two.cmp(one));
    logs.truncate(SESSIONS);
    logs.into_iter().map(|(_, id)| id).collect()
}

/// The script of a shell with these values.
pub(super) fn extended(shell: Shell, script: &str, command: &Command) -> String {
    match shell {
        Shell::Bash => bash(script),
        Shell::Zsh => zsh(script),
        Shell::Fish => fish(script),
        Shell::Nushell => nushell(script),
        Shell::Elvish => elvish(script, command),
        Shell::Powershell => powershell(script, command),
    }
}

fn bash(script: &str) -> String {
    let script = script.replace("complete -F _ccstat ", "complete -F _ccstat_values ");
    let functions = r#"
# Sessions, and lists of columns; the rest is above.
_ccstat_values() {
    local cur="$2" prev="$3" word named=0
    [[ "${BASH_VERSINFO[0]}" -ge 4 ]] || cur="${COMP_WORDS[COMP_CWORD]}"
    for word in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
        [[ "$word" == -* ]] || named=1
    done
    if [[ "$prev" == --session || ( "${COMP_WORDS[1]}" == show && COMP_CWORD -gt 1 && $named -eq 0 && "$cur" != -* ) ]]; then
        COMPREPLY=( $(compgen -W "latest $("$1" generate session-ids 2>/dev/null </dev/null)" -- "$cur") )
        return 0
    fi
    if [[ "$prev" == --columns && "$cur" == *,* ]]; then
        _ccstat "$1" "${cur##*,}" "$prev"
        COMPREPLY=( "${COMPREPLY[@]/#/${cur%,*},}" )
        return 0
    fi
    _ccstat "$@"
}
"#;
    script + functions
}

fn zsh(script: &str) -> String {
    let function = r#"_ccstat_sessions() {
    local -a sessions
    sessions=(latest ${(f)"$(_call_program sessions ccstat generate session-ids 2>/dev/null </dev/null)"})
    compadd -V sessions -a sessions
}

"#;
    let script = script.replace(&format!(":({LATEST})'"), ":_ccstat_sessions'");
    let script = script.replace("]:ID:_default'", "]:ID:_ccstat_sessions'");
    let end = "if [ \"$funcstack[1]\" = \"_ccstat\" ]";
    script.replace(end, &format!("{function}{end}"))
}

fn fish(script: &str) -> String {
    let values = r#" -k -f -a "(__ccstat_sessions)""#;
    let line = |line: &str| {
        let is_session = line.contains(" -l session ") && line.ends_with(" -r");
        format!("{line}{}\n", if is_session { values } else { "" })
    };
    let mut script: String = script.lines().map(line).collect();
    script.push_str("\nfunction __ccstat_sessions\n    echo latest\n    ccstat generate session-ids 2>/dev/null </dev/null\nend\n");
    let _ = writeln!(script, "complete -c ccstat -n \"__fish_ccstat_using_subcommand show\"{values}");
    script
}

fn nushell(script: &str) -> String {
    let script = script.replace(
        &format!("[ \"{LATEST}\" ]"),
        &format!("[ \"{LATEST}\" ] | append (^ccstat generate session-ids | lines)"),
    );
    script.replace("--session: string ", "--session: string@\"nu-complete ccstat show id\" ")
}

fn elvish(script: &str, command: &Command) -> String {
    let table: String = columns(command).iter().map(|(name, keys)| format!(" &{name}=[{keys}]")).collect();
    let values = format!(
        "    var columns = [{}]
    var previous = ''
    if (> (count $words) 2) {{
        set previous = $words[-2]
    }}
    if (and (or (eq $previous --sort) (eq $previous --columns)) (has-key $columns $words[1])) {{
        all $columns[$words[1]]
    }} elif (or (eq $previous --session) (eq $previous show)) {{
        put latest
        e:ccstat generate session-ids 2>/dev/null </dev/null
    }} else {{
        $completions[$command]
    }}
",
        table.trim_start()
    );
    script.replace("    $completions[$command]\n", &values)
}

fn powershell(script: &str, command: &Command) -> String {
    let table: String =
        columns(command).iter().map(|(name, keys)| format!("        '{name}' = '{keys}'\n")).collect();
    let values = format!(
        "    $columns = @{{
{table}    }}
    $words = @($commandElements | ForEach-Object {{ $_.ToString() }})
    $at = if ($wordToComplete) {{ $words.Count - 2 }} else {{ $words.Count - 1 }}
    $previous = if ($at -ge 1) {{ $words[$at] }} else {{ '' }}
    $values = @()
    if (($previous -eq '--sort' -or $previous -eq '--columns') -and $columns.ContainsKey($words[1])) {{
        $values = $columns[$words[1]].Split(' ')
    }} elseif ($previous -eq '--session' -or $previous -eq 'show') {{
        $values = @('latest') + @(& ccstat generate session-ids 2>$null)
    }}
    if ($values.Count -gt 0) {{
        return $values | Where-Object {{ $_ -like \"$wordToComplete*\" }} |
            ForEach-Object {{ [CompletionResult]::new($_, $_, [CompletionResultType]::ParameterValue, $_) }}
    }}

"
    );
    let start = "    $completions = @(switch ($command) {";
    script.replace(start, &format!("{values}{start}"))
}

/// Each command with columns, and their keys.
fn columns(command: &Command) -> Vec<(String, String)> {
    let keys = |sub: &Command| help::columns(sub).iter().map(|(key, _)| *key).collect::<Vec<_>>().join(" ");
    let has_sort = |sub: &&Command| sub.get_arguments().any(|arg| arg.get_id() == "sort");
    let subs = command.get_subcommands().filter(has_sort);
    subs.map(|sub| (sub.get_name().to_owned(), keys(sub))).filter(|(_, keys)| !keys.is_empty()).collect()
}
