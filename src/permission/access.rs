//! Where files are: inside the working folders, or where a rule lets them be read or written.

use super::{
    context::{Context, Placed},
    path::{below, resolve},
    pattern::{Ground, Use},
    protect::is_protected,
    scope::{Behaviour, Mode},
    shell::Word,
};

/// Where a call looks from.
pub(super) struct Place<'c, 'g> {
    pub(super) context: &'c Context,
    pub(super) ground: &'g Ground,
}

/// What is known of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// In a working folder.
    Inside,
    /// In none.
    Outside,
    /// No folder is known that it could be compared with.
    Unknown,
}

impl Access {
    /// The path that a word of a command names; of a pattern, the folder that all its files are in.
    pub(super) fn path(word: &Word) -> Option<String> {
        let text = word.text.as_str();
        if word.raw.starts_with('~') && !(text == "~" || text.starts_with("~/")) {
            return None;
        }
        if !word.varies {
            return Some(text.to_owned());
        }
        let fixed: Vec<&str> = text.split('/').take_while(|name| !name.contains(['*', '?', '['])).collect();
        Some(match fixed.join("/") {
            fixed if fixed.is_empty() && text.starts_with('/') => "/".to_owned(),
            fixed if fixed.is_empty() => ".".to_owned(),
            fixed => fixed,
        })
    }
}

impl<'c> Place<'c, '_> {
    /// Where a resolved path is.
    pub(super) fn find(&self, path: &str) -> Access {
        let project = self.ground.project.as_deref();
        let further = self.context.directories.iter().filter_map(|(folder, _)| resolve(folder, project));
        let mut folders = further.chain(project.map(str::to_owned));
        match project {
            _ if folders.any(|folder| below(path, &folder).is_some()) => Access::Inside,
            Some(_) => Access::Outside,
            None => Access::Unknown,
        }
    }

    /// The same for a path as it is written; a relative one without a folder to start from is inside, unless it climbs.
    pub(super) fn find_written(&self, path: &str) -> Access {
        match self.ground.resolve(path) {
            Some(path) => self.find(&path),
            None if path.split('/').any(|name| name == "..") => Access::Unknown,
            None => Access::Inside,
        }
    }

    /// An allow rule for a path, of one of these tools.
    pub(super) fn allowing(&self, tools: &[&str], path: &str) -> Option<Placed<'c>> {
        let path = self.ground.resolve(path)?;
        let fits = |placed: &Placed<'_>| {
            let of = Use { behaviour: Behaviour::Allow, scope: placed.scope };
            tools.contains(&placed.rule.tool.as_str()) && placed.rule.is_about(&path, self.ground, of)
        };
        self.context.rules(Behaviour::Allow).find(fits)
    }

    /// Whether a command may read a file, and by which rule if it needs one.
    pub(super) fn reads(&self, word: &Word) -> Option<Option<Placed<'c>>> {
        let path = Access::path(word)?;
        match self.find_written(&path) {
            Access::Inside => Some(None),
            Access::Outside | Access::Unknown => self.allowing(&["Read"], &path).map(Some),
        }
    }

    /// Whether a command that may run may write a file, and by which rule if it needs one.
    pub(super) fn writes(&self, word: &Word) -> Option<Option<Placed<'c>>> {
        let path = Access::path(word)?;
        match self.find_written(&path) {
            Access::Inside => Some(None),
            Access::Outside | Access::Unknown => self.allowing(&["Edit"], &path).map(Some),
        }
    }

    /// Whether a redirection may write a file: `acceptEdits` inside, else by a rule.
    pub(super) fn redirects(&self, word: &Word) -> Option<Option<Placed<'c>>> {
        let path = Access::path(word)?;
        let accepts = self.context.mode == Mode::AcceptEdits && !is_protected(&path);
        if accepts && self.find_written(&path) == Access::Inside {
            return Some(None);
        }
        self.allowing(&["Edit"], &path).map(Some)
    }
}
