//! Decides whether files may be read and written: by the working folders and by allow rules for paths.

use super::{
    context::{Context, ScopedRule},
    path::{below, resolve},
    pattern::{Folders, RuleRole},
    protect::is_protected,
    scope::{Behaviour, Mode},
    shell::Word,
};

/// The folders of a call and the context with the rules.
pub(super) struct Workspace<'c, 'g> {
    pub(super) context: &'c Context,
    pub(super) folders: &'g Folders,
}

/// The location of a path relative to the working folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Area {
    /// In a working folder.
    Inside,
    /// In no working folder.
    Outside,
    /// The working folders are unknown.
    Unknown,
}

impl<'c> Workspace<'c, '_> {
    /// Returns where a resolved path is.
    pub(super) fn area_of(&self, path: &str) -> Area {
        let project = self.folders.project.as_deref();
        let further = self.context.directories.iter().filter_map(|(folder, _)| resolve(folder, project));
        let mut folders = further.chain(project.map(str::to_owned));
        match project {
            _ if folders.any(|folder| below(path, &folder).is_some()) => Area::Inside,
            Some(_) => Area::Outside,
            None => Area::Unknown,
        }
    }

    /// Returns where a path as written is. A relative path counts as inside if the working folder is unknown,
    /// unless it has `..`.
    pub(super) fn area_of_unresolved(&self, path: &str) -> Area {
        match self.folders.resolve(path) {
            Some(path) => self.area_of(&path),
            None if path.split('/').any(|name| name == "..") => Area::Unknown,
            None => Area::Inside,
        }
    }

    /// Returns an allow rule of one of these tools that matches a path.
    pub(super) fn allow_rule(&self, tools: &[&str], path: &str) -> Option<ScopedRule<'c>> {
        let path = self.folders.resolve(path)?;
        let fits = |scoped: &ScopedRule<'_>| {
            let role = RuleRole { behaviour: Behaviour::Allow, scope: scoped.scope };
            tools.contains(&scoped.rule.tool.as_str()) && scoped.rule.matches_path(&path, self.folders, role)
        };
        self.context.rules(Behaviour::Allow).find(fits)
    }

    /// Returns whether a command may read or write a file, and the rule that allows it if one is needed: `Read` or
    /// `Edit`.
    pub(super) fn may_use(&self, tool: &str, word: &Word) -> Option<Option<ScopedRule<'c>>> {
        let path = word_path(word)?;
        match self.area_of_unresolved(&path) {
            Area::Inside => Some(None),
            Area::Outside | Area::Unknown => self.allow_rule(&[tool], &path).map(Some),
        }
    }

    /// Returns whether a redirection may write a file: inside the working folders in `acceptEdits`, otherwise
    /// by a rule.
    pub(super) fn may_redirect(&self, word: &Word) -> Option<Option<ScopedRule<'c>>> {
        let path = word_path(word)?;
        let accepts = self.context.mode == Mode::AcceptEdits && !is_protected(&path);
        if accepts && self.area_of_unresolved(&path) == Area::Inside {
            return Some(None);
        }
        self.allow_rule(&["Edit"], &path).map(Some)
    }
}

/// Returns the path that a word of a command names; for a pattern, the folder that contains all its files.
pub(super) fn word_path(word: &Word) -> Option<String> {
    let text = word.text.as_str();
    if word.raw.starts_with('~') && !(text == "~" || text.starts_with("~/")) {
        return None;
    }
    if !word.has_pattern {
        return Some(text.to_owned());
    }
    let fixed: Vec<&str> = text.split('/').take_while(|name| !name.contains(['*', '?', '['])).collect();
    Some(match fixed.join("/") {
        fixed if fixed.is_empty() && text.starts_with('/') => "/".to_owned(),
        fixed if fixed.is_empty() => ".".to_owned(),
        fixed => fixed,
    })
}
