//! Tests of the flow as a table: mode, rules, call and outcome.

use serde_json::{Value, json};

use super::*;
use crate::permission::{Scope, Settings};

/// One case per line: name, mode, rules (behaviour, scope, rule), tool and input, decision and what decided.
const TABLE: &str = r#"
# Modes (5.1), and the safe tools of acceptEdits
default asks for commands                          :: default           :: - :: Bash npm test :: ask :: no rule
default asks for edits (recording 34)              :: default           :: - :: Write denied2.txt :: ask :: no rule
default asks for commands that touch files (34)    :: default           :: - :: Bash touch denied.txt :: ask :: no rule
default asks for MCP tools                         :: default           :: - :: mcp__demo__add :: ask :: no rule
default asks for the web                           :: default           :: - :: WebFetch https://example.com :: ask :: no rule
default reads inside the working folders           :: default           :: - :: Read src/a.rs :: allow :: inside the working folders
default runs commands that only read               :: default           :: - :: Bash git status && ls :: allow :: read-only command
a reading command in a destructive form            :: default           :: - :: Bash find . -delete :: ask :: no rule
a command that reads and writes is asked about     :: default           :: - :: Bash ls > out :: ask :: a redirection writes a file, which only `Edit(path)` allows
a command that cannot be split is asked about      :: default           :: - :: Bash ls $(rm x) :: ask :: it runs a command within a command (`$(…)` or backticks)
an unknown tool decides by itself                  :: default           :: - :: Brand :: tool decides :: depends on the tool, which is not known here
EnterPlanMode runs (78)                            :: default           :: - :: EnterPlanMode :: allow :: needs no permission
StructuredOutput runs (55)                         :: default           :: - :: StructuredOutput :: allow :: needs no permission
acceptEdits allows Read                            :: acceptEdits       :: - :: Read a :: allow :: inside the working folders
acceptEdits allows Glob                            :: acceptEdits       :: - :: Glob :: allow :: inside the working folders
acceptEdits allows Grep                            :: acceptEdits       :: - :: Grep :: allow :: inside the working folders
acceptEdits allows Edit                            :: acceptEdits       :: - :: Edit a :: allow :: mode acceptEdits
acceptEdits allows Write                           :: acceptEdits       :: - :: Write a :: allow :: mode acceptEdits
acceptEdits allows NotebookEdit                    :: acceptEdits       :: - :: NotebookEdit a :: allow :: mode acceptEdits
acceptEdits allows TaskCreate                      :: acceptEdits       :: - :: TaskCreate :: allow :: needs no permission
acceptEdits allows TaskUpdate                      :: acceptEdits       :: - :: TaskUpdate :: allow :: needs no permission
acceptEdits allows TaskList                        :: acceptEdits       :: - :: TaskList :: allow :: needs no permission
acceptEdits allows TaskGet                         :: acceptEdits       :: - :: TaskGet :: allow :: needs no permission
acceptEdits allows EnterPlanMode                   :: acceptEdits       :: - :: EnterPlanMode :: allow :: needs no permission
acceptEdits asks for AskUserQuestion               :: acceptEdits       :: - :: AskUserQuestion :: ask :: needs a person
acceptEdits asks for WebSearch                     :: acceptEdits       :: - :: WebSearch :: ask :: no rule
acceptEdits asks for WebFetch                      :: acceptEdits       :: - :: WebFetch https://a.b :: ask :: no rule
acceptEdits allows Task                            :: acceptEdits       :: - :: Task Explore :: allow :: needs no permission
acceptEdits allows Agent, the new name of Task     :: acceptEdits       :: - :: Agent Explore :: allow :: needs no permission
acceptEdits allows Skill                           :: acceptEdits       :: - :: Skill greet :: allow :: needs no permission
acceptEdits asks for ExitPlanMode                  :: acceptEdits       :: - :: ExitPlanMode :: ask :: needs a person
acceptEdits asks for Bash                          :: acceptEdits       :: - :: Bash npm test :: ask :: no rule
acceptEdits asks for MCP                           :: acceptEdits       :: - :: mcp__demo__add :: ask :: no rule
acceptEdits takes a touch for an edit (53)         :: acceptEdits       :: - :: Bash touch ok.txt :: allow :: mode acceptEdits
acceptEdits does not speak for other folders       :: acceptEdits       :: - :: Write /etc/hosts :: ask :: no rule
acceptEdits does not speak for settings            :: acceptEdits       :: - :: Edit .claude/settings.json :: ask :: a protected file
bypassPermissions allows commands                  :: bypassPermissions :: - :: Bash rm -rf / :: allow :: mode bypassPermissions
bypassPermissions allows edits                     :: bypassPermissions :: - :: Write /etc/x :: allow :: mode bypassPermissions
bypassPermissions allows MCP                       :: bypassPermissions :: - :: mcp__demo__add :: allow :: mode bypassPermissions
bypassPermissions asks what needs a person         :: bypassPermissions :: - :: AskUserQuestion :: ask :: needs a person
bypassPermissions allows protected files           :: bypassPermissions :: - :: Edit .git/config :: allow :: mode bypassPermissions
plan asks for edits (73)                           :: plan              :: - :: Write p.txt :: ask :: mode plan
plan asks for commands                             :: plan              :: - :: Bash npm test :: ask :: no rule
plan reads inside the working folders              :: plan              :: - :: Read a :: allow :: inside the working folders
plan asks to be left (96)                          :: plan              :: - :: ExitPlanMode :: ask :: needs a person
delegate asks like default                         :: delegate          :: - :: Bash npm test :: ask :: no rule
delegate obeys rules like default                  :: delegate          :: allow projectSettings Bash(npm:*) :: Bash npm test :: allow :: Bash(npm:*) (projectSettings)
dontAsk refuses what would be asked                :: dontAsk           :: - :: Bash npm test :: deny :: mode dontAsk
dontAsk refuses edits                              :: dontAsk           :: - :: Write a :: deny :: mode dontAsk
dontAsk refuses what needs a person                :: dontAsk           :: - :: AskUserQuestion :: deny :: mode dontAsk
dontAsk refuses what a rule asks                   :: dontAsk           :: ask userSettings Read :: Read a :: deny :: mode dontAsk
dontAsk lets allowed calls through                 :: dontAsk           :: allow projectSettings Bash(npm:*) :: Bash npm ci :: allow :: Bash(npm:*) (projectSettings)
dontAsk reads inside the working folders           :: dontAsk           :: - :: Read a :: allow :: inside the working folders
auto leaves questions to a classifier              :: auto              :: - :: Bash npm test :: tool decides :: depends on the classifier of mode auto
auto asks where a rule wants it                    :: auto              :: ask session Bash :: Bash ls :: ask :: Bash (session)
auto asks what needs a person                      :: auto              :: - :: AskUserQuestion :: ask :: needs a person
auto obeys rules that allow                        :: auto              :: allow projectSettings Bash(npm:*) :: Bash npm test :: allow :: Bash(npm:*) (projectSettings)
# Rules (5.2 to 5.4): their forms, and every scope
Read is any use of it                              :: default           :: allow session Read :: Read /etc/x :: allow :: Read (session)
npm:* is npm                                       :: default           :: allow projectSettings Bash(npm:*) :: Bash npm :: allow :: Bash(npm:*) (projectSettings)
npm:* is not npmx                                  :: default           :: allow projectSettings Bash(npm:*) :: Bash npmx :: ask :: no rule
an exact command                                   :: default           :: allow session Bash(make x) :: Bash make x :: allow :: Bash(make x) (session)
an exact command and no more                       :: default           :: allow session Bash(make x) :: Bash make x y :: ask :: no rule
Edit(src)                                          :: default           :: allow session Edit(src) :: Edit src/a :: allow :: Edit(src) (session)
Edit(//etc/*)                                      :: default           :: ask session Edit(//etc/*) :: Write /etc/x :: ask :: Edit(//etc/*) (session)
from cliArg (35)                                   :: default           :: deny cliArg Bash(curl:*) :: Bash curl x :: deny :: Bash(curl:*) (cliArg)
from a command                                     :: default           :: allow command Bash(git:*) :: Bash git add x :: allow :: Bash(git:*) (command)
from local settings                                :: default           :: deny localSettings Read :: Read a :: deny :: Read (localSettings)
from project settings                              :: default           :: deny projectSettings Read :: Read a :: deny :: Read (projectSettings)
from user settings                                 :: default           :: deny userSettings Read :: Read a :: deny :: Read (userSettings)
from policies                                      :: default           :: deny policySettings Read :: Read a :: deny :: Read (policySettings)
from flags                                         :: default           :: deny flagSettings Read :: Read a :: deny :: Read (flagSettings)
a whole MCP server                                 :: default           :: allow session mcp__demo :: mcp__demo__add :: allow :: mcp__demo (session)
a host                                             :: default           :: allow session WebFetch(domain:a.b) :: WebFetch https://a.b/c :: allow :: WebFetch(domain:a.b) (session)
another host                                       :: default           :: allow session WebFetch(domain:a.b) :: WebFetch https://c.d/ :: ask :: no rule
an agent                                           :: default           :: deny session Task(Explore) :: Agent Explore :: deny :: Task(Explore) (session)
# The order of the steps (5.7)
deny goes before ask and allow                     :: default           :: allow session Bash(npm:*) + ask policySettings Bash(npm:*) + deny flagSettings Bash(npm:*) :: Bash npm test :: deny :: Bash(npm:*) (flagSettings)
ask goes before allow                              :: default           :: allow session Bash(npm:*) + ask userSettings Bash(npm:*) :: Bash npm test :: ask :: Bash(npm:*) (userSettings)
deny goes before the mode                          :: bypassPermissions :: deny userSettings Bash(rm:*) :: Bash rm x :: deny :: Bash(rm:*) (userSettings)
ask goes before the mode                           :: bypassPermissions :: ask userSettings Bash(rm:*) :: Bash rm x :: ask :: Bash(rm:*) (userSettings)
deny goes before acceptEdits                       :: acceptEdits       :: deny session Edit(a/*) :: Write a/b :: deny :: Edit(a/*) (session)
deny goes before the tool                          :: default           :: deny session AskUserQuestion :: AskUserQuestion :: deny :: AskUserQuestion (session)
the tool goes before the mode                      :: bypassPermissions :: - :: ExitPlanMode :: ask :: needs a person
the tool goes before allow                         :: default           :: allow session ExitPlanMode :: ExitPlanMode :: ask :: needs a person
the mode goes before allow                         :: bypassPermissions :: allow projectSettings Bash(npm:*) :: Bash npm test :: allow :: mode bypassPermissions
allow goes before the question                     :: default           :: allow session Write :: Write a :: allow :: Write (session)
plan goes before allow                             :: plan              :: allow session Write :: Write a :: ask :: mode plan
of several rules the first scope is named          :: default           :: deny userSettings Bash + deny cliArg Bash :: Bash ls :: deny :: Bash (cliArg)
# Compound commands: a rule that stops needs one part, rules that allow need all
one denied part denies                             :: default           :: allow session Bash + deny session Bash(rm:*) :: Bash ls && rm x :: deny :: Bash(rm:*) (session)
one asked part asks                                :: default           :: allow session Bash + ask session Bash(rm:*) :: Bash ls; rm x :: ask :: Bash(rm:*) (session)
a denied part within a substitution                :: default           :: deny session Bash(rm:*) :: Bash echo $(rm x) :: deny :: Bash(rm:*) (session)
a denied part behind sudo                          :: default           :: deny session Bash(rm:*) :: Bash sudo rm x :: deny :: Bash(rm:*) (session)
an uncovered part is asked about                   :: default           :: allow projectSettings Bash(npm:*) :: Bash npm test && rm -rf x :: ask :: no rule
the other way round too                            :: default           :: allow projectSettings Bash(npm:*) :: Bash rm -rf x && npm test :: ask :: no rule
parts covered by one rule                          :: default           :: allow projectSettings Bash(npm:*) :: Bash npm ci && npm test :: allow :: Bash(npm:*) (projectSettings)
parts covered by several                           :: default           :: allow userSettings Bash(npm:*) + allow cliArg Bash(git fetch) :: Bash npm ci; git fetch :: allow :: Bash(npm:*) (userSettings) + Bash(git fetch) (cliArg)
pipes are parts too                                :: default           :: allow projectSettings Bash(npm:*) :: Bash npm ls | sh :: ask :: no rule
a prefix does not cover a substitution             :: default           :: allow projectSettings Bash(npm:*) :: Bash npm run $(x) :: ask :: it runs a command within a command (`$(…)` or backticks)
any use covers a loop (98)                         :: default           :: allow cliArg Bash :: Bash for i in $(seq 45); do sleep 1; done :: allow :: Bash (cliArg)
the whole text covers itself                       :: default           :: allow session Bash(ls; x) :: Bash ls; x :: allow :: Bash(ls; x) (session)
an assignment is not covered                       :: default           :: allow projectSettings Bash(npm:*) :: Bash LD_PRELOAD=x npm test :: ask :: no rule
copies of output are covered                       :: default           :: allow userSettings Bash(git fetch) :: Bash git fetch 2>&1 > /dev/null :: allow :: Bash(git fetch) (userSettings)
a written file is not                              :: default           :: allow projectSettings Bash(npm:*) :: Bash npm test > out.txt :: ask :: a redirection writes a file, which only `Edit(path)` allows
unless a rule lets it be written                   :: default           :: allow userSettings Bash(echo:*) + allow userSettings Edit(out/**) :: Bash echo x > out/a :: allow :: Edit(out/**) (userSettings)
and only there                                     :: default           :: allow userSettings Bash(echo:*) + allow userSettings Edit(out/**) :: Bash echo x > other/a :: ask :: a redirection writes a file, which only `Edit(path)` allows
a denied file is denied to the shell               :: default           :: allow session Bash + deny session Edit(.env) :: Bash echo x > .env :: deny :: Edit(.env) (session)
# What 2.1.326 was measured to do: the 18 points, each with its smallest example
1 trust: what an untrusted project allows is gone  :: default           :: allow untrusted Bash(npm:*) :: Bash npm ci :: ask :: no rule
1 trust: what it denies holds                      :: default           :: deny untrusted Read(x) :: Read x :: deny :: Read(x) (projectSettings)
2 reads outside ask                                :: default           :: - :: Read /etc/hostname :: ask :: a file outside the working folders
2 Read(path) allows them                           :: default           :: allow session Read(//etc/**) :: Read /etc/hostname :: allow :: Read(//etc/**) (session)
2 Edit(path) allows them too                       :: default           :: allow session Edit(//etc/**) :: Read /etc/hostname :: allow :: Edit(//etc/**) (session)
3 a reading command outside asks                   :: default           :: - :: Bash cat /etc/hostname :: ask :: a file outside the working folders
3 Read(path) allows it                             :: default           :: allow session Read(//etc/**) :: Bash cat /etc/hostname :: allow :: Read(//etc/**) (session)
3 Read alone does not                              :: default           :: allow session Read :: Bash cat /etc/hostname :: ask :: a file outside the working folders
3 a flag that writes asks                          :: default           :: - :: Bash git log --output=x :: ask :: no rule
3 a flag that is glued to its value asks           :: default           :: - :: Bash sort -k2 a :: ask :: no rule
3 a new branch asks                                :: default           :: - :: Bash git branch new :: ask :: no rule
4 a Read that denies reaches Bash                  :: bypassPermissions :: deny session Read(./secret/**) :: Bash cat secret/k :: deny :: Read(./secret/**) (session)
4 an Edit that denies reaches Bash                 :: default           :: allow session Bash + deny session Edit(src/**) :: Bash touch src/q :: deny :: Edit(src/**) (session)
4 what cannot be seen is not reached               :: default           :: allow session Bash + deny session Read(./secret/**) :: Bash cat $PWD/secret/k :: allow :: Bash (session)
4 paths that ask do not reach Bash                 :: default           :: ask session Read(secret/**) :: Bash cat secret/k :: allow :: read-only command
5 a star is anything                               :: default           :: allow session Bash(npm run *) :: Bash npm run a && npm run b :: allow :: Bash(npm run *) (session)
5 a star at the end may be nothing                 :: default           :: allow session Bash(npm run *) :: Bash npm run :: allow :: Bash(npm run *) (session)
6 a protected file asks                            :: default           :: allow session Write :: Write .git/hooks/x :: ask :: a protected file
6 so it does for the shell                         :: default           :: allow session Bash :: Bash echo x > .bashrc :: ask :: a protected file
6 others do not                                    :: default           :: allow session Write :: Write .env :: allow :: Write (session)
7 wrappers are taken off                           :: default           :: allow session Bash(npm:*) :: Bash timeout 5 npm ci :: allow :: Bash(npm:*) (session)
7 some are not                                     :: default           :: allow session Bash(npm:*) :: Bash env npm ci :: ask :: no rule
7 some variables are taken off                     :: default           :: allow session Bash(npm:*) :: Bash NODE_ENV=x npm ci :: allow :: Bash(npm:*) (session)
7 others are not                                   :: default           :: allow session Bash(npm:*) :: Bash FOO=x npm ci :: ask :: no rule
8 parts by a rule and by only reading              :: default           :: allow session Bash(npm:*) :: Bash cd sub && npm ci | tail -5 :: allow :: Bash(npm:*) (session)
9 a variable in a path asks                        :: default           :: allow session Bash(touch:*) :: Bash touch "$X" :: ask :: only the shell knows what a word becomes
9 a list in braces asks                            :: default           :: allow session Bash(touch:*) :: Bash touch {a,b} :: ask :: it has a list in braces (`{a,b}`)
9 a pattern in a write asks                        :: default           :: allow session Bash(touch:*) :: Bash touch q* :: ask :: a pattern names the files to write
9 the background asks                              :: default           :: allow session Bash(touch:*) :: Bash touch x & :: ask :: a part runs in the background (`&`)
9 a condition does not                             :: default           :: allow session Bash(touch:*) :: Bash if [[ -f x ]]; then touch x; fi :: allow :: Bash(touch:*) (session)
9 a calculation does not                           :: default           :: - :: Bash echo $((1+1)) :: allow :: read-only command
10 an allowed command asks outside                 :: default           :: allow session Bash(touch:*) :: Bash touch ../x :: ask :: writes outside the working folders
10 Edit(path) helps it                             :: default           :: allow session Bash(touch:*) + allow session Edit(//home/dev/x) :: Bash touch ../x :: allow :: Bash(touch:*) (session) + Edit(//home/dev/x) (session)
10 Edit(path) alone allows a redirection           :: default           :: allow session Edit(src/**) :: Bash echo x > src/q :: allow :: Edit(src/**) (session)
10 plain Edit does not                             :: default           :: allow session Edit + allow session Bash(echo:*) :: Bash echo x > q :: ask :: a redirection writes a file, which only `Edit(path)` allows
10 cd and a write ask                              :: default           :: allow session Bash(touch:*) :: Bash cd sub && touch x :: ask :: it changes the folder and writes
10 cd and git ask                                  :: default           :: - :: Bash cd sub && git status :: ask :: it changes the folder and runs git
11 a Read that denies stops edits                  :: acceptEdits       :: deny session Read(.env) :: Write .env :: deny :: Read(.env) (session)
12 Write(path) does nothing                        :: acceptEdits       :: deny session Write(src/**) :: Write src/a :: allow :: mode acceptEdits
13 x/** denies at any depth                        :: default           :: deny session Read(x/**) :: Read sub/x/a :: deny :: Read(x/**) (session)
13 x/** allows in one place                        :: default           :: allow session Edit(x/**) :: Write sub/x/a :: ask :: no rule
13 x/* covers deeper files                         :: default           :: allow session Edit(x/*) :: Write x/y/a :: allow :: Edit(x/*) (session)
13 case does not matter                            :: default           :: allow session Edit(x/*) :: Write X/A :: allow :: Edit(x/*) (session)
13 a class is a class                              :: default           :: allow session Edit([id]) :: Write [id] :: ask :: no rule
13 an escaped one is not                           :: default           :: allow session Edit(\[id\]) :: Write [id] :: allow :: Edit(\[id\]) (session)
13 /x of the user is not the project's             :: default           :: deny userSettings Read(/x) :: Read x :: allow :: inside the working folders
13 .. never matches                                :: default           :: allow session Read(../o/**) :: Read ../o/x :: ask :: a file outside the working folders
14 documentation needs no rule                     :: default           :: - :: WebFetch https://react.dev/x :: allow :: documentation host
14 a star in a domain                              :: default           :: allow session WebFetch(domain:*.b.c) :: WebFetch https://a.b.c :: allow :: WebFetch(domain:*.b.c) (session)
15 allow mcp__* does nothing                       :: default           :: allow session mcp__* :: mcp__demo__add :: ask :: no rule
15 after the server it works                       :: default           :: allow session mcp__demo__a* :: mcp__demo__add :: allow :: mcp__demo__a* (session)
15 deny mcp__* works                               :: bypassPermissions :: deny session mcp__* :: mcp__demo__add :: deny :: mcp__* (session)
15 Edit(*) does not cover Write                    :: default           :: allow session Edit(*) :: Write a :: ask :: no rule
16 acceptEdits takes sed -i for an edit            :: acceptEdits       :: - :: Bash sed -i s/a/b/ a :: allow :: mode acceptEdits
16 and a redirection                               :: acceptEdits       :: - :: Bash echo x > a :: allow :: mode acceptEdits
16 but not chmod                                   :: acceptEdits       :: - :: Bash chmod +x a :: ask :: no rule
16 plan ignores rules for MCP                      :: plan              :: allow session mcp__demo :: mcp__demo__add :: ask :: mode plan
16 plan reads everywhere                           :: plan              :: - :: Read /etc/hostname :: allow :: mode plan
17 a deny sees through a path                      :: default           :: deny session Bash(touch:*) :: Bash /usr/bin/touch x :: deny :: Bash(touch:*) (session)
17 and a variable                                  :: default           :: deny session Bash(touch:*) :: Bash X=touch; $X x :: deny :: Bash(touch:*) (session)
17 and a function                                  :: default           :: deny session Bash(touch:*) :: Bash f() { touch x; }; f :: deny :: Bash(touch:*) (session)
17 and a case                                      :: default           :: deny session Bash(touch:*) :: Bash case x in x) touch x;; esac :: deny :: Bash(touch:*) (session)
17 asking about one agent does nothing             :: default           :: ask session Agent(Explore) :: Agent Explore :: allow :: needs no permission
18 a bad rule is dropped and others hold           :: default           :: allow session Bash(npm + allow session Bash(mkdir:*) :: Bash mkdir q :: allow :: Bash(mkdir:*) (session)
# The rest
quoted operators are text                          :: default           :: deny session Bash(rm:*) :: Bash npm run 'a; rm x' :: ask :: no rule
"#;

/// One line of the table.
struct Case {
    name: &'static str,
    context: Context,
    tool: &'static str,
    subject: &'static str,
    decision: &'static str,
    by: &'static str,
}

fn cases() -> Vec<Case> {
    let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let case = |line: &'static str| {
        let cells: Vec<&str> = line.split(" :: ").map(str::trim).collect();
        let [name, mode, rules, call, decision, by] = cells[..] else { panic!("six cells: {line}") };
        let rules: Vec<&str> = rules.split(" + ").filter(|rule| *rule != "-").collect();
        let (tool, subject) = call.split_once(' ').unwrap_or((call, ""));
        Case {
            name,
            context: context(Mode::named(mode).expect("a mode"), &rules),
            tool,
            subject,
            decision,
            by,
        }
    };
    lines.map(case).collect()
}

/// Returns the input of the tool.
fn input(tool: &str, subject: &str) -> Value {
    match tool {
        "Bash" => json!({ "command": subject }),
        "NotebookEdit" => json!({ "notebook_path": subject }),
        "WebFetch" => json!({ "url": subject }),
        "Task" | "Agent" => json!({ "subagent_type": subject }),
        "Skill" => json!({ "skill": subject }),
        _ if subject.is_empty() => json!({}),
        _ => json!({ "file_path": subject }),
    }
}

/// Adds each rule as from a settings file: invalid rules are dropped, and so are allow rules of an untrusted
/// project.
fn context(mode: Mode, rules: &[&str]) -> Context {
    let mut context = Context::new(mode);
    for line in rules {
        let mut words = line.splitn(3, ' ');
        let mut word = || words.next().expect("three words");
        let (behaviour, kept, rule) = (word(), word(), word());
        let scope = if kept == "untrusted" { Scope::Project } else { Scope::named(kept).expect("a scope") };
        let text = json!({ "permissions": { behaviour: [rule] } }).to_string();
        let mut settings = Settings::read("s.json", &text, Some(scope)).expect("settings");
        if kept == "untrusted" {
            settings.distrust();
        }
        settings.rules.into_iter().for_each(|(behaviour, rule)| context.add(behaviour, scope, rule));
    }
    context
}

#[test]
fn the_flow_agrees_with_the_table() {
    for Case { name, context, tool, subject, decision, by } in cases() {
        let input = input(tool, subject);
        let outcome = check(&context, &Call { tool, input: &input, cwd: Some("/home/dev/project") });
        let told = (outcome.decision.to_string(), outcome.by.to_string());
        assert_eq!(told, (decision.to_owned(), by.to_owned()), "{name}: {outcome:?}");
    }
}

#[test]
fn the_table_is_large_and_has_every_mode_scope_and_decision() {
    let cases = cases();
    assert!(cases.len() >= 100, "{}", cases.len());
    let names: std::collections::BTreeSet<&str> = cases.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), cases.len(), "each name once");
    for point in 1..=18 {
        let name = format!("{point} ");
        assert!(cases.iter().any(|case| case.name.starts_with(&name)), "point {point} of the measurement");
    }
    for mode in Mode::ALL {
        assert!(cases.iter().any(|case| case.context.mode == mode), "{mode}");
    }
    for scope in Scope::ALL {
        assert!(cases.iter().any(|case| case.by.contains(&format!("({scope})"))), "{scope}");
    }
    for decision in [Decision::Allow, Decision::Deny, Decision::Ask, Decision::ToolDecides] {
        // Few outcomes depend on information that only the CLI has.
        let least = if decision == Decision::ToolDecides { 2 } else { 8 };
        let of_it = cases.iter().filter(|case| case.decision == decision.to_string());
        assert!(of_it.count() >= least, "{decision}");
    }
}

#[test]
fn the_outcome_names_the_step() {
    let step = |mode, rules: &[&str], tool: &str, subject: &str| {
        let (context, input) = (context(mode, rules), input(tool, subject));
        check(&context, &Call { tool, input: &input, cwd: Some("/p") }).step
    };
    assert_eq!(
        step(
            Mode::Default,
            &["allow session Bash", "ask userSettings Bash", "deny flagSettings Bash"],
            "Bash",
            "npm ci"
        ),
        Step::Deny
    );
    assert_eq!(
        step(Mode::Default, &["allow session Bash", "ask userSettings Bash"], "Bash", "npm ci"),
        Step::Ask
    );
    assert_eq!(step(Mode::Default, &[], "Read", "a"), Step::Tool);
    assert_eq!(step(Mode::Default, &[], "ExitPlanMode", ""), Step::Interaction);
    assert_eq!(step(Mode::AcceptEdits, &[], "Edit", "a"), Step::Mode);
    assert_eq!(step(Mode::Default, &["allow projectSettings Bash(npm:*)"], "Bash", "npm ci"), Step::Allow);
    assert_eq!(step(Mode::DontAsk, &[], "Bash", "npm ci"), Step::Default);
    let order =
        [Step::Deny, Step::Ask, Step::Tool, Step::Interaction, Step::Mode, Step::Allow, Step::Default];
    assert!(order.is_sorted());
}

#[test]
fn plan_with_bypass_available_allows() {
    let mut context = context(Mode::Plan, &["deny session Bash(rm:*)"]);
    context.bypass_available = true;
    let decision = |subject: &str| {
        check(&context, &Call { tool: "Bash", input: &input("Bash", subject), cwd: None }).decision
    };
    assert_eq!(decision("npm test"), Decision::Allow);
    assert_eq!(decision("rm x"), Decision::Deny, "rules that deny come first");
}

#[test]
fn a_question_is_a_denial_if_nobody_can_be_asked() {
    let mut context = context(Mode::Default, &["allow projectSettings Bash(npm:*)"]);
    context.avoid_prompts = true;
    let outcome = |subject: &str| {
        let outcome = check(&context, &Call { tool: "Bash", input: &input("Bash", subject), cwd: None });
        (outcome.decision, outcome.by.to_string())
    };
    // Recordings 34 and 88.
    assert_eq!(outcome("touch denied.txt"), (Decision::Deny, "nobody to ask".to_owned()));
    assert_eq!(outcome("npm test").0, Decision::Allow);
    assert_eq!(outcome("ls").0, Decision::Allow);
}

#[test]
fn additional_folders_count_as_the_project() {
    let mut context = context(Mode::AcceptEdits, &[]);
    let write = input("Write", "/srv/extra/a");
    let call = Call { tool: "Write", input: &write, cwd: Some("/home/dev/project") };
    assert_eq!(check(&context, &call).decision, Decision::Ask);
    context.directories.push(("/srv/extra".to_owned(), Scope::Session));
    assert_eq!(check(&context, &call).decision, Decision::Allow);
}

#[test]
fn rules_that_match_no_call_are_found() {
    let context = context(
        Mode::Default,
        &["allow session Bash(npm:*)", "deny userSettings Read(.env)", "ask cliArg Write"],
    );
    let inputs = [input("Bash", "ls && npm test"), input("Read", "a/.env")];
    let calls = [("Bash", &inputs[0]), ("Read", &inputs[1])];
    let calls = calls.map(|(tool, input)| Call { tool, input, cwd: Some("/p") });
    let left: Vec<String> =
        unmatched_rules(&context, calls).iter().map(|scoped| scoped.rule.to_string()).collect();
    assert_eq!(left, ["Write"]);
    assert_eq!(unmatched_rules(&context, []).len(), 3);
}
