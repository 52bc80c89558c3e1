//! Behaviours, scopes and modes: the enums of the permission system.

/// Declares an enum with the name that each variant has in settings and on the wire.
macro_rules! wire_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)+ }) => {
        names! {
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum $name { $($(#[$about])* $variant = $word,)+ }
        }

        impl $name {
            /// Returns the variant with this name.
            pub fn named(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

wire_enum! {
    /// The effect of a rule (5.3). `passthrough`, the fourth behaviour of the specification, means that no rule
    /// matched.
    Behaviour {
        /// The tool may run.
        Allow = "allow",
        /// The tool may not run.
        Deny = "deny",
        /// A person is asked, whatever the mode says.
        Ask = "ask",
    }
}

wire_enum! {
    /// The settings that store a rule (5.4), in the order of the specification, in which rules are searched.
    ///
    /// The order decides only which of several matching rules is named: a deny rule wins in every scope.
    Scope {
        /// Approved during the session, and only valid in it.
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
        /// Managed settings of the organisation, read-only.
        Policy = "policySettings",
        /// Settings given with `--settings`, read-only.
        Flag = "flagSettings",
    }
}

impl Scope {
    /// Returns whether a session cannot change rules of this scope (5.4).
    pub fn is_read_only(self) -> bool {
        matches!(self, Self::Policy | Self::Flag)
    }
}

wire_enum! {
    /// The permission mode (5.1): what happens to calls that no rule decides.
    Mode {
        /// Asks, unless the tool needs no permission.
        Default = "default",
        /// Allows edits in the working folders too.
        AcceptEdits = "acceptEdits",
        /// Allows everything that no rule denies or asks about.
        BypassPermissions = "bypassPermissions",
        /// Analysis only: asks about edits.
        Plan = "plan",
        /// Asks like `default`.
        Delegate = "delegate",
        /// Denies where other modes ask.
        DontAsk = "dontAsk",
        /// A classifier answers where other modes ask. Not in the specification, but declared by 2.1.325.
        Auto = "auto",
    }
}

impl Mode {
    /// Returns the mode whose name is most similar to a misspelled one.
    pub fn nearest(word: &str) -> Self {
        let likeness = |mode: &Self| {
            let (mode, word) = (mode.name().to_lowercase(), word.to_lowercase());
            (strsim::jaro_winkler(&mode, &word) * 1000.0) as u32
        };
        Self::ALL.into_iter().max_by_key(likeness).unwrap_or(Self::Default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_order_are_those_of_the_specification() {
        let words: Vec<&str> = Scope::ALL.iter().map(|scope| scope.name()).collect();
        let files = ["localSettings", "projectSettings", "userSettings", "policySettings", "flagSettings"];
        assert_eq!(words, [&["session", "cliArg", "command"][..], &files].concat());
        assert_eq!(Mode::ALL.len(), 7);
        assert_eq!(Behaviour::named("ask"), Some(Behaviour::Ask));
        assert_eq!(Behaviour::named("passthrough"), None, "no rule has it");
        for mode in Mode::ALL {
            assert_eq!(Mode::named(mode.name()), Some(mode));
        }
    }

    #[test]
    fn the_most_similar_mode_is_found() {
        assert_eq!(Mode::nearest("acceptedits"), Mode::AcceptEdits);
        assert_eq!(Mode::nearest("bypass"), Mode::BypassPermissions);
        assert_eq!(Mode::nearest("dont-ask"), Mode::DontAsk);
    }

    #[test]
    fn managed_and_given_settings_are_read_only() {
        let read_only: Vec<_> = Scope::ALL.iter().filter(|scope| scope.is_read_only()).collect();
        assert_eq!(read_only, [&Scope::Policy, &Scope::Flag]);
    }
}
