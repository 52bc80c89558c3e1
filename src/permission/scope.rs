//! Words of the permission system: behaviours, scopes, modes.

use std::fmt;

/// Declares an enum whose variants have the names of the wire.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$about])* $variant,)+ }

        impl $name {
            /// All, in their order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Its name in settings and on the wire.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The one with this name.
            pub fn named(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.word() == word)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

words! {
    /// What a rule does (5.3). The fourth of the specification, `passthrough`, is no rule's: it says that none matched.
    Behaviour {
        /// The tool may run.
        Allow = "allow",
        /// The tool may not run.
        Deny = "deny",
        /// A person is asked, whatever the mode says.
        Ask = "ask",
    }
}

words! {
    /// Where a rule is kept (5.4), in the order of the specification: that in which rules are looked through.
    ///
    /// The order decides only which of several matching rules is named: a rule that denies wins wherever it stands.
    Scope {
        /// Approved during the session, forgotten with it.
        Session = "session",
        /// `--allowed-tools` and `--disallowed-tools`.
        CliArg = "cliArg",
        /// `allowed-tools` of a slash command (9.3).
        Command = "command",
        /// `.claude/settings.local.json`.
        Local = "localSettings",
        /// `.claude/settings.json` of the project.
        Project = "projectSettings",
        /// `settings.json` of the user.
        User = "userSettings",
        /// Rules of the organisation, read only.
        Policy = "policySettings",
        /// Settings given at the start, read only.
        Flag = "flagSettings",
    }
}

impl Scope {
    /// Whether a session may not change it (5.4).
    pub fn is_read_only(self) -> bool {
        matches!(self, Self::Policy | Self::Flag)
    }
}

words! {
    /// How much is asked (5.1).
    Mode {
        /// Asks for every tool that does not decide for itself.
        Default = "default",
        /// Lets safe tools and edits through.
        AcceptEdits = "acceptEdits",
        /// Lets everything through.
        BypassPermissions = "bypassPermissions",
        /// Analysis only.
        Plan = "plan",
        /// Asks like `default`.
        Delegate = "delegate",
        /// Refuses what would be asked.
        DontAsk = "dontAsk",
        /// A classifier answers what would be asked. Not in the specification, but declared by 2.1.325.
        Auto = "auto",
    }
}

impl Mode {
    /// The name most like a misspelt one.
    pub fn nearest(word: &str) -> Self {
        let likeness = |mode: &Self| {
            let (mode, word) = (mode.word().to_lowercase(), word.to_lowercase());
            (strsim::jaro_winkler(&mode, &word) * 1000.0) as u32
        };
        Self::ALL.iter().copied().max_by_key(likeness).unwrap_or(Self::Default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_specification_in_its_order() {
        let words: Vec<&str> = Scope::ALL.iter().map(|scope| scope.word()).collect();
        let files = ["localSettings", "projectSettings", "userSettings", "policySettings", "flagSettings"];
        assert_eq!(words, [&["session", "cliArg", "command"][..], &files].concat());
        assert_eq!(Mode::ALL.len(), 7);
        assert_eq!(Behaviour::named("ask"), Some(Behaviour::Ask));
        assert_eq!(Behaviour::named("passthrough"), None, "it is no rule's");
        for mode in Mode::ALL {
            assert_eq!(Mode::named(mode.word()), Some(*mode));
        }
    }

    #[test]
    fn the_nearest_mode_is_told() {
        assert_eq!(Mode::nearest("acceptedits"), Mode::AcceptEdits);
        assert_eq!(Mode::nearest("bypass"), Mode::BypassPermissions);
        assert_eq!(Mode::nearest("dont-ask"), Mode::DontAsk);
    }

    #[test]
    fn rules_of_the_organisation_are_read_only() {
        let read_only: Vec<_> = Scope::ALL.iter().filter(|scope| scope.is_read_only()).collect();
        assert_eq!(read_only, [&Scope::Policy, &Scope::Flag]);
    }
}
