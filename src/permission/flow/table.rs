//! The flow as a table: mode, rules by scope, a call, and what comes of it.

use serde_json::{Value, json};

use super::*;
use crate::permission::{Rule, Scope};

/// A line a case: its name, the mode, rules (behaviour, scope, rule), tool and what it is given, the outcome and by what.
const TABLE: &str = "
# Modes (5.1), and the safe tools of acceptEdits
default asks for commands                          :: default           :: - :: Bash npm test :: ask :: no rule
default asks for edits (recording 34)              :: default           :: - :: Write denied2.txt :: ask :: no rule
default asks for commands that touch files (34)    :: default           :: - :: Bash touch denied.txt :: ask :: no rule
default asks for MCP tools                         :: default           :: - :: mcp__demo__add :: ask :: no rule
default asks for the web                           :: default           :: - :: WebFetch https://example.com :: ask :: no rule
default leaves reading to the tool                 :: default           :: - :: Read src/a.rs :: tool decides :: the tool
default leaves reading commands to the tool        :: default           :: - :: Bash git status && ls :: tool decides :: the tool
a reading command in a destructive form            :: default           :: - :: Bash find . -delete :: ask :: no rule
a command that reads and writes is asked about     :: default           :: - :: Bash ls > out :: ask :: no rule
a command that cannot be split is asked about      :: default           :: - :: Bash ls $(rm x) :: ask :: no rule
default leaves unknown tools to themselves         :: default           :: - :: Brand :: tool decides :: the tool
default leaves EnterPlanMode to itself (78)        :: default           :: - :: EnterPlanMode :: tool decides :: the tool
default leaves StructuredOutput to itself (55)     :: default           :: - :: StructuredOutput :: tool decides :: the tool
acceptEdits allows Read                            :: acceptEdits       :: - :: Read a :: allow :: mode acceptEdits
acceptEdits allows Glob                            :: acceptEdits       :: - :: Glob :: allow :: mode acceptEdits
acceptEdits allows Grep                            :: acceptEdits       :: - :: Grep :: allow :: mode acceptEdits
acceptEdits allows Edit                            :: acceptEdits       :: - :: Edit a :: allow :: mode acceptEdits
acceptEdits allows Write                           :: acceptEdits       :: - :: Write a :: allow :: mode acceptEdits
acceptEdits allows NotebookEdit                    :: acceptEdits       :: - :: NotebookEdit a :: allow :: mode acceptEdits
acceptEdits allows TaskCreate                      :: acceptEdits       :: - :: TaskCreate :: allow :: mode acceptEdits
acceptEdits allows TaskUpdate                      :: acceptEdits       :: - :: TaskUpdate :: allow :: mode acceptEdits
acceptEdits allows TaskList                        :: acceptEdits       :: - :: TaskList :: allow :: mode acceptEdits
acceptEdits allows TaskGet                         :: acceptEdits       :: - :: TaskGet :: allow :: mode acceptEdits
acceptEdits allows EnterPlanMode                   :: acceptEdits       :: - :: EnterPlanMode :: allow :: mode acceptEdits
acceptEdits allows AskUserQuestion                 :: acceptEdits       :: - :: AskUserQuestion :: allow :: mode acceptEdits
acceptEdits allows WebSearch                       :: acceptEdits       :: - :: WebSearch :: allow :: mode acceptEdits
acceptEdits allows WebFetch                        :: acceptEdits       :: - :: WebFetch https://a.b :: allow :: mode acceptEdits
acceptEdits allows Task                            :: acceptEdits       :: - :: Task Explore :: allow :: mode acceptEdits
acceptEdits allows Agent, the new name of Task     :: acceptEdits       :: - :: Agent Explore :: allow :: mode acceptEdits
acceptEdits allows Skill                           :: acceptEdits       :: - :: Skill greet :: allow :: mode acceptEdits
acceptEdits asks for ExitPlanMode                  :: acceptEdits       :: - :: ExitPlanMode :: ask :: needs a person
acceptEdits asks for Bash                          :: acceptEdits       :: - :: Bash npm test :: ask :: no rule
acceptEdits asks for MCP                           :: acceptEdits       :: - :: mcp__demo__add :: ask :: no rule
acceptEdits may take a touch for an edit (53)      :: acceptEdits       :: - :: Bash touch ok.txt :: tool decides :: the tool
acceptEdits does not speak for other folders       :: acceptEdits       :: - :: Write /etc/hosts :: tool decides :: the tool
acceptEdits does not speak for settings            :: acceptEdits       :: - :: Edit .claude/settings.json :: tool decides :: the tool
bypassPermissions allows commands                  :: bypassPermissions :: - :: Bash rm -rf / :: allow :: mode bypassPermissions
bypassPermissions allows edits                     :: bypassPermissions :: - :: Write /etc/x :: allow :: mode bypassPermissions
bypassPermissions allows MCP                       :: bypassPermissions :: - :: mcp__demo__add :: allow :: mode bypassPermissions
bypassPermissions asks what needs a person         :: bypassPermissions :: - :: AskUserQuestion :: ask :: needs a person
bypassPermissions and .git differ by version       :: bypassPermissions :: - :: Edit .git/config :: tool decides :: mode bypassPermissions
plan asks for edits (73)                           :: plan              :: - :: Write p.txt :: ask :: mode plan
plan asks for commands                             :: plan              :: - :: Bash npm test :: ask :: mode plan
plan leaves reading to the tool                    :: plan              :: - :: Read a :: tool decides :: the tool
plan asks to be left (96)                          :: plan              :: - :: ExitPlanMode :: ask :: needs a person
delegate asks like default                         :: delegate          :: - :: Bash npm test :: ask :: no rule
delegate obeys rules like default                  :: delegate          :: allow projectSettings Bash(npm:*) :: Bash npm test :: allow :: Bash(npm:*) (projectSettings)
dontAsk refuses what would be asked                :: dontAsk           :: - :: Bash npm test :: deny :: mode dontAsk
dontAsk refuses edits                              :: dontAsk           :: - :: Write a :: deny :: mode dontAsk
dontAsk refuses what needs a person                :: dontAsk           :: - :: AskUserQuestion :: deny :: mode dontAsk
dontAsk refuses what a rule asks                   :: dontAsk           :: ask userSettings Read :: Read a :: deny :: mode dontAsk
dontAsk lets allowed calls through                 :: dontAsk           :: allow projectSettings Bash(npm:*) :: Bash npm ci :: allow :: Bash(npm:*) (projectSettings)
dontAsk leaves reading to the tool                 :: dontAsk           :: - :: Read a :: tool decides :: the tool
auto leaves questions to a classifier              :: auto              :: - :: Bash npm test :: tool decides :: mode auto
auto asks where a rule wants it                    :: auto              :: ask session Bash :: Bash ls :: ask :: Bash (session)
auto asks what needs a person                      :: auto              :: - :: AskUserQuestion :: ask :: needs a person
auto obeys rules that allow                        :: auto              :: allow projectSettings Bash(npm:*) :: Bash npm test :: allow :: Bash(npm:*) (projectSettings)
# Rules (5.2 to 5.4): their forms, and every scope
Read is any use of it                              :: default           :: allow session Read :: Read /etc/x :: allow :: Read (session)
npm:* is npm                                       :: default           :: allow projectSettings Bash(npm:*) :: Bash npm :: allow :: Bash(npm:*) (projectSettings)
npm:* is not npmx                                  :: default           :: allow projectSettings Bash(npm:*) :: Bash npmx :: ask :: no rule
an exact command                                   :: default           :: allow session Bash(make x) :: Bash make x :: allow :: Bash(make x) (session)
an exact command and no more                       :: default           :: allow session Bash(make x) :: Bash make x y :: ask :: no rule
Edit(.claude)                                      :: default           :: allow session Edit(.claude) :: Edit .claude/a :: allow :: Edit(.claude) (session)
Write(/etc/*)                                      :: default           :: ask session Write(/etc/*) :: Write /etc/x :: ask :: Write(/etc/*) (session)
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
allow goes before the question in plan             :: plan              :: allow session Write :: Write a :: allow :: Write (session)
of several rules the first scope is named          :: default           :: deny userSettings Bash + deny cliArg Bash :: Bash ls :: deny :: Bash (cliArg)
# Compound commands: a rule that stops needs one part, rules that allow need all
one denied part denies                             :: default           :: allow session Bash + deny session Bash(rm:*) :: Bash ls && rm x :: deny :: Bash(rm:*) (session)
one asked part asks                                :: default           :: allow session Bash + ask session Bash(rm:*) :: Bash ls; rm x :: ask :: Bash(rm:*) (session)
a denied part within a substitution                :: default           :: deny session Bash(rm:*) :: Bash echo $(rm x) :: deny :: Bash(rm:*) (session)
a denied part behind sudo                          :: default           :: deny session Bash(rm:*) :: Bash sudo rm x :: deny :: Bash(rm:*) (session)
an uncovered part is asked about                   :: default           :: allow projectSettings Bash(npm:*) :: Bash npm test && rm -rf / :: ask :: no rule
the other way round too                            :: default           :: allow projectSettings Bash(npm:*) :: Bash rm -rf / && npm test :: ask :: no rule
parts covered by one rule                          :: default           :: allow projectSettings Bash(npm:*) :: Bash npm ci && npm test :: allow :: Bash(npm:*) (projectSettings)
parts covered by several                           :: default           :: allow userSettings Bash(npm:*) + allow cliArg Bash(git status) :: Bash npm ci; git status :: allow :: Bash(npm:*) (userSettings) + Bash(git status) (cliArg)
pipes are parts too                                :: default           :: allow projectSettings Bash(npm:*) :: Bash npm ls | sh :: ask :: no rule
a prefix does not cover a substitution             :: default           :: allow projectSettings Bash(npm:*) :: Bash npm run $(x) :: ask :: no rule
any use covers a loop (98)                         :: default           :: allow cliArg Bash :: Bash for i in $(seq 45); do sleep 1; done :: allow :: Bash (cliArg)
the whole text covers itself                       :: default           :: allow session Bash(ls; x) :: Bash ls; x :: allow :: Bash(ls; x) (session)
an assignment is not covered                       :: default           :: allow projectSettings Bash(npm:*) :: Bash LD_PRELOAD=x npm test :: ask :: no rule
copies of output are covered                       :: default           :: allow userSettings Bash(git status) :: Bash git status 2>&1 > /dev/null :: allow :: Bash(git status) (userSettings)
a written file is not                              :: default           :: allow projectSettings Bash(npm:*) :: Bash npm test > out.txt :: ask :: no rule
unless a rule lets it be written                   :: default           :: allow userSettings Bash(echo:*) + allow userSettings Edit(out/**) :: Bash echo x > out/a :: allow :: Bash(echo:*) (userSettings) + Edit(out/**) (userSettings)
and only there                                     :: default           :: allow userSettings Bash(echo:*) + allow userSettings Edit(out/**) :: Bash echo x > other/a :: ask :: no rule
a denied file is denied to the shell               :: default           :: allow session Bash + deny session Edit(.env) :: Bash echo x > .env :: deny :: Edit(.env) (session)
quoted operators are text                          :: default           :: deny session Bash(rm:*) :: Bash npm run 'a; rm x' :: ask :: no rule
";

/// A line of the table.
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

/// What the tool is given, in the field that it has it in.
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

fn context(mode: Mode, rules: &[&str]) -> Context {
    let mut context = Context::new(mode);
    for line in rules {
        let mut words = line.splitn(3, ' ');
        let mut word = || words.next().expect("three words");
        let (behaviour, scope) = (Behaviour::named(word()), Scope::named(word()));
        let rule = Rule::parse(word()).expect("a rule");
        context.add(behaviour.expect("a behaviour"), scope.expect("a scope"), rule);
    }
    context
}

#[test]
fn the_flow_is_as_the_table_says() {
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
    for mode in Mode::ALL {
        assert!(cases.iter().any(|case| case.context.mode == *mode), "{mode}");
    }
    for scope in Scope::ALL {
        assert!(cases.iter().any(|case| case.by.contains(&format!("({scope})"))), "{scope}");
    }
    for decision in [Decision::Allow, Decision::Deny, Decision::Ask, Decision::ToolDecides] {
        let of_it = cases.iter().filter(|case| case.decision == decision.to_string());
        assert!(of_it.count() >= 8, "{decision}");
    }
}

#[test]
fn each_step_is_named() {
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
fn where_nobody_can_be_asked_a_question_is_a_refusal() {
    let mut context = context(Mode::Default, &["allow projectSettings Bash(npm:*)"]);
    context.avoid_prompts = true;
    let outcome = |subject: &str| {
        let outcome = check(&context, &Call { tool: "Bash", input: &input("Bash", subject), cwd: None });
        (outcome.decision, outcome.by.to_string())
    };
    // Recordings 34 and 88.
    assert_eq!(outcome("touch denied.txt"), (Decision::Deny, "nobody to ask".to_owned()));
    assert_eq!(outcome("npm test").0, Decision::Allow);
    assert_eq!(outcome("ls").0, Decision::ToolDecides);
}

#[test]
fn further_folders_count_as_the_project() {
    let mut context = context(Mode::AcceptEdits, &[]);
    let write = input("Write", "/srv/extra/a");
    let call = Call { tool: "Write", input: &write, cwd: Some("/home/dev/project") };
    assert_eq!(check(&context, &call).decision, Decision::ToolDecides);
    context.directories.push(("/srv/extra".to_owned(), Scope::Session));
    assert_eq!(check(&context, &call).decision, Decision::Allow);
}

#[test]
fn rules_that_are_about_no_call_are_named() {
    let context = context(
        Mode::Default,
        &["allow session Bash(npm:*)", "deny userSettings Read(.env)", "ask cliArg Write"],
    );
    let inputs = [input("Bash", "ls && npm test"), input("Read", "a/.env")];
    let calls = [("Bash", &inputs[0]), ("Read", &inputs[1])];
    let calls = calls.map(|(tool, input)| Call { tool, input, cwd: Some("/p") });
    let left: Vec<String> = unmatched(&context, calls).iter().map(|placed| placed.rule.to_string()).collect();
    assert_eq!(left, ["Write"]);
    assert_eq!(unmatched(&context, []).len(), 3);
}
