//! `--sort`, `--limit` and `--columns`: order, number of rows and selection of columns, for every report of
//! rows.

use std::cmp::Ordering;

use super::{Data, FollowUp, Head, LEFT_OUT, Reader, Report, Section, Shown, Table, Value};

/// Rows on screen once a table with its own screen limit is sorted.
const USUAL_ROWS: usize = 30;

/// Requested order, number of rows and columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrangement {
    /// Column to sort by; `None` for the report's own order.
    pub sort: Option<Sort>,
    /// Maximum number of rows, 0 for all; `None` for all rows in data and a screenful for people.
    pub limit: Option<usize>,
    /// Keys of the columns, in this order; `None` for the default columns of the format.
    pub columns: Option<Vec<String>>,
}

/// A column to sort by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    /// Key of the column.
    pub key: String,
    /// Order; `None` for the default of the unit: numbers and times descending, texts ascending.
    pub order: Option<Order>,
}

/// Sort order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

/// `KEY`, `KEY:asc` or `KEY:desc`.
impl std::str::FromStr for Sort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, order) = match text.split_once(':') {
            None => (text, None),
            Some((key, "asc")) => (key, Some(Order::Ascending)),
            Some((key, "desc")) => (key, Some(Order::Descending)),
            Some((key, other)) => {
                return Err(format!("unknown order `{other}`; use `{key}:asc` or `{key}:desc`"));
            }
        };
        Ok(Self { key: key.to_owned(), order })
    }
}

/// A requested column does not exist, or is not the only one with this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} column `{key}`{}; available: {}",
    if several.is_empty() { "unknown" } else { "ambiguous" },
    hint(several, *nearest),
    keys.join(", ")
)]
pub struct UnknownColumn {
    /// The requested key.
    pub key: String,
    /// The key that it may be a misspelling of.
    pub nearest: Option<&'static str>,
    /// Keys of the columns that it is the beginning of.
    pub several: Vec<&'static str>,
    pub keys: Vec<&'static str>,
}

fn hint(several: &[&'static str], nearest: Option<&'static str>) -> String {
    match (several, nearest) {
        ([], None) => String::new(),
        ([], Some(nearest)) => format!(" (did you mean `{nearest}`?)"),
        (several, _) => format!(": it begins {}", several.join(", ")),
    }
}

impl Arrangement {
    /// Replaces headings and beginnings of names by the keys of these columns. Called before any log is read.
    pub fn resolved(mut self, heads: &[Head]) -> Result<Self, UnknownColumn> {
        let names = self.sort.iter_mut().map(|sort| &mut sort.key).chain(self.columns.iter_mut().flatten());
        for name in names {
            heads[position(heads, name)?].key.clone_into(name);
        }
        Ok(self)
    }

    /// Whether it names this column.
    pub fn names(&self, key: &str) -> bool {
        self.keys().any(|own| own == key)
    }

    fn keys(&self) -> impl Iterator<Item = &String> {
        self.sort.iter().map(|sort| &sort.key).chain(self.columns.iter().flatten())
    }
}

impl Report {
    /// Sorts, limits and selects columns. Reports without rows are returned unchanged.
    pub fn arranged(mut self, arrangement: &Arrangement) -> Result<Self, UnknownColumn> {
        let table = match self.data {
            Data::Rows(table) => table.sorted(arrangement)?,
            Data::Tree(_) | Data::Bare(_) => return Ok(self),
        };
        let first = table.first_session(&self.reader);
        self.data = Data::Rows(table.cut(arrangement)?);
        for section in &mut self.screen {
            if let Section::ScreenRows(table) = section {
                *table = table.clone().sorted(arrangement)?.cut(arrangement)?;
            }
        }
        Ok(self.with_commands(&|command| match (command, &first) {
            (FollowUp::FirstSession, Some(first)) => first.clone(),
            (command, _) => command.clone(),
        }))
    }
}

impl Table {
    #[cfg(test)]
    fn arranged(self, arrangement: &Arrangement) -> Result<Self, UnknownColumn> {
        self.sorted(arrangement)?.cut(arrangement)
    }

    fn sorted(mut self, arrangement: &Arrangement) -> Result<Self, UnknownColumn> {
        if let Some(sort) = &arrangement.sort {
            self.sort(sort)?;
        }
        Ok(self)
    }

    /// Applies the limit and selects columns.
    fn cut(mut self, arrangement: &Arrangement) -> Result<Self, UnknownColumn> {
        if let Some(limit) = arrangement.limit {
            self.limit(limit);
        }
        match &arrangement.columns {
            Some(keys) => self.picking(keys),
            None => Ok(self),
        }
    }

    /// The session of the first row that has one, with the shortest form of its id.
    fn first_session(&self, reader: &Reader) -> Option<FollowUp> {
        let at = position(&self.columns, "session").ok()?;
        let mut ids = self.rows.iter().filter_map(|row| match &row[at] {
            Value::Text(id) => Some(&**id),
            _ => None,
        });
        let id = ids.next()?;
        // A command to copy has no ellipsis: not every terminal can show it.
        let short = reader.short_id(id).filter(|short| !short.contains(LEFT_OUT));
        let short = short.unwrap_or_else(|| id.to_owned());
        Some(FollowUp::Session { id: id.to_owned(), short })
    }

    /// Sorts the rows. The sort is stable; missing values come last in both orders.
    fn sort(&mut self, sort: &Sort) -> Result<(), UnknownColumn> {
        let at = position(&self.columns, &sort.key)?;
        // The report's own limit belongs to its own order.
        if self.rest.take().is_some() {
            self.screen_rows = Some(USUAL_ROWS);
        }
        self.keeps_last = false;
        self.sorted_by = Some(self.columns[at].key);
        let usual = if self.columns[at].unit.descends() { Order::Descending } else { Order::Ascending };
        let order = sort.order.unwrap_or(usual);
        self.rows.sort_by(|one, two| match (&one[at], &two[at]) {
            (Value::Missing, Value::Missing) => Ordering::Equal,
            (Value::Missing, _) => Ordering::Greater,
            (_, Value::Missing) => Ordering::Less,
            (one, two) if order == Order::Descending => compare(two, one),
            (one, two) => compare(one, two),
        });
        Ok(())
    }

    /// Limits the rows. The total still covers all of them.
    fn limit(&mut self, limit: usize) {
        (self.screen_rows, self.rest) = (None, None);
        let left_out = self.rows.len().saturating_sub(limit);
        if limit > 0 && left_out > 0 {
            self.more = Some(self.left_out(left_out));
            if self.keeps_last {
                self.rows.drain(..left_out);
            } else {
                self.rows.truncate(limit);
            }
        }
    }

    /// Selects columns by key, in this order, and shows them to everyone.
    fn picking(self, keys: &[String]) -> Result<Self, UnknownColumn> {
        let mut places = Vec::new();
        for key in keys {
            let at = position(&self.columns, key)?;
            if !places.contains(&at) {
                places.push(at);
            }
        }
        let pick = |cells: Vec<Value>| places.iter().map(|&at| cells[at].clone()).collect();
        Ok(Self {
            columns: places.iter().map(|&at| Head { shown: Shown::Always, ..self.columns[at] }).collect(),
            rows: self.rows.into_iter().map(pick).collect(),
            total: self.total.map(pick),
            ..self
        })
    }
}

/// Finds a column by its key, its heading, or an unambiguous beginning of either. Upper case, spaces and dashes make no
/// difference.
fn position(heads: &[Head], name: &str) -> Result<usize, UnknownColumn> {
    let wanted = plain(name);
    let names = |head: &Head| [plain(head.key), plain(head.head)];
    let begins = |head: &Head| !wanted.is_empty() && names(head).iter().any(|name| name.starts_with(&wanted));
    if let Some(at) = heads.iter().position(|head| head.key == name) {
        return Ok(at);
    }
    if let Some(at) = heads.iter().position(|head| !wanted.is_empty() && names(head).contains(&wanted)) {
        return Ok(at);
    }
    let found: Vec<usize> = (0..heads.len()).filter(|&at| begins(&heads[at])).collect();
    if let [at] = found[..] {
        return Ok(at);
    }
    let keys: Vec<&'static str> = heads.iter().map(|head| head.key).collect();
    let several = found.iter().map(|&at| heads[at].key).collect();
    Err(UnknownColumn { key: name.to_owned(), nearest: nearest(&wanted, &keys), several, keys })
}

fn plain(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The key that differs from the typed one by a slip or two.
fn nearest(typed: &str, keys: &[&'static str]) -> Option<&'static str> {
    let near = keys.iter().filter(|key| is_slip(typed, &plain(key)));
    near.min_by_key(|key| strsim::damerau_levenshtein(typed, &plain(key))).copied()
}

/// Whether a word is a misspelling of another: one slip in four letters, at most two.
pub fn is_slip(typed: &str, meant: &str) -> bool {
    let (short, long) = (typed.chars().count(), meant.chars().count());
    let allowed = (short.max(long) / 4).clamp(1, 2);
    // The distance takes long for long words, and is at least the difference in length.
    short > 2 && short.abs_diff(long) <= allowed && strsim::damerau_levenshtein(typed, meant) <= allowed
}

/// Compares two values of one column.
fn compare(one: &Value, two: &Value) -> Ordering {
    match (one, two) {
        (Value::Text(one), Value::Text(two)) => one.cmp(two),
        (Value::Count(one) | Value::Bytes(one), Value::Count(two) | Value::Bytes(two)) => one.cmp(two),
        (Value::Usd(one), Value::Usd(two)) => one.cmp(two),
        (Value::Millis(one), Value::Millis(two)) => one.cmp(two),
        (Value::Time(one) | Value::Local(one, _), Value::Time(two) | Value::Local(two, _)) => one.cmp(two),
        (Value::Share(one), Value::Share(two)) => one.total_cmp(two),
        (Value::Flag(one), Value::Flag(two)) => one.cmp(two),
        (Value::Bar(from, to), Value::Bar(start, end)) => from.total_cmp(start).then(to.total_cmp(end)),
        (Value::List(one), Value::List(two)) => {
            let first = one.iter().zip(two).map(|(one, two)| compare(one, two)).find(|order| order.is_ne());
            first.unwrap_or(one.len().cmp(&two.len()))
        }
        // A column holds values of one unit or numbers of several units; anything else compares equal.
        _ => match (one.number(), two.number()) {
            (Some(one), Some(two)) => one.total_cmp(&two),
            _ => Ordering::Equal,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Column, Unit, heads};

    type Row = (&'static str, Option<u64>);

    const COLUMNS: &[Column<Row>] = &[
        Column::new(Unit::Text, "tool", "Tool", "A name.", |row| row.0.into()),
        Column::new(Unit::Count, "calls", "Calls", "A number.", |row| row.1.into()),
        Column::new(Unit::Count, "denied", "Denied", "Another.", |row: &Row| row.1.into()).shown(Shown::Data),
    ];

    const ROWS: &[Row] = &[("b", Some(1)), ("c", None), ("a", Some(3)), ("d", Some(1))];

    fn arranged(arrangement: &Arrangement) -> Result<Table, UnknownColumn> {
        let table = Table::of("Tools", COLUMNS, ROWS).with_total(COLUMNS, &("Total", Some(5)));
        let report = Report::of("tools", table, Vec::new()).arranged(arrangement)?;
        match report.data {
            Data::Rows(table) => Ok(table),
            Data::Tree(_) | Data::Bare(_) => unreachable!("it is made of rows"),
        }
    }

    fn names(sort: &str) -> String {
        let sort = Some(sort.parse().unwrap());
        let table = arranged(&Arrangement { sort, ..Arrangement::default() }).unwrap();
        let name = |row: &Vec<Value>| match &row[0] {
            Value::Text(name) => name.to_string(),
            other => panic!("{other:?}"),
        };
        table.rows.iter().map(name).collect()
    }

    #[test]
    fn numbers_are_sorted_from_above_and_texts_from_a_and_missing_is_last() {
        assert_eq!([names("calls"), names("calls:desc"), names("calls:asc")], ["abdc", "abdc", "bdac"]);
        assert_eq!([names("tool"), names("tool:desc")], ["abcd", "dcba"]);
        assert!("tool:up".parse::<Sort>().is_err());
    }

    #[test]
    fn a_limit_leaves_the_total_alone_and_says_what_is_left_out() {
        let table = arranged(&Arrangement { limit: Some(1), ..Arrangement::default() }).unwrap();
        assert_eq!((table.rows.len(), &table.total.unwrap()[1]), (1, &Value::Count(5)));
        assert!(table.more.is_some());
        let table = arranged(&Arrangement { limit: Some(0), ..Arrangement::default() }).unwrap();
        assert_eq!((table.rows.len(), table.more), (4, None));
    }

    #[test]
    fn a_screen_is_cut_unless_rows_are_asked_for() {
        let table = Table::of("Tools", COLUMNS, ROWS).on_screen(2);
        assert_eq!((table.for_people().rows.len(), table.rows.len()), (2, 4));
        assert_eq!(
            table.clone().on_screen(3).for_people().rows.len(),
            4,
            "a single row is shown instead of a line about it"
        );
        let all = Arrangement { limit: Some(0), ..Arrangement::default() };
        assert_eq!(table.arranged(&all).unwrap().for_people().rows.len(), 4);
    }

    #[test]
    fn a_table_that_keeps_its_last_rows_leaves_out_the_first_ones_until_it_is_sorted() {
        let names = |table: &Table| table.rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>();
        let table = Table::of("Tools", COLUMNS, ROWS).on_screen(2).keeping_last();
        assert_eq!(names(&table.for_people()), ["a".into(), "d".into()]);
        let two = Arrangement { limit: Some(2), ..Arrangement::default() };
        let limited = table.clone().arranged(&two).unwrap();
        assert_eq!(names(&limited), ["a".into(), "d".into()]);
        assert!(format!("{:?}", limited.more).contains("earlier rows"), "{:?}", limited.more);
        let sorted = Arrangement { sort: Some("tool:asc".parse().unwrap()), ..two };
        assert_eq!(names(&table.arranged(&sorted).unwrap()), ["a".into(), "b".into()]);
    }

    #[test]
    fn columns_are_picked_in_order_and_may_be_hidden_ones() {
        let columns = Some(["denied", "tool", "denied"].map(str::to_owned).to_vec());
        let table = arranged(&Arrangement { columns, ..Arrangement::default() }).unwrap();
        let keys: Vec<&str> = table.columns.iter().map(|head| head.key).collect();
        assert_eq!(keys, ["denied", "tool"]);
        assert_eq!(table.for_people().columns.len(), 2);
        assert_eq!(table.rows[0], [Value::Count(1), Value::text("b")]);
    }

    #[test]
    fn a_column_is_found_by_its_heading_and_by_the_beginning_of_its_name() {
        let found = |name: &str| position(&heads(COLUMNS), name).map(|at| COLUMNS[at].head.key);
        assert_eq!([found("Tool"), found("DENIED"), found("den")], [Ok("tool"), Ok("denied"), Ok("denied")]);
        let heads =
            [("p50_ms", "p50"), ("cost_usd", "Cost"), ("cache_read", "Cache read"), ("cache_hits", "Hits")];
        let heads = heads.map(|(key, head)| {
            Column::new(Unit::Count, key, head, "A number.", |_: &()| Value::Missing).head
        });
        let found = |name: &str| position(&heads, name).map_err(|error| error.to_string());
        assert_eq!(
            [found("cost"), found("P50"), found("cache read"), found("hits")],
            [Ok(1), Ok(0), Ok(2), Ok(3)]
        );
        let error = "ambiguous column `cache`: it begins cache_read, cache_hits; available: p50_ms, cost_usd, cache_read, cache_hits";
        assert_eq!(found("cache"), Err(error.to_owned()));
        assert!(found("").is_err() && found("-").is_err());
    }

    #[test]
    fn an_unknown_key_names_a_near_one_and_all() {
        let error = |name: &str| {
            let columns = Some(vec![name.to_owned()]);
            arranged(&Arrangement { columns, ..Arrangement::default() }).unwrap_err().to_string()
        };
        assert_eq!(
            error("denid"),
            "unknown column `denid` (did you mean `denied`?); available: tool, calls, denied"
        );
        assert_eq!(error("colour"), "unknown column `colour`; available: tool, calls, denied");
    }

    #[test]
    fn only_slips_are_suggested() {
        assert!(is_slip("outptu", "output") && is_slip("sesions", "sessions") && is_slip("tols", "tools"));
        assert!(!is_slip("turns", "tools") && !is_slip("x", "a") && !is_slip("summary", "schema"));
    }
}
