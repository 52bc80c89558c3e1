//! The flow as a table: mode, rules by scope, a call, and what comes of it.

use serde_json::{Value, json};

use super::*;
use crate::permission::{Rule, Scope};

/// What a case says: its name, mode, rules (`behaviour scope rule`), tool, what the tool is given, the outcome and by
/// what.
type Case = (&'static str, Mode, &'static [&'static str], &'static str, &'static str, Decision, &'static str);

use Decision::{Allow, Ask, Deny, ToolDecides as Tool};
use Mode::{
    AcceptEdits as Edits, Auto, BypassPermissions as Bypass, Default as Plain, Delegate, DontAsk, Plan,
};

const NPM: &[&str] = &["allow projectSettings Bash(npm:*)"];
const GIT: &[&str] = &["allow userSettings Bash(git status)"];
const ORDER: &[&str] =
    &["allow session Bash(npm:*)", "ask policySettings Bash(npm:*)", "deny flagSettings Bash(npm:*)"];
const ASK_ALLOW: &[&str] = &["allow session Bash(npm:*)", "ask userSettings Bash(npm:*)"];
const TWO: &[&str] = &["allow userSettings Bash(npm:*)", "allow cliArg Bash(git status)"];
const WRITE: &[&str] = &["allow userSettings Bash(echo:*)", "allow userSettings Edit(out/**)"];

/// Modes (5.1) and the safe tools of `acceptEdits`.
const MODES: &[Case] = &[
    ("default asks for commands", Plain, &[], "Bash", "npm test", Ask, "no rule"),
    ("default asks for edits (recording 34)", Plain, &[], "Write", "denied2.txt", Ask, "no rule"),
    (
        "default asks for commands that touch files (34)",
        Plain,
        &[],
        "Bash",
        "touch denied.txt",
        Ask,
        "no rule",
    ),
    ("default asks for MCP tools", Plain, &[], "mcp__demo__add", "", Ask, "no rule"),
    ("default asks for the web", Plain, &[], "WebFetch", "https://example.com", Ask, "no rule"),
    ("default leaves reading to the tool", Plain, &[], "Read", "src/a.rs", Tool, "the tool"),
    ("default leaves reading commands to the tool", Plain, &[], "Bash", "git status && ls", Tool, "the tool"),
    ("a reading command in a destructive form", Plain, &[], "Bash", "find . -delete", Ask, "no rule"),
    ("a command that reads and writes is asked about", Plain, &[], "Bash", "ls > out", Ask, "no rule"),
    ("a command that cannot be split is asked about", Plain, &[], "Bash", "ls $(rm x)", Ask, "no rule"),
    ("default leaves unknown tools to themselves", Plain, &[], "Brand", "", Tool, "the tool"),
    ("default leaves EnterPlanMode to itself (78)", Plain, &[], "EnterPlanMode", "", Tool, "the tool"),
    ("default leaves StructuredOutput to itself (55)", Plain, &[], "StructuredOutput", "", Tool, "the tool"),
    ("acceptEdits allows Read", Edits, &[], "Read", "a", Allow, "mode acceptEdits"),
    ("acceptEdits allows Glob", Edits, &[], "Glob", "", Allow, "mode acceptEdits"),
    ("acceptEdits allows Grep", Edits, &[], "Grep", "", Allow, "mode acceptEdits"),
    ("acceptEdits allows Edit", Edits, &[], "Edit", "a", Allow, "mode acceptEdits"),
    ("acceptEdits allows Write", Edits, &[], "Write", "a", Allow, "mode acceptEdits"),
    ("acceptEdits allows NotebookEdit", Edits, &[], "NotebookEdit", "a", Allow, "mode acceptEdits"),
    ("acceptEdits allows TaskCreate", Edits, &[], "TaskCreate", "", Allow, "mode acceptEdits"),
    ("acceptEdits allows TaskUpdate", Edits, &[], "TaskUpdate", "", Allow, "mode acceptEdits"),
    ("acceptEdits allows TaskList", Edits, &[], "TaskList", "", Allow, "mode acceptEdits"),
    ("acceptEdits allows TaskGet", Edits, &[], "TaskGet", "", Allow, "mode acceptEdits"),
    ("acceptEdits allows EnterPlanMode", Edits, &[], "EnterPlanMode", "", Allow, "mode acceptEdits"),
    ("acceptEdits allows AskUserQuestion", Edits, &[], "AskUserQuestion", "", Allow, "mode acceptEdits"),
    ("acceptEdits allows WebSearch", Edits, &[], "WebSearch", "", Allow, "mode acceptEdits"),
    ("acceptEdits allows WebFetch", Edits, &[], "WebFetch", "https://a.b", Allow, "mode acceptEdits"),
    ("acceptEdits allows Task", Edits, &[], "Task", "Explore", Allow, "mode acceptEdits"),
    (
        "acceptEdits allows Agent, the new name of Task",
        Edits,
        &[],
        "Agent",
        "Explore",
        Allow,
        "mode acceptEdits",
    ),
    ("acceptEdits allows Skill", Edits, &[], "Skill", "greet", Allow, "mode acceptEdits"),
    ("acceptEdits asks for ExitPlanMode", Edits, &[], "ExitPlanMode", "", Ask, "needs a person"),
    ("acceptEdits asks for Bash", Edits, &[], "Bash", "npm test", Ask, "no rule"),
    ("acceptEdits asks for MCP", Edits, &[], "mcp__demo__add", "", Ask, "no rule"),
    ("acceptEdits may take a touch for an edit (53)", Edits, &[], "Bash", "touch ok.txt", Tool, "the tool"),
    ("acceptEdits does not speak for other folders", Edits, &[], "Write", "/etc/hosts", Tool, "the tool"),
    (
        "acceptEdits does not speak for settings",
        Edits,
        &[],
        "Edit",
        ".claude/settings.json",
        Tool,
        "the tool",
    ),
    ("bypassPermissions allows commands", Bypass, &[], "Bash", "rm -rf /", Allow, "mode bypassPermissions"),
    ("bypassPermissions allows edits", Bypass, &[], "Write", "/etc/x", Allow, "mode bypassPermissions"),
    ("bypassPermissions allows MCP", Bypass, &[], "mcp__demo__add", "", Allow, "mode bypassPermissions"),
    ("bypassPermissions asks what needs a person", Bypass, &[], "AskUserQuestion", "", Ask, "needs a person"),
    (
        "bypassPermissions and .git differ by version",
        Bypass,
        &[],
        "Edit",
        ".git/config",
        Tool,
        "mode bypassPermissions",
    ),
    ("plan asks for edits (73)", Plan, &[], "Write", "p.txt", Ask, "mode plan"),
    ("plan asks for commands", Plan, &[], "Bash", "npm test", Ask, "mode plan"),
    ("plan leaves reading to the tool", Plan, &[], "Read", "a", Tool, "the tool"),
    ("plan asks to be left (96)", Plan, &[], "ExitPlanMode", "", Ask, "needs a person"),
    ("delegate asks like default", Delegate, &[], "Bash", "npm test", Ask, "no rule"),
    (
        "delegate obeys rules like default",
        Delegate,
        NPM,
        "Bash",
        "npm test",
        Allow,
        "Bash(npm:*) (projectSettings)",
    ),
    ("dontAsk refuses what would be asked", DontAsk, &[], "Bash", "npm test", Deny, "mode dontAsk"),
    ("dontAsk refuses edits", DontAsk, &[], "Write", "a", Deny, "mode dontAsk"),
    ("dontAsk refuses what needs a person", DontAsk, &[], "AskUserQuestion", "", Deny, "mode dontAsk"),
    (
        "dontAsk refuses what a rule asks",
        DontAsk,
        &["ask userSettings Read"],
        "Read",
        "a",
        Deny,
        "mode dontAsk",
    ),
    (
        "dontAsk lets allowed calls through",
        DontAsk,
        NPM,
        "Bash",
        "npm ci",
        Allow,
        "Bash(npm:*) (projectSettings)",
    ),
    ("dontAsk leaves reading to the tool", DontAsk, &[], "Read", "a", Tool, "the tool"),
    ("auto leaves questions to a classifier", Auto, &[], "Bash", "npm test", Tool, "mode auto"),
    ("auto asks where a rule wants it", Auto, &["ask session Bash"], "Bash", "ls", Ask, "Bash (session)"),
    ("auto asks what needs a person", Auto, &[], "AskUserQuestion", "", Ask, "needs a person"),
    ("auto obeys rules that allow", Auto, NPM, "Bash", "npm test", Allow, "Bash(npm:*) (projectSettings)"),
];

/// Rules (5.2 to 5.4): their forms, and every scope.
const RULES: &[Case] = &[
    ("Read is any use of it", Plain, &["allow session Read"], "Read", "/etc/x", Allow, "Read (session)"),
    ("npm:* is npm", Plain, NPM, "Bash", "npm", Allow, "Bash(npm:*) (projectSettings)"),
    ("npm:* is not npmx", Plain, NPM, "Bash", "npmx", Ask, "no rule"),
    (
        "an exact command",
        Plain,
        &["allow session Bash(make x)"],
        "Bash",
        "make x",
        Allow,
        "Bash(make x) (session)",
    ),
    (
        "an exact command and no more",
        Plain,
        &["allow session Bash(make x)"],
        "Bash",
        "make x y",
        Ask,
        "no rule",
    ),
    (
        "Edit(.claude)",
        Plain,
        &["allow session Edit(.claude)"],
        "Edit",
        ".claude/a",
        Allow,
        "Edit(.claude) (session)",
    ),
    (
        "Write(/etc/*)",
        Plain,
        &["ask session Write(/etc/*)"],
        "Write",
        "/etc/x",
        Ask,
        "Write(/etc/*) (session)",
    ),
    (
        "from cliArg (35)",
        Plain,
        &["deny cliArg Bash(curl:*)"],
        "Bash",
        "curl x",
        Deny,
        "Bash(curl:*) (cliArg)",
    ),
    (
        "from a command",
        Plain,
        &["allow command Bash(git:*)"],
        "Bash",
        "git add x",
        Allow,
        "Bash(git:*) (command)",
    ),
    ("from local settings", Plain, &["deny localSettings Read"], "Read", "a", Deny, "Read (localSettings)"),
    (
        "from project settings",
        Plain,
        &["deny projectSettings Read"],
        "Read",
        "a",
        Deny,
        "Read (projectSettings)",
    ),
    ("from user settings", Plain, &["deny userSettings Read"], "Read", "a", Deny, "Read (userSettings)"),
    ("from policies", Plain, &["deny policySettings Read"], "Read", "a", Deny, "Read (policySettings)"),
    ("from flags", Plain, &["deny flagSettings Read"], "Read", "a", Deny, "Read (flagSettings)"),
    (
        "a whole MCP server",
        Plain,
        &["allow session mcp__demo"],
        "mcp__demo__add",
        "",
        Allow,
        "mcp__demo (session)",
    ),
    (
        "a host",
        Plain,
        &["allow session WebFetch(domain:a.b)"],
        "WebFetch",
        "https://a.b/c",
        Allow,
        "WebFetch(domain:a.b) (session)",
    ),
    (
        "another host",
        Plain,
        &["allow session WebFetch(domain:a.b)"],
        "WebFetch",
        "https://c.d/",
        Ask,
        "no rule",
    ),
    ("an agent", Plain, &["deny session Task(Explore)"], "Agent", "Explore", Deny, "Task(Explore) (session)"),
];

/// The order of the steps (5.7).
const STEPS: &[Case] = &[
    ("deny goes before ask and allow", Plain, ORDER, "Bash", "npm test", Deny, "Bash(npm:*) (flagSettings)"),
    ("ask goes before allow", Plain, ASK_ALLOW, "Bash", "npm test", Ask, "Bash(npm:*) (userSettings)"),
    (
        "deny goes before the mode",
        Bypass,
        &["deny userSettings Bash(rm:*)"],
        "Bash",
        "rm x",
        Deny,
        "Bash(rm:*) (userSettings)",
    ),
    (
        "ask goes before the mode",
        Bypass,
        &["ask userSettings Bash(rm:*)"],
        "Bash",
        "rm x",
        Ask,
        "Bash(rm:*) (userSettings)",
    ),
    (
        "deny goes before acceptEdits",
        Edits,
        &["deny session Edit(a/*)"],
        "Write",
        "a/b",
        Deny,
        "Edit(a/*) (session)",
    ),
    (
        "deny goes before the tool",
        Plain,
        &["deny session AskUserQuestion"],
        "AskUserQuestion",
        "",
        Deny,
        "AskUserQuestion (session)",
    ),
    ("the tool goes before the mode", Bypass, &[], "ExitPlanMode", "", Ask, "needs a person"),
    (
        "the tool goes before allow",
        Plain,
        &["allow session ExitPlanMode"],
        "ExitPlanMode",
        "",
        Ask,
        "needs a person",
    ),
    ("the mode goes before allow", Bypass, NPM, "Bash", "npm test", Allow, "mode bypassPermissions"),
    (
        "allow goes before the question",
        Plain,
        &["allow session Write"],
        "Write",
        "a",
        Allow,
        "Write (session)",
    ),
    (
        "allow goes before the question in plan",
        Plan,
        &["allow session Write"],
        "Write",
        "a",
        Allow,
        "Write (session)",
    ),
    (
        "of several rules the first scope is named",
        Plain,
        &["deny userSettings Bash", "deny cliArg Bash"],
        "Bash",
        "ls",
        Deny,
        "Bash (cliArg)",
    ),
];

/// Compound commands: a rule that stops needs one part, rules that allow need all.
const PARTS: &[Case] = &[
    (
        "one denied part denies",
        Plain,
        &["allow session Bash", "deny session Bash(rm:*)"],
        "Bash",
        "ls && rm x",
        Deny,
        "Bash(rm:*) (session)",
    ),
    (
        "one asked part asks",
        Plain,
        &["allow session Bash", "ask session Bash(rm:*)"],
        "Bash",
        "ls; rm x",
        Ask,
        "Bash(rm:*) (session)",
    ),
    (
        "a denied part within a substitution",
        Plain,
        &["deny session Bash(rm:*)"],
        "Bash",
        "echo $(rm x)",
        Deny,
        "Bash(rm:*) (session)",
    ),
    (
        "a denied part behind sudo",
        Plain,
        &["deny session Bash(rm:*)"],
        "Bash",
        "sudo rm x",
        Deny,
        "Bash(rm:*) (session)",
    ),
    ("an uncovered part is asked about", Plain, NPM, "Bash", "npm test && rm -rf /", Ask, "no rule"),
    ("the other way round too", Plain, NPM, "Bash", "rm -rf / && npm test", Ask, "no rule"),
    (
        "parts covered by one rule",
        Plain,
        NPM,
        "Bash",
        "npm ci && npm test",
        Allow,
        "Bash(npm:*) (projectSettings)",
    ),
    (
        "parts covered by several",
        Plain,
        TWO,
        "Bash",
        "npm ci; git status",
        Allow,
        "Bash(npm:*) (userSettings) + Bash(git status) (cliArg)",
    ),
    ("pipes are parts too", Plain, NPM, "Bash", "npm ls | sh", Ask, "no rule"),
    ("a prefix does not cover a substitution", Plain, NPM, "Bash", "npm run $(x)", Ask, "no rule"),
    (
        "any use covers a loop (98)",
        Plain,
        &["allow cliArg Bash"],
        "Bash",
        "for i in $(seq 45); do sleep 1; done",
        Allow,
        "Bash (cliArg)",
    ),
    (
        "the whole text covers itself",
        Plain,
        &["allow session Bash(ls; x)"],
        "Bash",
        "ls; x",
        Allow,
        "Bash(ls; x) (session)",
    ),
    ("an assignment is not covered", Plain, NPM, "Bash", "LD_PRELOAD=x npm test", Ask, "no rule"),
    (
        "copies of output are covered",
        Plain,
        GIT,
        "Bash",
        "git status 2>&1 > /dev/null",
        Allow,
        "Bash(git status) (userSettings)",
    ),
    ("a written file is not", Plain, NPM, "Bash", "npm test > out.txt", Ask, "no rule"),
    (
        "unless a rule lets it be written",
        Plain,
        WRITE,
        "Bash",
        "echo x > out/a",
        Allow,
        "Bash(echo:*) (userSettings) + Edit(out/**) (userSettings)",
    ),
    ("and only there", Plain, WRITE, "Bash", "echo x > other/a", Ask, "no rule"),
    (
        "a denied file is denied to the shell",
        Plain,
        &["allow session Bash", "deny session Edit(.env)"],
        "Bash",
        "echo x > .env",
        Deny,
        "Edit(.env) (session)",
    ),
    (
        "quoted operators are text",
        Plain,
        &["deny session Bash(rm:*)"],
        "Bash",
        "npm run 'a; rm x'",
        Ask,
        "no rule",
    ),
];

fn tables() -> impl Iterator<Item = &'static Case> {
    MODES.iter().chain(RULES).chain(STEPS).chain(PARTS)
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
    for (name, mode, rules, tool, subject, decision, by) in tables() {
        let (context, input) = (context(*mode, rules), input(tool, subject));
        let outcome = check(&context, &Call { tool, input: &input, cwd: Some("/home/dev/project") });
        assert_eq!(
            (outcome.decision, outcome.by.to_string().as_str()),
            (*decision, *by),
            "{name}: {outcome:?}"
        );
    }
}

#[test]
fn the_table_is_large_enough_and_has_every_mode_scope_and_tool() {
    assert!(tables().count() >= 100, "{}", tables().count());
    let names: std::collections::BTreeSet<&str> = tables().map(|case| case.0).collect();
    assert_eq!(names.len(), tables().count(), "each name once");
    for mode in Mode::ALL {
        assert!(tables().any(|case| case.1 == *mode), "{mode}");
    }
    for scope in Scope::ALL {
        assert!(tables().any(|case| case.6.contains(&format!("({scope})"))), "{scope}");
    }
    for decision in [Allow, Deny, Ask, Tool] {
        assert!(tables().filter(|case| case.5 == decision).count() >= 8, "{decision}");
    }
}

#[test]
fn each_step_is_named() {
    let step = |mode, rules: &[&str], tool: &str, subject: &str| {
        let (context, input) = (context(mode, rules), input(tool, subject));
        check(&context, &Call { tool, input: &input, cwd: Some("/p") }).step
    };
    assert_eq!(step(Plain, ORDER, "Bash", "npm ci"), Step::Deny);
    assert_eq!(step(Plain, ASK_ALLOW, "Bash", "npm ci"), Step::Ask);
    assert_eq!(step(Plain, &[], "Read", "a"), Step::Tool);
    assert_eq!(step(Plain, &[], "ExitPlanMode", ""), Step::Interaction);
    assert_eq!(step(Edits, &[], "Edit", "a"), Step::Mode);
    assert_eq!(step(Plain, NPM, "Bash", "npm ci"), Step::Allow);
    assert_eq!(step(DontAsk, &[], "Bash", "npm ci"), Step::Default);
    let order =
        [Step::Deny, Step::Ask, Step::Tool, Step::Interaction, Step::Mode, Step::Allow, Step::Default];
    assert!(order.is_sorted());
}

#[test]
fn plan_with_bypass_available_allows() {
    let mut context = context(Plan, &["deny session Bash(rm:*)"]);
    context.bypass_available = true;
    let decision = |subject: &str| {
        check(&context, &Call { tool: "Bash", input: &input("Bash", subject), cwd: None }).decision
    };
    assert_eq!(decision("npm test"), Allow);
    assert_eq!(decision("rm x"), Deny, "rules that deny come first");
}

#[test]
fn where_nobody_can_be_asked_a_question_is_a_refusal() {
    let mut context = context(Plain, NPM);
    context.avoid_prompts = true;
    let outcome = |subject: &str| {
        let outcome = check(&context, &Call { tool: "Bash", input: &input("Bash", subject), cwd: None });
        (outcome.decision, outcome.by.to_string())
    };
    // Recordings 34 and 88.
    assert_eq!(outcome("touch denied.txt"), (Deny, "nobody to ask".to_owned()));
    assert_eq!(outcome("npm test").0, Allow);
    assert_eq!(outcome("ls").0, Tool);
}

#[test]
fn further_folders_count_as_the_project() {
    let mut context = context(Edits, &[]);
    let write = input("Write", "/srv/extra/a");
    let call = Call { tool: "Write", input: &write, cwd: Some("/home/dev/project") };
    assert_eq!(check(&context, &call).decision, Tool);
    context.directories.push(("/srv/extra".to_owned(), Scope::Session));
    assert_eq!(check(&context, &call).decision, Allow);
}

#[test]
fn rules_that_are_about_no_call_are_named() {
    let context =
        context(Plain, &["allow session Bash(npm:*)", "deny userSettings Read(.env)", "ask cliArg Write"]);
    let inputs = [input("Bash", "ls && npm test"), input("Read", "a/.env")];
    let calls = [("Bash", &inputs[0]), ("Read", &inputs[1])];
    let calls = calls.map(|(tool, input)| Call { tool, input, cwd: Some("/p") });
    let left: Vec<String> = unmatched(&context, calls).iter().map(|placed| placed.rule.to_string()).collect();
    assert_eq!(left, ["Write"]);
    assert_eq!(unmatched(&context, []).len(), 3);
}
