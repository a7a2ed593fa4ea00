//! Tokens of source code: published examples, the syntax of each language, and rules for any text.

use proptest::prelude::*;
use simhash_core::config::recipes::near_recipe;
use simhash_core::sets::sketch::{Sketcher, near};
use simhash_core::{Config, Simhasher};

use super::common;

const CODE: &str = r#"{"tokenizer": "code"}"#;
const KEEP: &str = r#"{"tokenizer": "code", "comments": "keep"}"#;
const LINES: &str = r#"{"tokenizer": "code", "whitespace": "keep"}"#;
const CASES: &str = r#"{"tokenizer": "code", "normalize": []}"#;

fn simhasher(config: &str) -> Simhasher {
    Simhasher::new(config.parse::<Config>().unwrap()).unwrap()
}

fn tokens(text: &str, config: &str) -> String {
    simhasher(config).tokens(text, &mut || ()).join(" ")
}

#[track_caller]
fn check(config: &str, examples: &[(&str, &str)]) {
    for (text, expected) in examples {
        assert_eq!(tokens(text, config), *expected, "{text:?}");
    }
}

/// `splitByCharacterTypeCamelCase` in the documentation of Apache Commons Lang 3, class
/// StringUtils, except that white space is no token here.
#[test]
fn names_are_cut_as_by_commons_lang() {
    check(
        CASES,
        &[
            ("", ""),
            ("ab de fg", "ab de fg"),
            ("ab   de fg", "ab de fg"),
            ("ab:cd:ef", "ab : cd : ef"),
            ("number5", "number 5"),
            ("fooBar", "foo Bar"),
            ("foo200Bar", "foo 200 Bar"),
            ("ASFLicense", "ASF License"),
        ],
    );
}

/// The examples of Lucene's WordDelimiterGraphFilter, of the Google Java Style Guide (section 5.3,
/// "Camel case: defined") and of heck, a crate of cases. If these join letters and digits, or keep
/// them together, the rule of all tokenizers applies instead.
#[test]
fn names_are_cut_as_published() {
    check(
        CASES,
        &[
            ("PowerShot", "Power Shot"),
            ("SD500", "SD 500"),
            ("XmlHttpRequest", "Xml Http Request"),
            ("newCustomerId", "new Customer Id"),
            ("innerStopwatch", "inner Stopwatch"),
            ("supportsIpv6OnIos", "supports Ipv 6 On Ios"),
            ("YouTubeImporter", "You Tube Importer"),
            ("CamelCase", "Camel Case"),
            ("SHOUTY_SNAKE_CASE", "SHOUTY SNAKE CASE"),
            (
                "this_contains_ ALLKinds OfWord_Boundaries",
                "this contains ALL Kinds Of Word Boundaries",
            ),
            ("XΣXΣ baffle", "XΣXΣ baffle"),
            ("XMLHttpRequest", "XML Http Request"),
            ("FIELD_NAME11", "FIELD NAME 11"),
            ("99BOTTLES", "99 BOTTLES"),
            ("FieldNamE11", "Field Nam E 11"),
            ("abc123def456", "abc 123 def 456"),
        ],
    );
}

#[test]
fn names_of_all_scripts_are_cut() {
    check(
        CODE,
        &[
            ("HTTPServer parseHTTPHeader __init__ _a_", "http server parse http header init a"),
            ("getURLs iPhone aB", "get ur ls i phone a b"),
            ("v2.0 1.2.3 0x1F 3.14f 1e10 1_000", "v 2.0 1.2.3 0 x 1 f 3.14 f 1 e 10 1 000"),
            ("größeÄndern GRÖSSE_ÄNDERN", "grosse andern grosse andern"),
            ("получитьИмя ПолучитьXMLДанные", "получить имя получить xml данные"),
            ("获取用户名() 用户Name 用户_名", "获取 用户名 ( ) 用户 name 用户 名"),
            ("变量 = ｖａｌｕｅ１；", "变量 = value 1 ;"),
            ("foo\u{200B}Bar \u{FEFF}x", "foo bar x"),
            ("カナName😀", "カナ name 😀"),
        ],
    );
    check(CASES, &[("größeÄndern Ⅷ", "größe Ändern Ⅷ")]);
}

#[test]
fn symbols_are_tokens() {
    check(
        CODE,
        &[
            ("a==b;a->b;a::b;a<<=b", "a == b ; a -> b ; a :: b ; a <<= b"),
            ("x>>>=1 y===z a<=>b f(...)", "x >>>= 1 y === z a <=> b f ( ... )"),
            ("i++ + ++j --k", "i ++ + ++ j -- k"),
            ("C, C++, C#, F#, .NET, Objective-C", "c , c ++ , c # , f # , . net , objective - c"),
            ("$x @y ~z", "$ x @ y ~ z"),
            ("if（甲）{乙。丙}", "if ( 甲 ) { 乙 。 丙 }"),
            ("[1..10] 1...2 a..b", "[ 1 .. 10 ] 1 ... 2 a .. b"),
        ],
    );
}

#[test]
fn hyphens_in_names_are_no_differences() {
    check(
        CODE,
        &[
            ("a-b a - b len-1", "a - b a - b len - 1"),
            ("--dry-run apt-get -x", "-- dry run apt - get - x"),
            ("font-size: 1em; margin-top:0", "font size : 1 em ; margin - top : 0"),
            ("<my-tag data-id=\"x\"></my-tag>", "< my - tag data id = \" x > < / my tag >"),
            ("a-b == c; a-b = c; a-b => c", "a - b == c ; a b = c ; a - b => c"),
        ],
    );
}

#[test]
fn strings_are_words() {
    check(
        CODE,
        &[
            ("puts(\"Hello, World!\\n\")", "puts ( \" hello world )"),
            ("a = 'it''s'; b = 'x\\'y'", "a = \" it \" s ; b = \" x y"),
            ("u = \"http://x.org/a\"; // url", "u = \" http xorg a ;"),
            ("s = 'a # b -- c /* d */ // e'", "s = \" a b c d e"),
            (
                "f(\"userName\", \"user_name\", \"C++\", \".NET\")",
                "f ( \" user name , \" user name , \" c ++ , \" . net )",
            ),
            ("print(\"你好，世界\")", "print ( \" 你好 世界 )"),
            ("don't y' 1'000 b'a c' b'd'", "don ' t y ' 1 ' 000 b \" a c b \" d"),
            ("fn f<'a>(x: &'a str, y: &'a str)", "fn f < ' a > ( x : & ' a str , y : & ' a str )"),
            ("f(\"c++.x _.y a\\n.z\")", "f ( \" c ++ x y a . z )"),
            ("c = '\"'; d = '\\''; e = 'x'", "c = \" ; d = \" ; e = \" x"),
            ("x = \"open // not closed", "x = \" open // not closed"),
            ("d = \"\"\"two\n// lines\n\"\"\" + e", "d = \" two lines + e"),
            ("q = `a // ${b + \"c\"}\n/* d */` + e", "q = \" a // $ { b + \" c \" } / * d * / + e"),
            ("\"a\\\nb\" c", "\" a b c"),
        ],
    );
}

#[test]
fn comments_are_dropped() {
    check(
        CODE,
        &[
            // C and its family.
            ("a(); // b\nc(); /* d\n e */ f();", "a ( ) ; c ( ) ; f ( ) ;"),
            ("x int // the x\n// more\ny int // the y", "x int y int"),
            (
                "#include <a.h>\n#define F(x) #x ## y // z\n/* c */",
                "# include < a . h > # define f ( x ) # x ## y",
            ),
            // Python, shell, Perl and others.
            ("#!/bin/sh\n# a\nb # c\necho \"# d\" $#", "b echo \" d $ #"),
            ("# note\na = b // c # d", "a = b // c"),
            // SQL, Lua, Haskell, Ada.
            ("-- a\nselect b -- c\nfrom d", "select b from d"),
            ("--[[ a\n b ]] x = 1 --[==[ ]] ]==] y", "x = 1 y"),
            // HTML and XML.
            ("<p>a</p><!-- b\n c --><br>", "< p > a < / p > < br >"),
        ],
    );
    check(
        KEEP,
        &[
            ("a(); // bC's D\nc(); /* 你好 e_f */", "a ( ) ; b cs d c ( ) ; 你好 e f"),
            ("# written in C#, not C++.\nb # c", "written in c # not c ++ b c"),
        ],
    );
}

/// Each of these contains the beginning of a comment in some other language.
#[test]
fn code_is_not_taken_for_comments() {
    check(
        CODE,
        &[
            ("a = b // c", "a = b // c"),
            ("my $x = $y // 5;", "my $ x = $ y // 5 ;"),
            ("proxy_pass http://127.0.0.1:8000;", "proxy pass http : // 127.0.0.1 : 8000 ;"),
            ("#define STR(x) # x", "# define str ( x ) # x"),
            ("#[derive(Debug)]\nstruct A;", "# [ derive ( debug ) ] struct a ;"),
            ("#header { color: #fff }", "# header { color : # fff }"),
            ("while (i --> 0) --i;\n--i;", "while ( i -- > 0 ) -- i ; -- i ;"),
            ("git checkout -- file", "git checkout -- file"),
            ("  --prefix=/usr \\\n  --with-x", "-- prefix = / usr \\ -- with x"),
            ("rm -rf build/* src/**/*.o # now */", "rm - rf build / * src / ** / * . o # now * /"),
            (
                "case \"$x\" in\n  /*) a;;\n  */*) b;;\nesac",
                "case \" x in / * ) a ; ; * / * ) b ; ; esac",
            ),
            ("a /* b", "a / * b"),
            ("a <!-- b", "a < ! -- b"),
            ("x --[[ a", "x -- [ [ a"),
            ("\"\"\" a // b", "\" \" a // b"),
        ],
    );
}

/// The Python language reference, section 2.1.8: an example of a function whose indentation is bad,
/// but right.
#[test]
fn white_space_is_kept_if_asked_for() {
    check(
        LINES,
        &[
            ("a\n\n  b # c\n  d\n# e\nf", "a ↵ ⇥ b ↵ d ↵ ⇤ f"),
            ("  a\n\tb\n        c\n", "⇥ a ↵ ⇥ b ↵ c"),
            (
                "def perm(l):\n        # Compute the list\n    if len(l) <= 1:\n                  \
                 return [l]\n    r = []\n",
                "def perm ( l ) : ↵ ⇥ if len ( l ) <= 1 : ↵ ⇥ return [ l ] ↵ ⇤ r = [ ]",
            ),
        ],
    );
}

#[test]
fn contradictions_are_refused_with_a_hint() {
    for (json, message, hint) in [
        (
            r#"{"tokenizer": "code", "normalize": ["lower", "punctuation"]}"#,
            r#"the step "punctuation" of "normalize" removes what the tokenizer code requires"#,
            "omit \"normalize\", or list only steps out of html, data, mojibake, nfkc, \
             german, marks, lower, simplified, digits.",
        ),
        (
            r#"{"comments": "keep"}"#,
            r#""comments" "keep" is not used by the tokenizer auto"#,
            "code",
        ),
        (
            r#"{"tokenizer": "char", "whitespace": "drop"}"#,
            r#""whitespace" "drop" is not used by the tokenizer char"#,
            "code",
        ),
        (
            r#"{"tokenizer": "code", "comments": "some"}"#,
            r#"invalid value "some" for "comments""#,
            "Allowed: drop, keep.",
        ),
    ] {
        let error = Config::parse(json).unwrap_err();
        assert!(error.message().contains(message), "{json}: {}", error.message());
        assert!(error.hint().contains(hint), "{json}: {}", error.hint());
    }
    for (json, canonical) in [
        (CODE, CODE),
        (
            r#"{"tokenizer": "code", "normalize": ["nfkc","marks","lower","simplified","digits"],
                "comments": "drop", "whitespace": "drop"}"#,
            CODE,
        ),
        (
            r#"{"whitespace": "keep", "comments": "keep", "tokenizer": "code", "normalize": []}"#,
            r#"{"tokenizer": "code", "normalize": [], "comments": "keep", "whitespace": "keep"}"#,
        ),
    ] {
        assert_eq!(json.parse::<Config>().unwrap().to_string(), canonical);
    }
}

const CONFIGS: &[&str] = &[
    CODE,
    KEEP,
    LINES,
    CASES,
    r#"{"tokenizer": "code", "comments": "keep", "whitespace": "keep", "normalize": ["nfkc"]}"#,
    r#"{"tokenizer": "code", "stopwords": "en", "shingle": 2}"#,
];

const PIECES: &[&str] = &[
    "a",
    "fooBar",
    "HTTPServer",
    "x_1",
    "1",
    "2.0",
    ".",
    " ",
    "\n",
    "\n    ",
    "\t",
    "\r\n",
    "//",
    "/*",
    "*/",
    "#",
    "# ",
    "--",
    "-- ",
    "--[[",
    "--[=[",
    "]]",
    "]=]",
    "<!--",
    "-->",
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "`",
    "\\",
    "\\n",
    "\\\"",
    "-",
    "+",
    "++",
    "=",
    "==",
    "<",
    ">",
    ":",
    ";",
    ",",
    "{",
    "}",
    "(",
    ")",
    "&",
    "|",
    "$",
    "@",
    "!",
    "?",
    "你好",
    "，",
    "é",
    "e\u{301}",
    "Ж",
    "ж",
    "\u{200B}",
    "\u{FEFF}",
    "カ",
    "\u{2028}",
    "😀",
    "#include",
    "#!",
    "b'",
    "&'a",
    "http://",
    "for",
    "_",
    "__",
    "A",
    "AB",
    "Ab",
    "٣",
    "½",
    "…",
    "\u{3000}",
    "א",
    "ไทย",
];

/// The text between words, as a pattern.
const GAP: &str = "[-+*/#<>!=;:,.\"'`(){}\\[\\] \n]{1,4}";

fn source() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        20 => prop::sample::select(PIECES).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => common::text(),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(common::cases(3000))]

    #[test]
    fn tokens_are_those_of_the_normalised_text(
        text in source(),
        config in prop::sample::select(CONFIGS),
    ) {
        let mut simhasher = simhasher(config);
        let normalized = simhasher.normalize(&text, &mut || ());
        let from_text = simhasher.tokens(&text, &mut || ());
        prop_assert_eq!(&simhasher.tokens(&normalized, &mut || ()), &from_text);
        for token in from_text {
            prop_assert!(!token.is_empty() && !token.contains(char::is_whitespace), "{:?}", token);
        }
    }

    /// If comments are kept, no word of the text is lost, however its parts are interpreted. No
    /// letter of these texts is an escape.
    #[test]
    fn no_word_is_lost(
        words in prop::collection::vec(("[a-z]{1,6}", GAP), 0..30),
    ) {
        let text: String = words.iter().flat_map(|(word, gap)| [word.as_str(), gap]).collect();
        let kept = simhasher(KEEP).tokens(&text, &mut || ());
        let kept: String = kept.concat().chars().filter(char::is_ascii_lowercase).collect();
        let expected: String = words.iter().map(|(word, _)| word.as_str()).collect();
        prop_assert_eq!(kept, expected);
    }

    /// Code without quotes, comments and hyphens has the same tokens in any layout.
    #[test]
    fn spaces_around_symbols_do_not_count(
        words in prop::collection::vec(("[a-z]{1,6}", "[(){}\\[\\];,=]"), 0..30),
        spaces in prop::collection::vec("[ \t\n]{0,3}", 60),
    ) {
        let tokens_of = |text: &str| simhasher(CODE).tokens(text, &mut || ());
        let parts: Vec<&str> =
            words.iter().flat_map(|(word, symbol)| [word.as_str(), symbol]).collect();
        let dense = parts.concat();
        let spaced = parts.iter().zip(&spaces);
        let loose: String = spaced.flat_map(|(&part, gap)| [part, gap]).collect();
        prop_assert_eq!(tokens_of(&dense).len(), parts.len());
        prop_assert_eq!(tokens_of(&loose), tokens_of(&dense));
    }
}

/// A megabyte of openings that are never closed.
#[test]
fn large_texts_take_linear_time_and_check_for_interruption() {
    let units = [
        "/",
        "/*",
        "*/",
        "//",
        "#",
        "# ",
        "-",
        "--",
        "--[[",
        "--[=[",
        "<!--",
        "<",
        "\"",
        "'",
        "`",
        "\"\"\"",
        "'''",
        "\\",
        "\\\"",
        "a-",
        "-a",
        "a-b",
        "&'a",
        "&'",
        "b'",
        "a'",
        "'\\",
        "\"\\",
        "a.",
        "1.",
        "_",
        "aA",
        "AAa",
        "é",
        "éA",
        "А",
        "\n",
        " ",
        "\n ",
        "a\n b\n",
        "\"'",
        "'\"",
        "a\"b'",
        "\"\n",
        "C++ ",
        "C#",
        " .a",
        "//\n",
        "/*\n",
        "--[===[ ",
        "`\"",
        "=",
        "你",
        "a你",
        "x = \"",
        "/* \" ",
        "\" /* ",
        "--[[ --[=[ --[==[ ",
        "--a-b",
        "a-b=",
    ];
    for unit in units {
        let text = unit.repeat((1 << 20) / unit.len());
        for config in [CODE, KEEP, LINES] {
            let mut checks = 0;
            simhasher(config).fingerprint::<u64>(&text, &mut || checks += 1);
            assert!(checks >= 2, "{unit:?} {config}: {checks} checks over 1 MB");
        }
    }
}

/// Copies of code with another layout and other comments.
#[test]
fn copies_are_near() {
    let a = "/* Counts. */\nint count(const char *s)\n{\n    int n = 0;\n    while (*s++)\n\
             \x20       n++;\n    return n;\n}\n";
    let b = "int count( const char* s ) {\n\tint n=0; // starts at none\n\twhile( *s++ ) n++;\n\
             \treturn n; }\n";
    let config: Config = CODE.parse().unwrap();
    let mut sketcher = Sketcher::new(Simhasher::new(near_recipe(&config)).unwrap());
    let mut sketch = |text: &str| sketcher.sketch(text, &mut || ()).unwrap();
    let (a, b) = (sketch(a), sketch(b));
    assert_eq!(a.set().jaccard(b.set()), Some(1.0));
    assert!(near(&a, &b, 0.9));
}
