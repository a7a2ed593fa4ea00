//! The user's own lists of words: a dictionary defines what is one word, and a list of stop words
//! what is left out.
//!
//! The words of a list are checked here, sorted and hashed, so two lists are equal if their hashes
//! are. A configuration normalises the words as it does texts. The modules `cut`, `whole` and
//! `phrases` apply a dictionary to the tokens of a text. docs/design/tokens.md is normative for
//! that.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use crate::base::interrupt::Interrupt;
use crate::base::sort::sort_checked;
use crate::config::{Config, NormalizeStep, NormalizeSteps, Tokenizer};
use crate::texts::normalize::normalize_into;
use crate::texts::unicode::{Properties, properties};
use crate::words::code::Style;
use crate::words::cut::HanWords;
use crate::words::phrases::Phrases;
use crate::words::tokenize::Cutting;
use crate::words::tokens::for_each_token;
use crate::words::whole::WholeWords;

/// The most words of a list.
pub const MAX_WORDS: usize = 1_000_000;
/// The longest word, in characters.
pub const MAX_CHARACTERS: usize = 100;
/// A list has fewer bytes than this: its words and frequencies, and one byte after each of them.
pub const MAX_BYTES: usize = 16 << 20;
/// The greatest frequency. The frequencies of jieba's own dictionary add up to 60 million.
pub const MAX_FREQUENCY: u32 = 1_000_000_000;

/// What a list is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Its words are tokens.
    Dictionary,
    /// Its words are left out.
    StopWords,
}

impl Kind {
    /// Both kinds.
    pub const ALL: [Kind; 2] = [Kind::Dictionary, Kind::StopWords];

    /// How the kind is stored.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Dictionary => "dictionary",
            Kind::StopWords => "stopwords",
        }
    }

    /// What a list of this kind is called in messages.
    pub fn noun(self) -> &'static str {
        match self {
            Kind::Dictionary => "dictionary",
            Kind::StopWords => "list of stop words",
        }
    }
}

/// Why words do not make a list. It displays as its [`message`](Self::message) with its
/// [`hint`](Self::hint).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WordListError {
    /// There is no word.
    NoWord(Kind),
    /// There are more than [`MAX_WORDS`], or they have more than [`MAX_BYTES`] together.
    TooLarge(Kind),
    /// The word of that number, from 1 on, is empty.
    EmptyWord(usize),
    /// The word of that number, from 1 on, has a control character.
    ControlCharacter(usize),
    /// A word has more than [`MAX_CHARACTERS`]: its beginning.
    LongWord(String),
    /// No character of the word could be part of a token.
    NoToken(String),
    /// The word has two frequencies.
    TwoFrequencies(String),
    /// The frequency is not 0 to [`MAX_FREQUENCY`].
    Frequency(i64),
}

impl WordListError {
    /// What is wrong, quoting the word at fault.
    pub fn message(&self) -> String {
        match self {
            Self::NoWord(kind) => format!("a {} must contain at least one word", kind.noun()),
            Self::TooLarge(kind) => format!("too many words for one {}", kind.noun()),
            Self::EmptyWord(number) => format!("word {number} is empty"),
            Self::ControlCharacter(number) => format!("word {number} contains a control character"),
            Self::LongWord(start) => format!("word \"{start}...\" is too long"),
            Self::NoToken(word) => format!("\"{word}\" is not a word"),
            Self::TwoFrequencies(word) => format!("word \"{word}\" has two frequencies"),
            Self::Frequency(frequency) => format!("frequency {frequency} is out of range"),
        }
    }

    /// What is allowed instead.
    pub fn hint(&self) -> String {
        match self {
            Self::NoWord(_) => "Omit the key of the config instead.".into(),
            Self::TooLarge(_) => {
                format!("At most {MAX_WORDS} words of {} MB in total are allowed.", MAX_BYTES >> 20)
            }
            Self::EmptyWord(_) => "Omit it.".into(),
            Self::ControlCharacter(_) => "A word must not contain line breaks or tabs.".into(),
            Self::LongWord(_) => format!("A word can have at most {MAX_CHARACTERS} characters."),
            Self::NoToken(_) => "A word must contain a letter, a number or an emoji.".into(),
            Self::TwoFrequencies(_) => "Give each word once.".into(),
            Self::Frequency(_) => format!("Allowed: 0 to {MAX_FREQUENCY}, or NULL."),
        }
    }
}

impl fmt::Display for WordListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message(), self.hint())
    }
}

impl std::error::Error for WordListError {}

/// Words of one kind, each once, with the frequencies that a dictionary's words were given.
///
/// ```
/// use simhash_core::words::lists::{Kind, WordList};
/// let list = |words: &[(&str, Option<i64>)]| {
///     let words = words.iter().map(|&(word, frequency)| (word.to_owned(), frequency));
///     WordList::new(Kind::Dictionary, words, &mut || ())
/// };
/// let a = list(&[("石墨烯", None), ("New York", Some(7))]).unwrap();
/// assert_eq!(a.entries().collect::<Vec<_>>(), [("New York", Some(7)), ("石墨烯", None)]);
/// // printf 'New York\t7\n石墨烯\n' | sha256sum
/// assert!(a.content_hash().starts_with("69abe9dd"));
/// assert_eq!(list(&[("", None)]).unwrap_err().message(), "word 1 is empty");
/// ```
pub struct WordList {
    kind: Kind,
    /// The text that is hashed: the words in the order of their UTF-8 bytes, each on a line, with a
    /// tab and its frequency if it has one.
    content: String,
    hash: String,
    words: usize,
    /// The dictionary as the most recently used configurations see it.
    prepared: Mutex<Vec<(Seen, Arc<Dictionary>)>>,
}

impl fmt::Debug for WordList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} words, {}", self.kind.noun(), self.words, self.hash)
    }
}

impl WordList {
    /// The list of these words, in any order.
    ///
    /// # Errors
    /// No word, too many or too long ones; one that is empty, has a control character, or nothing
    /// that could ever be a token; a frequency that is out of range; a word with two of them.
    pub fn new(
        kind: Kind,
        words: impl IntoIterator<Item = (String, Option<i64>)>,
        interrupt: &mut dyn FnMut(),
    ) -> Result<Self, WordListError> {
        let mut entries = Vec::new();
        let mut bytes = 0;
        for (place, (word, frequency)) in words.into_iter().enumerate() {
            if place.is_multiple_of(1 << 10) {
                interrupt();
            }
            check_word(kind, &word, place)?;
            bytes += word.len() + 1;
            if place >= MAX_WORDS || bytes > MAX_BYTES {
                return Err(WordListError::TooLarge(kind));
            }
            entries.push((word, checked_frequency(frequency)?));
        }
        sort_checked(&mut entries, interrupt);
        entries.dedup();
        if let Some([(word, _), ..]) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(WordListError::TwoFrequencies(word.clone()));
        }
        let mut content = String::with_capacity(bytes);
        for (word, frequency) in &entries {
            content.push_str(word);
            if let Some(frequency) = frequency {
                content.push_str(&format!("\t{frequency}"));
            }
            content.push('\n');
        }
        match content.len() {
            0 => Err(WordListError::NoWord(kind)),
            bytes if bytes > MAX_BYTES => Err(WordListError::TooLarge(kind)),
            _ => Ok(WordList {
                kind,
                hash: hex(&Sha256::digest(&content)),
                content,
                words: entries.len(),
                prepared: Mutex::default(),
            }),
        }
    }

    /// What the list is for.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How many words it holds.
    pub fn len(&self) -> usize {
        self.words
    }

    /// Always false: a list holds at least one word.
    pub fn is_empty(&self) -> bool {
        self.words == 0
    }

    /// The SHA-256 of the list, in hexadecimal digits. The hashed text has the words in the order
    /// of their UTF-8 bytes. A tab and its frequency, if it has one, and a line feed follow each
    /// word.
    pub fn content_hash(&self) -> &str {
        &self.hash
    }

    /// Its words, ascending, with the frequencies that they were given.
    pub fn entries(&self) -> impl Iterator<Item = (&str, Option<u32>)> {
        self.content.lines().map(|line| match line.split_once('\t') {
            Some((word, frequency)) => (word, frequency.parse().ok()),
            None => (line, None),
        })
    }

    /// The dictionary as `config` sees it. The list caches it.
    pub(crate) fn dictionary(&self, config: &Config, interrupt: &Interrupt) -> Arc<Dictionary> {
        const KEPT: usize = 2;
        let seen = Seen {
            steps: plain_text(config.text_steps()),
            tokenizer: config.tokenizer,
            hmm: config.hmm,
            style: Style::of(config),
        };
        // Nothing unwinds while the lock is held, and if it did, the list would still be intact.
        let prepared = || self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let known = prepared().iter().find(|(of, _)| *of == seen).map(|(_, known)| known.clone());
        known.unwrap_or_else(|| {
            let new = Arc::new(Dictionary::new(self, seen, interrupt));
            let mut kept = Vec::with_capacity(KEPT);
            kept.push((seen, new.clone()));
            let mut prepared = prepared();
            kept.extend(prepared.drain(..).take(KEPT - 1));
            *prepared = kept;
            new
        })
    }

    /// Hands every word to `sink`, normalised by `steps` as texts are.
    pub(crate) fn for_each_normalized(
        &self,
        steps: NormalizeSteps,
        interrupt: &Interrupt,
        mut sink: impl FnMut(&str, Option<u32>),
    ) {
        let mut normalized = String::new();
        for (word, frequency) in self.entries() {
            normalize_into(word, plain_text(steps), interrupt, &mut normalized);
            interrupt.spend(8 * word.len());
            sink(&normalized, frequency);
        }
    }
}

/// The steps for a list, which is plain text.
pub(crate) fn plain_text(steps: NormalizeSteps) -> NormalizeSteps {
    steps.without(NormalizeStep::Html)
}

/// The part of a configuration that determines how it sees a dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    steps: NormalizeSteps,
    tokenizer: Tokenizer,
    hmm: bool,
    style: Style,
}

/// A dictionary as one configuration sees it.
pub(crate) struct Dictionary {
    /// The words that jieba cuts out of runs of Han characters. `None` if there are none.
    pub(crate) han: Option<HanWords>,
    /// The words that are searched for in runs that ICU4X cuts. `None` if there are none.
    pub(crate) whole: Option<WholeWords>,
    /// The words of several tokens, which are joined. `None` if there are none.
    pub(crate) phrases: Option<Phrases>,
}

impl Dictionary {
    /// A word of characters that jieba cuts becomes a word of jieba's. A word that can be part of a
    /// run that ICU4X cuts is searched for there. Any other word becomes a phrase of the tokens
    /// into which the tokenizer cuts it. So does every word if the tokenizer uses neither.
    fn new(list: &WordList, seen: Seen, interrupt: &Interrupt) -> Self {
        let uses_jieba =
            matches!(seen.tokenizer, Tokenizer::Auto | Tokenizer::Jieba | Tokenizer::Code);
        let is_han =
            |word: &str| uses_jieba && word.chars().all(crate::words::cut::is_han_of_jieba);
        let uses_icu = matches!(seen.tokenizer, Tokenizer::Auto | Tokenizer::Code);
        let mut han = HanWords::default();
        let mut whole = WholeWords::default();
        let mut has_others = false;
        list.for_each_normalized(seen.steps, interrupt, |word, frequency| {
            if word.is_empty() {
                return;
            }
            if uses_icu && frequency != Some(0) {
                whole.add(word, interrupt);
            }
            if is_han(word) {
                han.add(word, frequency, interrupt);
            } else {
                has_others = true;
            }
        });
        let han = Some(han).filter(|han| !han.is_empty());
        let whole = Some(whole).filter(|whole| !whole.is_empty());
        let mut phrases = Phrases::default();
        if has_others {
            let cutting = Cutting { hmm: seen.hmm, words: han.as_ref(), whole: whole.as_ref() };
            let mut tokens = String::new();
            list.for_each_normalized(seen.steps, interrupt, |word, frequency| {
                if !is_han(word) && frequency != Some(0) {
                    tokens.clear();
                    for_each_token(
                        word,
                        seen.tokenizer,
                        seen.style,
                        cutting,
                        interrupt,
                        &mut |token, ()| {
                            crate::words::phrases::push(&mut tokens, token);
                        },
                    );
                    phrases.add(&tokens, interrupt);
                }
            });
        }
        Dictionary { han, whole, phrases: Some(phrases).filter(|phrases| !phrases.is_empty()) }
    }
}

fn check_word(kind: Kind, word: &str, place: usize) -> Result<(), WordListError> {
    if word.is_empty() {
        return Err(WordListError::EmptyWord(place + 1));
    }
    if word.chars().any(char::is_control) {
        return Err(WordListError::ControlCharacter(place + 1));
    }
    if word.chars().nth(MAX_CHARACTERS).is_some() {
        let start = word.chars().take(MAX_CHARACTERS / 4).collect();
        return Err(WordListError::LongWord(start));
    }
    let could_be_token = |c| match kind {
        Kind::Dictionary => properties(c).any(Properties::TOKEN),
        // With the tokenizer char, punctuation is a token as well.
        Kind::StopWords => !properties(c).any(Properties::WHITE),
    };
    if !word.chars().any(could_be_token) {
        return Err(WordListError::NoToken(word.to_owned()));
    }
    Ok(())
}

fn checked_frequency(frequency: Option<i64>) -> Result<Option<u32>, WordListError> {
    let Some(frequency) = frequency else { return Ok(None) };
    match u32::try_from(frequency) {
        Ok(frequency @ ..=MAX_FREQUENCY) => Ok(Some(frequency)),
        _ => Err(WordListError::Frequency(frequency)),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many words of 255 bytes, which take a byte more each in the stored list.
    fn made(words: usize) -> Result<WordList, WordListError> {
        let word = |i: usize| {
            let digit = |shift: usize| ['一', '二', '三', '四'][i >> shift & 3];
            let end: String = (0..10).map(|place| digit(2 * place)).collect();
            ("中".repeat(75) + &end, None)
        };
        WordList::new(Kind::Dictionary, (0..words).map(word), &mut || ())
    }

    #[test]
    fn a_list_has_at_most_sixteen_megabytes() {
        let most = MAX_BYTES / 256;
        assert_eq!(made(most).map(|list| list.content.len()), Ok(MAX_BYTES));
        assert_eq!(made(most + 1).err(), Some(WordListError::TooLarge(Kind::Dictionary)));
    }
}
