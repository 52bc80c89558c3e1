//! HTML under construction. The only place where text becomes markup: everything that is not a constant of this program
//! is escaped here, in text, attributes, SVG and embedded JSON.

use std::fmt::{self, Display, Write};

use super::super::foreign;

/// Attributes of an element. Names are ours, values may be foreign.
pub(super) type Attributes<'a> = &'a [(&'static str, &'a dyn Display)];

/// A page, or a part of one.
#[derive(Default)]
pub(super) struct Markup {
    html: String,
    /// Elements that are not closed yet.
    open: Vec<&'static str>,
}

impl Markup {
    /// Opens an element.
    pub(super) fn open(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.tag(name, attributes);
        self.html.push('>');
        self.open.push(name);
    }

    /// Closes the element that was opened last.
    pub(super) fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            self.html.push_str("</");
            self.html.push_str(name);
            self.html.push('>');
        }
    }

    /// An element without content.
    pub(super) fn empty(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.tag(name, attributes);
        self.html.push_str("/>");
    }

    /// An element that contains only text.
    pub(super) fn element(&mut self, name: &'static str, attributes: Attributes<'_>, text: &str) {
        self.open(name, attributes);
        self.text(text);
        self.close();
    }

    pub(super) fn text(&mut self, text: &str) {
        escape(text, &mut self.html);
    }

    /// Markup, style or script of this program.
    pub(super) fn constant(&mut self, markup: &'static str) {
        self.html.push_str(markup);
    }

    /// Starts a new line, for people who read the source.
    pub(super) fn line(&mut self) {
        self.html.push('\n');
    }

    /// JSON inside of a script element, where only `<` has a meaning. In JSON it occurs in strings alone.
    pub(super) fn json(&mut self, json: &str) {
        for (at, piece) in json.split('<').enumerate() {
            self.html.push_str(if at == 0 { "" } else { "\\u003c" });
            self.html.push_str(piece);
        }
    }

    /// Adds finished markup.
    pub(super) fn append(&mut self, other: &Self) {
        self.html.push_str(&other.html);
    }

    pub(super) fn len(&self) -> usize {
        self.html.len()
    }

    pub(super) fn as_str(&self) -> &str {
        &self.html
    }

    fn tag(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.html.push('<');
        self.html.push_str(name);
        for (key, value) in attributes {
            self.html.push(' ');
            self.html.push_str(key);
            self.html.push_str("=\"");
            escape(&value.to_string(), &mut self.html);
            self.html.push('"');
        }
    }
}

/// Escapes text for elements and quoted attributes. Characters that are unsafe in any format are shown as their number.
fn escape(text: &str, out: &mut String) {
    for letter in foreign::text(text).chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(letter),
        }
    }
}

/// A coordinate with at most one decimal.
#[derive(Clone, Copy)]
pub(super) struct Px(pub(super) f64);

impl Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round() / 10.0;
        let tenths = tenths + 0.0; // no -0
        if tenths.fract() == 0.0 { write!(f, "{tenths:.0}") } else { write!(f, "{tenths:.1}") }
    }
}

/// Several values, separated by spaces.
pub(super) fn spaced(values: &[&dyn Display]) -> String {
    let mut text = String::new();
    for (at, value) in values.iter().enumerate() {
        let _ = write!(text, "{}{value}", if at == 0 { "" } else { " " });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_cannot_become_markup() {
        let mut page = Markup::default();
        page.open("p", &[("title", &"\"><script>'&")]);
        page.text("</p><img src=x onerror=alert(1)>&lt;");
        page.close();
        page.close();
        assert_eq!(
            page.as_str(),
            "<p title=\"&quot;&gt;&lt;script&gt;&#39;&amp;\">&lt;/p&gt;&lt;img src=x onerror=alert(1)&gt;&amp;lt;</p>"
        );
    }

    #[test]
    fn json_cannot_end_its_element() {
        let mut page = Markup::default();
        page.json(r#"["</script><!--<script>", 1]"#);
        assert_eq!(page.as_str(), r#"["\u003c/script>\u003c!--\u003cscript>", 1]"#);
        let read: serde_json::Value = serde_json::from_str(page.as_str()).unwrap();
        assert_eq!(read[0], "</script><!--<script>");
    }

    #[test]
    fn invisible_characters_are_shown() {
        let mut page = Markup::default();
        page.element("p", &[("title", &"\u{2028}")], "a\u{202e}b\u{0}");
        assert_eq!(page.as_str(), "<p title=\"\\u{2028}\">a\\u{202e}b\\u{0}</p>");
    }

    #[test]
    fn coordinates_are_short() {
        let shown: Vec<String> = [0.0, -0.04, 1.25, 100.96, 12.0].map(|px| Px(px).to_string()).to_vec();
        assert_eq!(shown, ["0", "0", "1.3", "101", "12"]);
    }
}
