#!/usr/bin/env python3
"""Checks golden.jsonl without the crate: hashes by PyPI's xxhash, the rest by code of its own.

From the tokens on, every vector is computed: shingles, distinct features, weights (level weights
are taken from the vector), positions, sums and signs, and the keys of sketches. For texts in
scripts that put spaces between words, normalisation and tokens are computed too, by unicodedata.
With a dictionary, whose words are pairs of a word and its frequency or null, tokens are computed
for Chinese as well, by jieba's algorithm without guesses. Words of languages without spaces are
those of published examples, WORDS. golden_passages.jsonl has texts with the hashes that an index on
passages keeps. Prints 'N passed, N failed'. Exits 1 when one failed.
"""
import functools
import itertools
import json
import math
import pathlib
import re
import struct
import sys
import unicodedata

import xxhash

# From tests of ICU4X (tests/testdata/WordBreakDictionary.txt), of CSS (Burmese:
# css-text/word-break/word-break-normal-my-000.html) and others. ICU4C 78.3 gives the same words, by
# PyPI's icu4py 1.2.0. Spaces, normalisation and numbers are ours.
WORDS = {
    "ภาษาไทย": "ภาษา|ไทย",
    "น้ำตาลทราย 2567": "น้ำตาล|ทราย|2567",
    "ພາສາລາວພາສາລາວ": "ພາສາ|ລາວ|ພາສາ|ລາວ",
    "ຊື່ໜຶ່ງຂອງ": "ຊື່|ໜຶ່ງ|ຂອງ",
    "មាន\u200bពាក្យ\u200bបញ្ជា": "មាន|ពាក្យ|បញ្ជា",
    "မြန်မာစာမြန်မာစာ": "မြန်မာ|စာ|မြန်မာ|စာ",
    "こんにちは、世\n界。": "こんにちは|世界",
    "東京タワーの世界": "东京|タワー|の|世界",
    "うなぎうなじ": "うなぎ|うなじ",
}

HASHES = {
    64: lambda feature: xxhash.xxh3_64_intdigest(feature, seed=0),
    128: lambda feature: xxhash.xxh3_128_intdigest(feature, seed=0),
    256: lambda feature: xxhash.xxh3_128_intdigest(feature, seed=0) << 128
    | xxhash.xxh3_128_intdigest(feature, seed=0x9E3779B97F4A7C15),
}
DEFAULT_STEPS = [
    "data",
    "mojibake",
    "hyphens",
    "nfkc",
    "marks",
    "lower",
    "simplified",
    "digits",
    "punctuation",
    "space",
]
# The steps whose texts are not normalised here. Whatever follows from the tokens is computed.
NOT_COMPUTED = ["confusables", "html"]
MARKED = ("LATIN", "GREEK", "CYRILLIC", "ARABIC", "HEBREW")


def is_loose(c):
    """Whether it is a mark that is dropped on letters of those scripts: its name shows its own."""
    is_mark = unicodedata.category(c) in ("Mn", "Me")
    return is_mark and unicodedata.name(c).startswith(("COMBINING", *MARKED))


ONE_WAY = {
    **{"æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ð": "d", "Ð": "D", "þ": "th", "Þ": "TH"},
    **{"ی": "ي", "ى": "ي", "ک": "ك", "ہ": "ه", "ھ": "ه", "ە": "ه", "ۃ": "ة"},
    **{"ൺ": "ണ്", "ൻ": "ന്", "ർ": "ര്", "ൽ": "ല്", "ൾ": "ള്", "ൿ": "ക്"},
    **dict.fromkeys("ʹʻʼʽʾʿ", "'"),
}


def without_marks(text):
    """Without marks, tatweel and the strokes of Latin letters, letters written in one way."""
    out, on_marked = "", False
    for c in unicodedata.normalize("NFD", text.replace("\N{ARABIC TATWEEL}", "")):
        name = unicodedata.name(c, "")
        if is_loose(c) and on_marked:
            continue
        if not is_loose(c):
            on_marked = name.startswith(MARKED)
        if name.startswith("LATIN") and name.endswith(" WITH STROKE"):
            c = unicodedata.lookup(name.removesuffix(" WITH STROKE"))
        out += ONE_WAY.get(c, c)
    return unicodedata.normalize("NFC", out)


def reread(text):
    """What was misread as Windows-1252 or Latin-1, if all of it was, and it tells.

    These vectors have several misread characters side by side, or Ã before or after a small letter,
    or the quotation marks of English.
    """
    try:
        windows = [c.encode("latin-1" if ord(c) < 256 else "cp1252") for c in text]
        right = b"".join(windows).decode("utf-8")
    except UnicodeError:
        return text
    telling = re.search("[\u0080-\U0010ffff]{2}|[a-z][À-ÿ]|[À-ÿ][a-z]|[\u2010-\u203f]", right)
    return right if telling and not text.isascii() else text


def without_data(text):
    """Without data: URIs, and runs of base64 of over 200 characters or over full lines."""
    kind, data = r"(?:;[\w=;+-]+|[\w.+-]+/[\w.+;=/-]+)", r"[^\s\"'`<>()\\\u0080-\U0010ffff]*"
    text = re.sub(rf"(?<![A-Za-z0-9])(?i:data):{kind},{data}", " ", text)
    line = r"[A-Za-z0-9+/=_-]"
    runs = rf"(?<!{line})(?:{line}{{60,}}\r?\n)*{line}+(?!{line})"

    def dropped(run):
        run = run[0]
        mixed = all(re.search(kind, run) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
        return " " if len(run) > 200 and mixed else run

    return re.sub(runs, dropped, text)


def join_lines(text):
    """With words that a hyphen breaks at the end of a line put together."""
    blanks, letter, end = "[ \t\u00a0]*", r"[^\W\d_]", "(?:\r\n|[\n\r\x85\u2028])"
    return re.sub(
        f"(?<={letter})[-\u00ad\u2010\u2011]{blanks}{end}{blanks}(?=({letter}))",
        lambda found: "" if found[1].islower() else found[0],
        text,
    )


def digits(text):
    """With ASCII digits, and with ASCII signs for the Arabic ones between them."""
    text = text.replace("\u066b", ".").replace("\u066c", ",")
    return "".join(str(unicodedata.decimal(c, c)) for c in text)


def folded(text, german=False):
    """By the steps that map characters, but for simplified ones."""
    text = unicodedata.normalize("NFKC", text.replace("\u00ad", ""))
    for letter, plain in zip("äöüÄÖÜ", ("ae", "oe", "ue", "Ae", "Oe", "Ue")) if german else ():
        text = text.replace(letter, plain)
    text = without_marks(text)
    text = text.replace("ı", "i").replace("İ", "i").casefold()
    return digits(without_marks(unicodedata.normalize("NFKC", text)))


def normalize(text, german=False):
    """Of letters of scripts that put spaces between words, digits, and the punctuation of ASCII.

    By all default steps. Letters beyond ASCII are letters to the rules of punctuation, too.
    """
    text = folded(join_lines(reread(without_data(text))), german)
    letter, word = r"[^\W\d_]", r"[^\W_]"
    text = re.sub(
        rf"(?<={letter})['’.](?={letter})"
        rf"|(?<=[0-9])[,'](?=[0-9]{{3}}(?![0-9]))"
        rf"|(?<={word})_+(?={word})",
        "",
        text,
    )
    return " ".join(re.findall(rf"{word}+(?:(?<=[0-9])[.](?=[0-9]){word}+)*", text))


def tokens_of(normalized):
    """A token ends where a letter and a digit meet."""
    return re.findall(r"[^\W\d_]+|[0-9]+(?:[.][0-9]+)*", normalized)


def is_spaced(text):
    """Whether letters of the text are of scripts that put spaces between words, and the rest of it
    is ASCII, what was misread, marks, digits, and what ends lines.
    """

    def known(c):
        name, category = unicodedata.name(c, ""), unicodedata.category(c)
        of_script = category[0] == "L" and name.startswith((*MARKED, "HANGUL"))
        other = "\u00ad\u00a0\u066b\u066c©\u2010€™"
        return c.isascii() or of_script or is_loose(c) or category == "Nd" or c in other

    return all(map(known, text))


def normalized_of(text, steps):
    """The text normalised by the default steps and perhaps german, if it is computed for such."""
    others = set(steps) - set(DEFAULT_STEPS)
    if others - {"german", *NOT_COMPUTED}:
        sys.exit(f"golden.py knows no step {', '.join(others)}: teach normalize() what it does")
    if set(DEFAULT_STEPS) - set(steps) or others - {"german"} or not is_spaced(text):
        return None
    return normalize(text, bool(others))


@functools.cache
def jieba():
    """The frequencies of jieba's words, and their sum."""
    path = pathlib.Path(__file__).parents[1] / "data" / "zh_dictionary.txt"
    lines = path.read_text(encoding="utf-8").splitlines()
    words = {word: int(count) for word, count, _ in (line.split(" ") for line in lines)}
    return words, sum(words.values())


def cut_han(run, own):
    """The words of the most probable way to cut Han characters, by jieba's algorithm."""
    words, total = jieba()
    count = lambda word: own.get(word, words.get(word, 0))
    best = {len(run): (0.0, 0)}
    for start in range(len(run) - 1, -1, -1):
        ends = [end for end in range(start + 1, len(run) + 1) if count(run[start:end])]
        best[start] = max(
            (math.log(count(run[start:end]) or 1) - math.log(total) + best[end][0], end)
            for end in ends or [start + 1]
        )
    found, start = [], 0
    while start < len(run):
        end = best[start][1]
        found.append(run[start:end])
        start = end
    return found


def sufficient_count(word):
    """The count that jieba's suggest_freq gives."""
    words, total = jieba()
    share = 1.0
    for piece in cut_han(word, {}):
        share *= words.get(piece, 1) / total
    return max(int(share * total) + 1, words.get(word, 1))


def is_han(text):
    return all("\u4e00" <= c <= "\u9fff" for c in text)


def cut(text, tokenizer, own):
    """Tokens of Han characters, letters, digits and spaces."""
    for han, run in itertools.groupby(text, is_han):
        run = "".join(run)
        if not han:
            yield from tokens_of(run)
        elif tokenizer == "word":
            yield from run
        else:
            yield from cut_han(run, own)


def told_apart(vector):
    """The tokens by the dictionary of a vector of simplified characters, and whether each is one of
    its stop words."""
    tokenizer = vector["config"].get("tokenizer", "auto")
    entries = [(normalize_simple(w), count) for w, count in vector.get("dictionary", [])]
    own = {}
    for word, count in entries:
        if is_han(word) and tokenizer != "word":
            count = sufficient_count(word) if count is None else count
            own[word] = max(count, own.get(word, 0))
    phrases = [list(cut(w, tokenizer, own)) for w, n in entries if w not in own and n != 0]
    tokens, found = list(cut(normalize_simple(vector["text"]), tokenizer, own)), []
    while tokens:
        sizes = [len(p) for p in phrases if p == tokens[: len(p)]]
        size = max(sizes, default=1)
        found.append("".join(tokens[:size]))
        tokens = tokens[size:]
    stop = {normalize_simple(word).replace(" ", "") for word in vector.get("stopwords", [])}
    return [(token, token in stop) for token in found]


def tokens_by_lists(vector):
    """Those that are no stop words."""
    return [token for token, is_stop_word in told_apart(vector) if not is_stop_word]


def spots_of(tokens, chain, distance):
    """Distinct spots and their counts: a stop word, and tokens after it, in order of the last."""
    counts = {}
    for end in range(1, len(tokens) + 1):
        for start in range(end):
            rest = [token for token, is_stop_word in tokens[start:end] if not is_stop_word]
            if tokens[start][1] and not tokens[end - 1][1] and len(rest) == chain * distance:
                spot = " ".join([tokens[start][0], *rest[distance - 1 :: distance]])
                counts[spot] = counts.get(spot, 0) + 1
    return counts


def normalize_simple(text):
    """Of letters, digits, simplified Han characters, spaces, hyphens, points and commas."""
    text = " ".join(folded(text).split())
    text = re.sub(r"(?<=[a-z])[.](?=[a-z])", "", text)
    han, mark = "[\u4e00-\u9fff]", "[-,.。]"
    text = re.sub(f"(?<={han}){mark}|{mark}(?={han})", "", text)
    text = re.sub(f"(?<={han}) +(?={han})", "", re.sub(mark, " ", text))
    return " ".join(text.split())


DIRECTIVES = (
    "include include_next import define undef if ifdef ifndef elif elifdef elifndef else endif"
    " error warning pragma line ident embed region endregion nullable"
)
DIRECTIVE = re.compile(rf"#!?\[|#[ \t]*(?:{'|'.join(DIRECTIVES.split())})(?![a-z_])")
PREFIX = re.compile(r"(?<![A-Za-z0-9_])(?:[brufnxetlq]|br|rb|fr|rf|ur|u8)$", re.I)
OPERATOR = re.compile(
    r">>>=|<<=|>>=|>>>|<<<|===|!==|\*\*=|//=|&&=|\|\|=|\?\?=|\.\.[.=<]|<=>|->\*|!~\*"
    r"|[=!<>:+*/%&|^~.-]=|<>|[-=|]>|<-|::|\+\+|--|&&|\|\||<<|>>|\*\*|//|\?[?.:]|\.\.|[=!]~|##"
    r"|[^\w\s]"
)
SIGN = re.compile(r"(?<=[A-Za-z])(\+\+|#)(?![A-Za-z0-9])|(?:^|(?<=\s))(\.)(?=[A-Za-z])")


def words_of_names(text):
    """The text with a space between the words of its names."""
    kinds = "".join("A" if c.isupper() else "a" if c.isalpha() else c for c in text)
    ends = re.finditer("(?<=a)(?=A)|(?<=A)(?=Aa)", kinds)
    cuts = [0, *(end.start() for end in ends), len(text)]
    return " ".join(text[a:b] for a, b in zip(cuts, cuts[1:])).replace("_", " ")


class Code:
    """Tokens of source code in ASCII, letters of scripts that part words, and Han without guesses.

    By default, or with comments, white space or case kept.
    """

    def __init__(self, text, config):
        self.text, self.tokens = text, []
        self.keeps = [config.get(key) == "keep" for key in ("comments", "whitespace")]
        self.fold = folded if config.get("normalize") != [] else str
        self.marks = self.marks_of([line.lstrip(" \t") for line in text.split("\n")])
        self.at, self.last, self.indents, self.names = 0, "\n", [], set()
        while self.at < len(text):
            self.step(text[self.at :])

    @staticmethod
    def marks_of(lines):
        """Which marks begin comments."""
        count = lambda mark: sum(bool(re.match(mark, line)) for line in lines)
        directives = count(DIRECTIVE)
        hashes = count(rf"(?!{DIRECTIVE.pattern})#(?=\s|$|[!#=*-])")
        slashes, blocks, dashes = count("//"), count(r"/\*"), count(r"--(?=\s|$|\[[\[=])")
        hashed = hashes > directives
        mostly = hashed and hashes > slashes + blocks
        dashed = dashes and dashes >= slashes and not (hashed and hashes > dashes)
        return {"#": hashed, "##": mostly, "//": slashes + blocks, "/*": blocks, "--": dashed}

    def push(self, *tokens):
        if self.last == "\n" and self.keeps[1]:
            white = self.text[: self.at].rpartition("\n")[2].expandtabs(8)
            self.tokens += "↵" if self.tokens else ""
            while self.indents and self.indents[-1] > len(white):
                self.indents.pop()
                self.tokens.append("⇤")
            if len(white) > sum(self.indents[-1:]):
                self.indents.append(len(white))
                self.tokens.append("⇥")
            self.last = " "
        self.tokens += tokens

    def push_prose(self, text):
        """The words of a string or a comment, and the signs of C++, C# and .NET."""
        for piece in filter(None, SIGN.split(text)):
            if piece in ("++", "#", "."):
                self.push(piece)
            else:
                words = normalize_prose(words_of_names(piece), self.fold)
                self.push(*cut(words, "auto", {}))

    def step(self, rest):
        white = re.match(r"\s+", rest)
        word = re.match(r"(?:\w|(?<=[0-9])\.(?=[0-9]))+", rest)
        comment = self.comment(rest)
        string = self.string(rest)
        if white:
            found = white[0]
            self.last = "\n" if "\n" in found else self.last
        elif comment:
            found, said = comment
            if self.keeps[0]:
                self.push()
                self.push_prose(said)
            self.last = "\n" if "\n" in found else self.last
        elif string:
            found, said = string
            self.push('"')
            self.push_prose(re.sub(r"\\[0abefnrtv\\]", " ", said))
            self.last = found[-1]
        elif word:
            found = word[0]
            self.push(*cut(self.fold(words_of_names(found)), "auto", {}))
            self.last = found[-1]
            self.look_for_hyphens(rest)
        elif self.at in self.names:
            found = "-"
        else:
            found = OPERATOR.match(rest)[0]
            self.push(found)
            self.last = found[-1]
        self.at += len(found)

    def look_for_hyphens(self, rest):
        name = re.match(r"\w+(?:(?<=[A-Za-z0-9])-(?=[A-Za-z])\w+)+", rest)
        if name and self.at + name[0].index("-") not in self.names:
            after = re.match(r" *=(?![=>~])|:(?=\s|$)", rest[name.end() :])
            if after or re.search("(?:--|</|@)$", self.text[: self.at]):
                self.names |= {self.at + at for at, c in enumerate(name[0]) if c == "-"}

    def string(self, rest):
        word = re.search(r"\w*$", self.text[: self.at])[0]
        if rest[0] == "'" and word and not PREFIX.search(word):
            return None
        if re.match(r"'[A-Za-z_]\w*(?!['\w])", rest) and self.last in "&<":
            return None
        quoted = r"(\"{3}|'{3})((?s:.*?))\1|([\"'])((?:\\(?s:.)|(?!\3)[^\\\n])*)\3"
        found = re.match(quoted, rest)
        return found and (found[0], found[2] if found[1] else found[4])

    def comment(self, rest):
        before, first = self.text[: self.at], self.last == "\n"
        line = lambda mark: (rest.split("\n")[0], rest.split("\n")[0][mark:])
        closed = re.match(r"/\*((?s:.*?))\*/|--\[(=*)\[((?s:.*?))\]\2\]|<!--((?s:.*?))-->", rest)
        if rest.startswith("//") and not self.marks["##"] and not before.endswith(":"):
            behind = self.marks["//"] and not re.search(r"[A-Za-z0-9_./\\\[]$", before)
            if first or self.last in ";{},:" or behind:
                return line(2)
        if closed and rest[0] == "/":
            pattern = re.search(r"[A-Za-z0-9_.*/\\~$\[-]$", before) or rest[2] == ")"
            if pattern or self.marks["##"] and not (self.marks["/*"] and first):
                return None
        if closed:
            return closed[0], closed[1] or closed[3] or closed[4] or ""
        if rest[0] == "#" and self.marks["#"]:
            begins = re.match(r"#(?=\s|$|[!#=*-])", rest) and not DIRECTIVE.match(rest)
            if first and (self.marks["##"] or begins):
                return line(1)
            if not first and re.search(r"[\s;]$", before) and re.match(r"#(?=\s|$)", rest):
                return line(1)
        if rest.startswith("--") and self.marks["--"]:
            if first or re.search(r"[\s;,)]$", before) and re.match(r"--(?=\s|$|-)", rest):
                return line(2)
        return None


def normalize_prose(text, fold):
    """With punctuation dropped: of letters, digits, Han and the punctuation of ASCII."""
    letter, han = r"[^\W\d_]", "[\u4e00-\u9fff]"
    digits = r"(?<=[0-9])[,'](?=[0-9]{3}(?![0-9]))"
    text = re.sub(rf"(?<={letter})['’.](?={letter})|{digits}", "", fold(text))
    text = re.sub(r"(?<![0-9])\.|\.(?![0-9])|[^\w\s.]", " ", text)
    return re.sub(rf"(?<={han})\s+(?={han})", "", " ".join(text.split()))


def features_of(tokens, shingle):
    """Distinct features and their counts, in order of their last tokens, shorter ones first."""
    sizes = sorted(set(shingle)) if isinstance(shingle, list) else [shingle]
    if tokens and len(tokens) < sizes[0]:
        sizes = [len(tokens)]
    counts = {}
    for end in range(1, len(tokens) + 1):
        for size in (size for size in sizes if size <= end):
            feature = " ".join(tokens[end - size : end])
            counts[feature] = counts.get(feature, 0) + 1
    return counts


GIVEN_MODEL = json.loads(pathlib.Path(__file__).with_name("golden_model.json").read_text("utf-8"))


@functools.cache
def model():
    """Of each term of the corpus its idf, and its neighbour entropy in units of 2^-20."""
    documents = [tokens_of(normalize(text)) for text in GIVEN_MODEL["corpus"]]

    def entropy(neighbours):
        counts = [neighbours.count(one) for one in set(neighbours)]
        return -sum(c / len(neighbours) * math.log2(c / len(neighbours)) for c in counts)

    def term(word):
        pairs = [pair for document in documents for pair in zip(document, document[1:])]
        left = entropy([a for a, b in pairs if b == word])
        right = entropy([b for a, b in pairs if a == word])
        found = sum(word in document for document in documents)
        return math.log(len(documents) / (found + 1)), round((left + right) / 2 * 2**20) / 2**20

    return {word: term(word) for document in documents for word in document}


def modelled(scheme, features, cap):
    """Weights by the model, in units of 2^-18."""
    for word, count in features.items():
        idf, entropy = model().get(word, (math.log(len(GIVEN_MODEL["corpus"])), 0))
        tfidf = count / sum(features.values()) * idf
        yield min(weight_by(scheme, count / sum(features.values()), idf, entropy), cap)


def weight_by(scheme, frequency, idf, entropy):
    tfidf = frequency * idf
    esimhash = math.sqrt((tfidf**2 + entropy**2) / 2)
    weight = {"idf": idf, "tfidf": tfidf, "entropy": esimhash}[scheme]
    return max(round(weight * 2**18) / 2**18, 0)


def percentile(scheme, percent):
    """The least weight that so many per cent do not exceed, where a term counts once for each
    document that has it, at its mean frequency."""
    documents = [tokens_of(normalize(text)) for text in GIVEN_MODEL["corpus"]]
    weights = []
    for word, (idf, entropy) in model().items():
        shares = [text.count(word) / len(text) for text in documents if word in text]
        weight = weight_by(scheme, sum(shares) / len(shares), idf, entropy)
        weights += [weight] * len(shares)
    weights.sort()
    return weights[-(-percent * len(weights) // 100) - 1]


def weight_of(scheme, count, cap):
    if scheme == "uniform":
        weight = 1
    elif scheme == "tf":
        weight = count
    else:
        weight = round(1024 * (1 + math.log(count))) / 1024
    return min(weight, cap)


def pi(bits):
    """The fraction of pi, by Machin's formula."""
    one = 1 << bits + 32

    def arctangent(x):
        terms = ((one // x ** (2 * k + 1) // (2 * k + 1), k) for k in itertools.count())
        kept = itertools.takewhile(lambda term: term[0], terms)
        return sum(-term if k % 2 else term for term, k in kept)

    return (4 * (4 * arctangent(5) - arctangent(239)) - 3 * one) >> 32


@functools.cache
def spread(eighth):
    """Every fourth bit of the next 128 bits of pi for each eighth but the first, twice."""
    digits = pi(7 * 128) >> 128 * (7 - eighth) if eighth else 0
    pattern = digits % 2**128 & 0x11111111111111111111111111111111
    return pattern << 128 | pattern


def simhash(features, weights, position, width):
    if not features:
        return None
    components = [0] * width
    for rank, (feature, weight) in enumerate(zip(features, weights)):
        value = HASHES[width](feature.encode())
        value ^= {"none": 0, "paper": rank, "bucket": 16 * rank // len(features)}.get(position, 0)
        if position == "spread":
            value ^= spread(8 * rank // len(features)) % 2**width
        for bit in range(width):
            components[bit] += weight if value >> bit & 1 else -weight
    fingerprint = sum(1 << bit for bit in range(width) if components[bit] > 0)
    return f"{fingerprint:0{width // 4}x}"


def murmur3_finalizer(x):
    x = (x ^ x >> 16) * 0x85EBCA6B % 2**32
    x = (x ^ x >> 13) * 0xC2B2AE35 % 2**32
    return x ^ x >> 16


def signature(features, width):
    """The components of a set.

    One is the least value b + (a i + q i^2) 2^(32 - log2 width) of any feature, mixed.
    """
    scale = 2**32 // width
    for i in range(width):
        values = []
        for feature in features:
            value = HASHES[64](feature.encode())
            b, a, q = value % 2**32, (value >> 32) % 2**16 // 2 * 2 + 1, (value >> 48) // 2 * 2
            values.append((b + (a * i + q * i * i) * scale) % 2**32)
        yield murmur3_finalizer(min(values))


def minhash(features, width):
    """One bit of each component."""
    if not features:
        return None
    bits = (component >> 31 << i for i, component in enumerate(signature(features, width)))
    return f"{sum(bits):0{width // 4}x}"


def splitmix(x):
    """The output function of SplitMix64."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def sketch(features):
    """Each component is the least value of a function of its own over all features."""
    hashes = [xxhash.xxh3_128_intdigest(feature.encode(), seed=0) % 2**64 for feature in features]

    def value(h, i):
        x = (h % 2**32 ^ splitmix(i + 1) >> 32) * (h >> 32 | 1) % 2**32
        return (x ^ x >> 16) * 0x85EBCA6B % 2**32

    return [min(value(h, i) for h in hashes) for i in range(105)]


def f32(number):
    """The nearest number of single precision."""
    return struct.unpack("<f", struct.pack("<f", number))[0]


def exponential(value):
    """-ln(1 - y) in single precision, every operation rounded, of a value as a share y of all."""
    odd = value >> 1 | 1
    rest, y = f32(2**31 - odd) / 2**31, f32(odd) / 2**31
    if y < 0.5:
        above, below, powers = y, f32(2 - y), 0.0
    else:
        mantissa, exponent = math.frexp(rest)
        mantissa, exponent = 2 * mantissa, exponent - 1
        above, below = f32(1 - mantissa), f32(1 + mantissa)
        powers = f32(-exponent * f32(math.log(2)))
    s = f32(above / below)
    square = f32(s * s)
    series = 0.0
    for term in (9, 7, 5, 3):
        series = f32(f32(1 / term) + f32(square * series)) if series else f32(1 / term)
    series = f32(square * series)
    return f32(powers + f32(2 * f32(s + f32(s * series))))


def weighted_sketch(features):
    """Each component is the least number of its own over features with weights in units of 2^-18:
    the bits of an exponential number over the weight."""
    hashes = {xxhash.xxh3_128_intdigest(f.encode(), seed=0) % 2**64: w for f, w in features.items()}

    def value(h, i):
        x = (h % 2**32 ^ splitmix(i + 1) >> 32) * (h >> 32 | 1) % 2**32
        return (x ^ x >> 16) * 0x85EBCA6B % 2**32

    def number(h, i, weight):
        return f32(exponential(value(h, i)) * f32(2**18 / weight))

    least = (min(number(h, i, w) for h, w in hashes.items()) for i in range(105))
    return [struct.unpack("<I", struct.pack("<f", number))[0] for number in least]


def keys(components, bands, rows):
    """The keys of the bands: numbers of 40 bits."""
    for band in range(bands):
        if rows == 3:
            first, second, third = components[3 * band : 3 * band + 3]
        elif band < 35:
            first, second = components[3 * band : 3 * band + 2]
        else:
            first, second = components[2::3][2 * (band - 35) : 2 * (band - 35) + 2]
        value = splitmix(splitmix(band + 1) ^ (first + second * 2**32))
        if rows == 3:
            value = splitmix(value ^ third)
        width = 2**40 // bands
        yield band * width + value * width // 2**64


def keys_digest(components, bands, rows):
    digits = "".join(f"{key:010x}" for key in keys(components, bands, rows))
    return f"{HASHES[64](digits.encode()):016x}"


def problems_of(vector):
    text, config = vector["text"], vector["config"]
    tokenizer = config.get("tokenizer", "auto")
    steps = config.get("normalize", DEFAULT_STEPS)
    if text in WORDS and vector["tokens"] != unicodedata.normalize("NFKC", WORDS[text]).split("|"):
        yield f"tokens should be {WORDS[text]}"
    has_lists = "dictionary" in config or config.get("stopwords", "none") != "none"
    if not has_lists:
        normalized = normalized_of(text, steps)
        if normalized is not None and tokenizer in ("auto", "word"):
            if vector["normalized"] != normalized:
                yield f"normalized should be {normalized!r}"
            if vector["tokens"] != tokens_of(normalized):
                yield f"tokens should be {tokens_of(normalized)!r}"
    if tokenizer == "code":
        if text.isascii() and vector["normalized"] != text:
            yield "normalized should be the text"
        if vector["tokens"] != Code(text, config).tokens:
            yield f"tokens should be {Code(text, config).tokens!r}"
    guesses = tokenizer != "word" and config.get("hmm", True)
    if ("dictionary" in vector or "stopwords" in vector) and not guesses:
        if vector["tokens"] != tokens_by_lists(vector):
            yield f"tokens should be {tokens_by_lists(vector)!r}"
    if "spots" in config:
        spots = {"chain": 2, "distance": 1, **config["spots"]}
        counts = elements = spots_of(told_apart(vector), **spots)
    else:
        counts = features_of(vector["tokens"], config.get("shingle", 1))
        elements = features_of(vector["tokens"], config.get("shingle", 2))
    scheme = config.get("weight", "uniform")
    weights = vector["weights"]
    if scheme != "level":
        cap = config.get("cap", math.inf)
        if isinstance(cap, str):
            cap = percentile(scheme, int(cap.removesuffix("%")))
        if "model" in config:
            expected = list(modelled(scheme, counts, cap))
        else:
            expected = [weight_of(scheme, count, cap) for count in counts.values()]
        if weights != expected:
            yield f"weights should be {expected}"
        weights = expected
    for key, width in (("simhash", 64), ("simhash128", 128), ("simhash256", 256)):
        expected = simhash(list(counts), weights, config.get("position", "none"), width)
        if vector[key] != expected:
            yield f"{key} should be {expected}"
    elements = list(elements)
    for key, width in (("minhash64", 64), ("minhash128", 128), ("minhash256", 256)):
        expected = minhash(elements, width)
        if vector[key] != expected:
            yield f"{key} should be {expected}"
    if scheme == "idf":
        weighed = {f: int(w * 2**18) for f, w in zip(counts, modelled("idf", counts, math.inf))}
        known = {feature: weight for feature, weight in weighed.items() if weight > 0}
        components = weighted_sketch(known or dict.fromkeys(elements, 1)) if elements else None
    else:
        components = sketch(elements) if elements else None
    for similarity, bands, rows in (("0.3", 49, 2), ("0.5", 35, 3), ("0.9", 14, 3)):
        expected = keys_digest(components, bands, rows) if elements else None
        if vector["keys"][similarity] != expected:
            yield f"keys at {similarity} should be {expected}"


def worked_example():
    """The published example of six bits: 100101 weighs 4, 101011 weighs 5."""
    hashes = ((0b100101, 4), (0b101011, 5))
    components = [
        sum(weight if value >> bit & 1 else -weight for value, weight in hashes)
        for bit in range(5, -1, -1)
    ]
    return components == [9, -9, 1, -1, 1, 9]


WEIGHTED = "19c553ff5ae2ec1f"


def weighted_example():
    """The unit test of sketches has the same set and the same digest."""
    features = {f"shingle {i}": (i * i % 17 + 1) << 14 for i in range(40)}
    return keys_digest(weighted_sketch(features), 35, 3) == WEIGHTED


IMATCH = "f787dfe8149373f9"


def imatch_example():
    """The unit test of I-Match has the same texts and the same keys."""
    corpus = [
        "the cat sat on the mat",
        "the dog ran to the cow",
        "the cow ran by a mill",
        "the end",
    ]
    idf = lambda word: math.log(4 / (sum(word in text.split() for text in corpus) + 1))
    known = {word for text in corpus for word in text.split()}
    words = sorted(set("the cat sat the cow ran to a mill".split()) & known)
    terms = [word for word in words if 0.2 <= idf(word) <= 8]
    # A part lacks three tenths of the words.
    hashed = lambda part, word: xxhash.xxh3_64_intdigest(word.encode(), seed=part)
    has = lambda part, word: hashed(part, word) >= (2**64 - 1) // 10 * 3
    parts = [[word for word in terms if part == 0 or has(part, word)] for part in range(11)]
    joined = ["\n".join(part).encode() for part in parts]
    keys = [xxhash.xxh3_64_intdigest(words, seed=part) for part, words in enumerate(joined)]
    digits = "".join(f"{key:016x}" for key in keys)
    return f"{HASHES[64](digits.encode()):016x}" == IMATCH


UNITED = "9705e1156f535a2e"


def united_example():
    """The unit test of unions has the same rows and the same digest. No shingle crosses rows."""
    rows = ("one two three", "three four", "five", "...", "three four")
    shingles = [shingle for row in rows for shingle in features_of(tokens_of(normalize(row)), 2)]
    digits = "".join(f"{component:08x}" for component in signature(shingles, 64))
    return f"{HASHES[64](digits.encode()):016x}" == UNITED


PRIME, BASE = 2**61 - 1, 0x243F6A8885A308D3 >> 3


def mixed(number):
    """The finaliser of MurmurHash3."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        number = (number ^ number >> 33) * factor % 2**64
    return number ^ number >> 33


def kept_of(tokens, words):
    """By winnowing: the least hash of each window of runs, the last of equals. Distinct ones."""
    run = max(words // 2, 3)
    width = words + 1 - run
    hashes = [HASHES[64](token.encode()) for token in tokens]
    starts = range(len(hashes) - run + 1)
    polynomial = lambda sum_so_far, hashed: (sum_so_far * BASE + hashed) % PRIME
    runs = [mixed(functools.reduce(polynomial, hashes[at : at + run], 0)) for at in starts]
    kept = {}
    for start in range(len(runs) - width + 1):
        least = min(range(start, start + width), key=lambda place: (runs[place], -place))
        kept.setdefault(runs[least], least)
    return [f"{hashed:016x} {place}" for hashed, place in sorted(kept.items())]


def problems_of_kept(vector):
    text, tokens = vector["text"], vector["tokens"]
    if is_spaced(text) and not vector["config"] and tokens_of(normalize(text)) != tokens:
        yield f"tokens {tokens_of(normalize(text))}"
    if kept_of(tokens, vector["words"]) != vector["kept"]:
        yield f"kept {kept_of(tokens, vector['words'])}"


def main():
    examples = [worked_example(), weighted_example(), imatch_example(), united_example()]
    passed, failed = sum(examples), sum(not example for example in examples)
    files = {"golden.jsonl": problems_of, "golden_passages.jsonl": problems_of_kept}
    lines = [
        (json.loads(line), check)
        for name, check in files.items()
        for line in pathlib.Path(__file__).with_name(name).read_text("utf-8").splitlines()
    ]
    for vector, check in lines:
        problems = list(check(vector))
        passed, failed = passed + (not problems), failed + bool(problems)
        for problem in problems:
            print(f"{vector['text'][:40]!r} {vector['config']}: {problem}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
