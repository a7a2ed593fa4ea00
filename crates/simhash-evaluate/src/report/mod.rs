//! The page and its plots, from the results that are kept.
//!
//! Prose stands in templates; `{{name}}` there becomes a figure, a table or a plot made from the results.

mod chart;
mod combined;
mod edits;
mod held_out;
mod others;
mod plots;
mod settings;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Serialize, de::DeserializeOwned};

use crate::corpus::{Length, SEED, SOURCES, Source};
use crate::edits::LONGEST_SPAN;
use crate::experiments::{angle, edits as edited, lexicons, settings as swept, short, wrapping};
use crate::method::Method;
use crate::metrics::RESAMPLES;
use crate::results::{Results, Sample};

/// All results there are, in the order of the sources.
pub struct All {
    pub settings: Vec<Results<swept::Row>>,
    pub angle: Vec<Results<angle::Row>>,
    pub wrapping: Vec<Results<wrapping::Row>>,
    pub short: Vec<Results<short::Row>>,
    pub speed: Vec<Results<short::Speed>>,
    pub lexicons: Vec<Results<lexicons::Row>>,
    pub edits: Vec<Results<edited::Row>>,
}

impl All {
    fn read(directory: &Path) -> Result<Self, Box<dyn Error>> {
        Ok(All {
            settings: read(directory, "settings")?,
            angle: read(directory, "angle")?,
            wrapping: read(directory, "wrapping")?,
            short: read(directory, "short")?,
            speed: read(directory, "speed")?,
            lexicons: read(directory, "lexicons")?,
            edits: read(directory, "edits")?,
        })
    }

    pub fn of(&self, length: Length) -> Vec<&Results<swept::Row>> {
        self.settings.iter().filter(|results| results.sample.length == length).collect()
    }
}

fn read<Row: Serialize + DeserializeOwned>(
    directory: &Path,
    experiment: &str,
) -> Result<Vec<Results<Row>>, Box<dyn Error>> {
    let mut all = Vec::new();
    for source in &SOURCES {
        all.extend(Results::read(directory, experiment, source.name)?);
    }
    Ok(all)
}

/// What stands in for the names in a template.
pub type Facts = BTreeMap<String, String>;

pub fn render(root: &Path) -> Result<(), Box<dyn Error>> {
    let all = All::read(&root.join("docs/evaluation"))?;
    plots::draw(&all, &root.join("docs/evaluation"))?;
    for (path, text) in pages(root, &all)? {
        fs::write(path, text)?;
    }
    Ok(())
}

/// Every page that holds results, as it is to be.
fn pages(root: &Path, all: &All) -> Result<Vec<(PathBuf, String)>, Box<dyn Error>> {
    let mut facts = constants();
    settings::facts(all, &mut facts);
    held_out::facts(all, &mut facts);
    edits::facts(all, &mut facts);
    others::facts(all, &mut facts);
    facts.insert("answer".into(), filled(include_str!("answer.md"), &facts)?.trim_end().into());
    let mut pages = vec![(root.join("docs/evaluation.md"), filled(include_str!("evaluation.md"), &facts)?)];
    let sections =
        [("README.md", include_str!("readme.md")), ("docs/methods/esimhash.md", include_str!("esimhash.md"))];
    for (page, template) in sections {
        let path = root.join(page);
        let text = with_section(&fs::read_to_string(&path)?, &filled(template, &facts)?)
            .ok_or_else(|| format!("{page} without {SECTION:?}"))?;
        pages.push((path, text));
    }
    Ok(pages)
}

fn constants() -> Facts {
    let constants = [
        ("seed", SEED.to_string()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("resamples", RESAMPLES.to_string()),
        ("rounds", edited::ROUNDS.to_string()),
        ("longest-span", LONGEST_SPAN.to_string()),
        ("line", wrapping::LINE.to_string()),
        ("default-method", Method::default_of_simhash().label()),
    ];
    constants.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn filled(template: &str, facts: &Facts) -> Result<String, Box<dyn Error>> {
    let mut page = String::new();
    let mut parts = template.split("{{");
    page.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (name, rest) = part.split_once("}}").ok_or("a name that does not end")?;
        page.push_str(facts.get(name).ok_or_else(|| format!("nothing is called {name}"))?);
        page.push_str(rest);
    }
    Ok(page)
}

const SECTION: [&str; 2] =
    ["<!-- written by make evaluate -->\n", "<!-- end of what make evaluate writes -->\n"];

/// The text with what is between the two lines replaced.
fn with_section(text: &str, section: &str) -> Option<String> {
    let (before, rest) = text.split_once(SECTION[0])?;
    let (_, after) = rest.split_once(SECTION[1])?;
    Some([before, SECTION[0], section, SECTION[1], after].concat())
}

/// A table in Markdown.
pub struct Table {
    columns: usize,
    text: String,
}

impl Table {
    pub fn new<T: AsRef<str>>(head: &[T]) -> Self {
        let mut table = Table { columns: head.len(), text: String::new() };
        table.line(head);
        table.text += &format!("|{}\n", "---|".repeat(head.len()));
        table
    }

    pub fn line<T: AsRef<str>>(&mut self, cells: &[T]) {
        debug_assert_eq!(cells.len(), self.columns);
        let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
        self.text += &format!("| {} |\n", cells.join(" | "));
    }

    pub fn finish(self) -> String {
        self.text.trim_end().to_owned()
    }
}

pub fn source(sample: &Sample) -> &'static Source {
    SOURCES.iter().find(|source| source.name == sample.corpus).unwrap_or(&SOURCES[0])
}

/// What the page calls a corpus; those that a fresh clone does not have are marked.
pub fn title(sample: &Sample) -> String {
    format!("{}{}", source(sample).title, if sample.shipped { "" } else { " *" })
}

/// A share, with three digits.
pub fn share(value: f64) -> String {
    format!("{value:.3}")
}

pub fn maybe(value: Option<f64>) -> String {
    value.map_or("–".into(), share)
}

/// A count a million, with as many digits as matter.
pub fn per_million(rate: f64) -> String {
    let value = rate * 1e6;
    match value {
        _ if value == 0.0 => "0".into(),
        _ if value < 9.95 => format!("{value:.1}"),
        _ => thousands(value.round() as u64),
    }
}

pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_take_facts_and_refuse_unknown_names() {
        let facts = Facts::from([("a".into(), "1".into())]);
        assert_eq!(filled("x {{a}} y {{a}}.", &facts).unwrap(), "x 1 y 1.");
        assert!(filled("{{b}}", &facts).unwrap_err().to_string().contains('b'));
        assert!(filled("{{a", &facts).is_err());
    }

    #[test]
    fn a_section_is_replaced_and_nothing_else() {
        let text = format!("before\n{}old\n{}after\n", SECTION[0], SECTION[1]);
        let expected = format!("before\n{}new\n{}after\n", SECTION[0], SECTION[1]);
        assert_eq!(with_section(&text, "new\n").unwrap(), expected);
        assert_eq!(with_section("none", "new"), None);
    }

    /// Nobody types a figure into these pages, nor changes what is around it there and not in its template.
    #[test]
    fn committed_pages_are_what_the_committed_results_give() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let all = All::read(&root.join("docs/evaluation")).unwrap();
        assert!(!all.settings.is_empty());
        for (path, text) in pages(root, &all).unwrap() {
            let committed = fs::read_to_string(&path).unwrap();
            let differing = committed.lines().zip(text.lines()).find(|(old, new)| old != new);
            assert!(committed == text, "{} is not what results give: {differing:?}", path.display());
        }
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([0, 999, 1000, 1234567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.0, 1.25e-6, 123e-6].map(per_million), ["0", "1.2", "123"]);
    }
}
