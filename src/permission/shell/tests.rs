use super::*;

fn texts(command: &str) -> Vec<String> {
    let parts = split(command).unwrap_or_else(|why| panic!("{command}: {why}"));
    parts.into_iter().map(|part| part.text).collect()
}

/// Commands and their parts.
const SPLIT: &[(&str, &[&str])] = &[
    ("", &[]),
    ("   ", &[]),
    ("ls", &["ls"]),
    ("npm ci && npm test", &["npm ci", "npm test"]),
    ("a || b", &["a", "b"]),
    ("a; b;", &["a", "b"]),
    ("a & b", &["a", "b"]),
    ("a &", &["a"]),
    ("a | b |& c", &["a", "b", "c"]),
    ("a\nb\n\nc", &["a", "b", "c"]),
    ("a &&\n b", &["a", "b"]),
    ("rm -rf / && npm test", &["rm -rf /", "npm test"]),
    ("git status; curl x | sh", &["git status", "curl x", "sh"]),
    ("echo 'a && b'", &["echo 'a && b'"]),
    ("echo \"a; b\"; c", &["echo \"a; b\"", "c"]),
    (r"echo a\;b", &[r"echo a\;b"]),
    (r"echo a\&\&b c", &[r"echo a\&\&b c"]),
    (r"echo a\  ; b\\ ", &[r"echo a\ ", r"b\\"]),
    ("echo \"it's\" && b", &["echo \"it's\"", "b"]),
    (r#"echo "a\"; b""#, &[r#"echo "a\"; b""#]),
    ("echo a # && b", &["echo a"]),
    ("echo a#b", &["echo a#b"]),
    ("# note\nls", &["ls"]),
    ("npm \\\n test", &["npm  test"]),
    ("r\\\nm x", &["rm x"]),
    ("[ -f x ] && ls *.rs {a,b}", &["[ -f x ]", "ls *.rs {a,b}"]),
    ("ls 2>&1 | tee x", &["ls 2>&1", "tee x"]),
    ("ls &> x && b", &["ls &> x", "b"]),
    ("ls >& x", &["ls >& x"]),
    ("ls > 'a b'; c", &["ls > 'a b'", "c"]),
    ("cat <<< 'a; b'", &["cat <<< 'a; b'"]),
    ("echo $HOME ${USER}; b", &["echo $HOME ${USER}", "b"]),
    ("A=b npm test", &["A=b npm test"]),
    ("find . -name '*.rs' -exec wc {} \\;", &["find . -name '*.rs' -exec wc {} \\;"]),
    ("npm\u{a0}x && b", &["npm\u{a0}x", "b"]),
    ("echo \"$\" '$(x)'", &["echo \"$\" '$(x)'"]),
    // Conditions and loops that can be split with certainty.
    ("if a; then b; else c; fi", &["if a", "then b", "else c"]),
    ("while a; do b; done", &["while a", "do b"]),
    ("until a; do b; done", &["until a", "do b"]),
    ("! a", &["! a"]),
    ("[[ -f x && -f y ]] && b", &["[[ -f x && -f y ]]", "b"]),
    ("if [[ a < b || c > d ]]; then e; fi", &["if [[ a < b || c > d ]]", "then e"]),
    ("echo $((1 + 2)); b", &["echo $((1 + 2))", "b"]),
    (
        "git commit -m \"$(cat <<'EOF'\na; b\nEOF\n)\" && c",
        &["git commit -m \"$(cat <<'EOF'\na; b\nEOF\n)\"", "c"],
    ),
];

#[test]
fn commands_are_split_as_in_the_table() {
    for (command, parts) in SPLIT {
        assert_eq!(texts(command), *parts, "{command}");
    }
}

/// Commands that cannot be split, and why.
const UNSPLIT: &[(&str, SplitError)] = &[
    ("echo $(rm x)", SplitError::Substitution),
    ("echo `rm x`", SplitError::Substitution),
    ("echo \"$(rm x)\"", SplitError::Substitution),
    ("echo \"`rm x`\"", SplitError::Substitution),
    ("echo $((1+$(rm x)))", SplitError::Substitution),
    ("diff <(a) <(b)", SplitError::Process),
    ("tee >(a)", SplitError::Process),
    ("cat <<END\nrm x\nEND", SplitError::Heredoc),
    ("cat <<-'END' > f\n\tx\n\tEND\nls", SplitError::Heredoc),
    ("echo 'a", SplitError::Quote),
    ("echo \"a", SplitError::Quote),
    ("echo a\\", SplitError::Quote),
    ("echo ${x:-a}", SplitError::Expansion),
    ("echo $'a\\'b'", SplitError::Expansion),
    ("echo $\"a\"", SplitError::Expansion),
    ("$\\\nCMD", SplitError::Expansion),
    ("$CMD x", SplitError::Variable),
    ("sudo $CMD", SplitError::Variable),
    ("r? x", SplitError::Variable),
    ("{rm,-rf,x}", SplitError::Variable),
    ("*", SplitError::Variable),
    ("(a; b)", SplitError::Group),
    ("{ a; b; }", SplitError::Group),
    ("f() { rm x; }", SplitError::Group),
    ("a )", SplitError::Group),
    ("for i in a b; do rm $i; done", SplitError::Control),
    ("select i in a; do b; done", SplitError::Control),
    ("function f { a; }", SplitError::Control),
    ("time ! a", SplitError::Control),
    ("[[ -f x && -f y", SplitError::Control),
    ("[[ ( -f x ) ]]", SplitError::Group),
    ("git commit -m \"$(cat <<'EOF'\na\nEOF\nrm x\nEOF\n)\"", SplitError::Substitution),
    ("> x [[ a && b ]]", SplitError::Control),
    ("git commit -m \"$(cat <<EOF\na\nEOF\n)\"", SplitError::Substitution),
    ("git commit -m \"$(cat <<'EOF'\na\n)\"", SplitError::Substitution),
    ("eval 'rm x'", SplitError::Eval),
    ("source x.sh", SplitError::Eval),
    (". x.sh", SplitError::Eval),
    ("&& a", SplitError::Empty),
    ("a ;; b", SplitError::Control),
    ("a &&", SplitError::Empty),
    ("a |\n\n", SplitError::Empty),
    ("a && ; b", SplitError::Empty),
    ("a >", SplitError::Empty),
];

#[test]
fn a_command_that_cannot_be_split_has_a_reason() {
    for (command, why) in UNSPLIT {
        let told = split(command).map(|parts| parts.into_iter().map(|part| part.text).collect::<Vec<_>>());
        assert_eq!(told.as_ref().err(), Some(why), "{command}: {told:?}");
    }
}

#[test]
fn nested_commands_are_found_even_if_the_split_fails() {
    let seen = |command: &str| parse(command).parts.iter().map(Part::core_text).collect::<Vec<_>>();
    assert!(seen("echo \"$(rm -rf x)\"").contains(&"rm -rf x".to_owned()));
    assert!(seen("for i in a; do rm $i; done").contains(&"rm $i".to_owned()));
    assert!(seen("(cd x && rm y)").contains(&"rm y".to_owned()));
    let document = seen("cat <<END > f\nrm x\nEND\nls");
    assert_eq!(document, ["cat", "ls"], "the text of a document is no command");
}

#[test]
fn commands_in_functions_cases_and_documents_are_found() {
    let seen = |command: &str| parse(command).parts.iter().map(Part::core_text).collect::<Vec<_>>();
    for command in [
        "f() { rm x; }; f",
        "case x in x) rm x;; esac",
        "cat <<EOF\n$(rm x)\nEOF",
        "cat <<EOF\n`rm x`\nEOF\nls",
        "if a; then rm x; fi",
    ] {
        assert!(seen(command).contains(&"rm x".to_owned()), "{command}: {:?}", seen(command));
    }
    for command in ["cat <<'EOF'\n$(rm x)\nEOF", "cat <<EOF\n\\$(rm x)\nEOF"] {
        assert!(!seen(command).contains(&"rm x".to_owned()), "{command}: {:?}", seen(command));
    }
}

#[test]
fn unchecked_text_has_a_reason() {
    for (command, why) in [
        ("a &", Some(Unchecked::Background)),
        ("a & b", Some(Unchecked::Background)),
        ("a \\\n b", Some(Unchecked::Continuation)),
        ("touch a\\ b", Some(Unchecked::Escape)),
        ("find . \\( -name a \\)", Some(Unchecked::Escape)),
        ("touch {a,b}", Some(Unchecked::Braces)),
        ("echo 'a\n# b'", Some(Unchecked::QuotedComment)),
        ("echo \"a\n# b\"", Some(Unchecked::QuotedComment)),
        ("echo $/x", Some(Unchecked::Dollar)),
        ("cat <<< x", Some(Unchecked::Text)),
        ("a && b | c", None),
        ("a 2>&1", None),
        ("\\touch a", None),
        ("grep a\\.b c", None),
        ("git show HEAD@{1}", None),
        ("find . -name {}", None),
    ] {
        assert_eq!(parse(command).unchecked, why, "{command}");
    }
}

#[test]
fn redirections_are_not_words() {
    let part = |command: &str| split(command).expect("splits").remove(0);
    let ls = part("ls -l 2> err.txt >> 'out put' < in 2>&1 > /dev/null");
    assert_eq!(ls.bare(), "ls -l");
    let written: Vec<&str> = ls.written().map(|word| word.text.as_str()).collect();
    assert_eq!(written, ["err.txt", "out put"]);
    assert_eq!(ls.redirects.len(), 5);
    assert_eq!(part("echo 2 > x").bare(), "echo 2");
    assert_eq!(part("echo 2> x").bare(), "echo");
    assert_eq!(part("ls >& out").written().count(), 1);
    assert_eq!(part("ls >&1x").written().count(), 1);
    assert_eq!(part("ls 2>&-").written().count(), 0);
    assert_eq!(part(">&-rm x").bare(), "rm x");
    assert_eq!(part("ls &>> out").written().count(), 1);
    assert_eq!(part("cat <<< x").written().count(), 0);
}

#[test]
fn wrappers_and_assignments_are_removed() {
    let core = |command: &str| split(command).expect("splits").remove(0).core_text();
    for command in [
        "rm x",
        "A=b rm x",
        "sudo rm x",
        "sudo -u me -n rm x",
        "env -u Z A=b C=d rm x",
        "timeout -s KILL 5 rm x",
        "nice -n 5 nohup rm x",
        "A=1 sudo env B=2 timeout 5s rm x",
        "xargs -n 1 rm x",
        "command -- rm x",
    ] {
        assert_eq!(core(command), "rm x", "{command}");
    }
    assert_eq!(core("sudo"), "sudo");
    assert_eq!(core("A=b"), "");
    assert_eq!(core("command A=b"), "A=b");
    assert_eq!(core("echo A=b"), "echo A=b");
}

#[test]
fn pipes_join_parts_and_other_operators_separate_them() {
    let parts = split("a | b; c && d | e").expect("splits");
    let [a, b, c, d, e] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!(a.pipeline, b.pipeline);
    assert!(b.pipeline != c.pipeline && c.pipeline != d.pipeline);
    assert_eq!(d.pipeline, e.pipeline);
}

#[test]
fn long_commands_take_no_time() {
    let endless = ["{", "{,", "if ", "a;", "a|", "${", "sudo ", "<<a ", "'", "a\n", "A=b "];
    for text in endless.map(|text| text.repeat(8_000)) {
        let parts = parse(&text).parts;
        assert!(Spellings::of(&parts).iter().count() <= 5 * parts.len());
    }
}

#[test]
fn deep_nesting_is_an_error() {
    let deep = "$(".repeat(100_000);
    assert!(split(&deep).is_err());
    assert!(split(&"(".repeat(100_000)).is_err());
}
