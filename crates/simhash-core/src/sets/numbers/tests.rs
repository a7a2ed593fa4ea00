//! Tests which numbers a reader sees in a text, and which forms mean the same number.

use proptest::prelude::*;

use super::*;
use crate::Simhasher;
use crate::sets::shingles::ShingleSet;

fn in_order(text: &str) -> Vec<String> {
    let config = r#"{"numbers": "order"}"#.parse().unwrap();
    list(text, &config, usize::MAX, &mut || ()).unwrap()
}

#[track_caller]
fn all_are(forms: &[&str], numbers: &[&str]) {
    for form in forms {
        assert_eq!(in_order(form), numbers, "{form}");
        // The text around a form does not matter.
        assert_eq!(in_order(&format!("on ({form}), as said")), numbers, "({form})");
    }
}

#[test]
fn numbers_in_any_form() {
    all_are(
        &["1234", "1,234", "1.234", "1'234", "1’234", "1\u{202F}234", "１２３４", "١٢٣٤"],
        &["1234"],
    );
    all_are(
        &["1,234.50", "1.234,50", "1\u{A0}234,5", "$1,234.50", "1234.5 €", "1234.5%"],
        &["1234.5"],
    );
    all_are(&["12 kg", "12kg", "12 Kg", "EUR12", "12 €", "€12", "12%", "+12", "12th"], &["12"]);
    all_are(&["-5", "−5", "(-5)"], &["-5"]);
    all_are(&["10-15", "10–15", "10 - 15", "10 to 15", "10-15kg", "5 and 7"][..5], &["10", "15"]);
    all_are(&["½ cup"], &["1/2"]);
    all_are(&["1½"], &["1", "1/2"]);
    all_are(&["16:9"], &["16:9"]);
    all_are(&["24/7"], &["24/7"]);
    all_are(&["३ और ४", "৩ ৪", "๓ ๔"], &["3", "4"]);
    all_are(&["10-year-old", "10 year old"], &["10"]);
    all_are(&["no numbers", "", "a-b", "...", "Q&A"], &[]);
}

#[test]
fn dates_in_any_form() {
    all_are(
        &[
            "2024-03-04",
            "2024/03/04",
            "2024.03.04",
            "2024-3-4",
            "04.03.2024",
            "4 March 2024",
            "4th March 2024",
            "4th of March, 2024",
            "March 4, 2024",
            "March 4th, 2024",
            "Mar. 4, 2024",
            "MARCH 4 2024",
            "04-Mar-2024",
            "04/Mar/2024",
            "04Mar2024",
            "4. März 2024",
            "4 mars 2024",
            "4 de marzo de 2024",
            "4 marzo 2024",
            "4 de março de 2024",
            "4 maart 2024",
            "4 марта 2024 г.",
            "4 marca 2024",
            "2024年3月4日",
            "2024 年 3 月 4 日",
            "２０２４年３月４日",
            "二〇二四年三月四日",
            "二零二四年三月四号",
            "2024년 3월 4일",
        ],
        &["2024-03-04"],
    );
    all_are(&["31.12.2024", "12/31/2024", "31/12/2024", "31 Dec 2024"], &["2024-12-31"]);
    all_are(&["1er août 2024", "1 August 2024", "August 1st, 2024"], &["2024-08-01"]);
    all_are(&["March 2024", "März 2024", "2024年3月", "2024-03"], &["2024-03"]);
    all_are(&["4 March", "March 4", "4. März", "4 mars", "3月4日", "三月四日"], &["--03-04"]);
    all_are(&["2024年", "二〇二四年", "2024"], &["2024"]);
    // The order of day and month is unknown.
    all_are(&["04/03/2024", "4/3/2024", "04-03-2024"], &["4/3/2024"]);
    all_are(&["03/04/2024"], &["3/4/2024"]);
}

#[test]
fn dates_that_are_none_are_numbers() {
    all_are(&["31.02.2024"], &["31.02.2024"]);
    all_are(&["2023-02-29"], &["2023", "02", "29"].map(|n| n.trim_start_matches('0')));
    all_are(&["40 March"], &["40"]);
    all_are(&["30 February 2024"], &["30", "2024-02"]);
    all_are(&["13/13/2024"], &["13/13/2024"]);
    all_are(&["2024年13月"], &["2024", "13"]);
    // Verbs, not months.
    all_are(&["these 2 may differ", "2 march on"], &["2"]);
}

#[test]
fn times_in_any_form() {
    all_are(
        &["14:30", "2:30 pm", "2:30PM", "2:30 p.m.", "14h30", "14.30 Uhr", "14时30分"],
        &["14:30"],
    );
    all_are(&["2 pm", "2pm", "14:00"], &["14:00"]);
    all_are(&["12 am", "0:00", "00:00"], &["0:00"]);
    all_are(&["14:30:05.25"], &["14:30:05.25"]);
    all_are(&["2024-03-04T14:30:00Z", "2024-03-04 14:30:00"], &["2024-03-04", "14:30:00"]);
    all_are(&["25:30"], &["25:30"]);
}

#[test]
fn versions_telephones_and_identifiers() {
    all_are(&["1.2.3", "v1.2.3", "V1.2.3"], &["1.2.3"]);
    all_are(&["1.2.3-rc1", "1.2.3-RC1"], &["1.2.3-rc1"]);
    all_are(&["1.2.3-beta"], &["1.2.3-beta"]);
    all_are(&["3.10"], &["3.10"]);
    all_are(&["192.168.0.1"], &["192.168.0.1"]);
    all_are(&["+49 (30) 1234-567", "+49 30 1234567", "+49-30-1234567"], &["+49301234567"]);
    all_are(&["(555) 123-4567", "555-123-4567"], &["5551234567"]);
    all_are(&["INV-2024-0017", "inv-2024-0017"], &["inv-2024-0017"]);
    all_are(&["AB12CD", "ab12cd"], &["ab12cd"]);
    all_are(&["COVID-19", "Covid-19-related"], &["covid-19"]);
    all_are(&["python3.9"], &["python3.9"]);
    all_are(&["12b"], &["12b"]);
    let uuid = "550e8400-e29b-41d4-a716-446655440000";
    all_are(&[uuid, &uuid.to_uppercase()], &[uuid]);
    let hash = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
    all_are(&[hash], &[hash]);
    all_are(&["978-3-16-148410-0", "9783161484100"], &["9783161484100"]);
    all_are(&["Ф12Б"], &["ф12б"]);
}

#[test]
fn chinese_numerals() {
    all_are(&["三千", "3000", "3,000", "三千元"], &["3000"]);
    all_are(&["3万", "三万", "30,000"], &["30000"]);
    all_are(&["1.5亿", "150,000,000"], &["150000000"]);
    all_are(&["第三章", "三人", "三个", "三月"], &["3"]);
    all_are(&["第十二条", "十二条"], &["12"]);
    all_are(&["百分之五"], &["5"]);
    all_are(&["一个", "统一", "万一", "千万", "一些", "十分", "三三两两", "一人"], &[]);
    all_are(&["第3章"], &["3"]);
}

#[test]
fn digits_with_units() {
    all_are(&["3千元", "3千円", "3천원", "3 000 元".replace(' ', "\u{A0}").as_str()], &["3000"]);
    all_are(&["3百万", "3백만", "三百万"], &["3000000"]);
    all_are(&["3千万", "3천만원", "三千万"], &["30000000"]);
    all_are(&["3万5千", "3만5천", "3만 5천원", "3萬5千"], &["35000"]);
    all_are(&["2千3百", "二千三百"], &["2300"]);
    all_are(&["12万3千", "十二万三千"], &["123000"]);
    all_are(&["1.5万", "1.5만", "15,000"], &["15000"]);
    all_are(&["-3万"], &["-30000"]);
    all_are(&["3-5万"], &["3", "50000"]);
    all_are(&["1,2,3万"], &["1", "2", "30000"]);
    all_are(&["1.2.3元", "1.2.3万"], &["1.2.3"]);
    all_are(&["3千克", "3千米"], &["3"]);
    // Scales in words are not read, and letters are units.
    all_are(&["3 Mio.", "3k", "3 thousand"], &["3"]);
}

#[test]
fn chinese_numerals_before_units() {
    all_are(&["近三天", "三小时", "三点", "三秒", "三周", "三週", "三点半"], &["3"]);
    all_are(&["五分钟", "5分钟", "五分鐘"], &["5"]);
    all_are(&["十点", "十天", "十分钟", "十时"], &["10"]);
    all_are(&["百元", "100元", "百人"], &["100"]);
    all_are(&["一小时", "一分钟", "一秒", "一年"], &["1"]);
    all_are(&["一天", "一点", "一周", "一时", "三四天", "百姓", "百分百", "几百元"], &[]);
    all_are(&["几十人", "十分满意", "三分", "小百货"], &[]);
    all_are(&["3 千元"], &["3"]);
}

#[test]
fn fractions() {
    all_are(&["三分之一", "3分之1", "1/3", "⅓", "1⁄3"], &["1/3"]);
    all_are(&["四分之一", "¼"], &["1/4"]);
    all_are(&["二又二分之一", "2½"], &["2", "1/2"]);
    all_are(&["百分之五", "百分之5", "5%"], &["5"]);
    all_are(&["百分之百"], &["100"]);
    all_are(&[".5 mg", "0.5 mg", ".5mg", "٫5"], &["0.5"]);
    all_are(&["-.25", "−.25", "-0.25"], &["-0.25"]);
    all_are(&["p<.05", "p = .05"], &["0.05"]);
    all_are(&["$.50", "$0.50"], &["0.50"]);
    all_are(&["May .5"], &["0.5"]);
    all_are(&["v.5", "No.5", "a.5", "...5", "一.5"], &["5"]);
    all_are(&["1..5"], &["1", "5"]);
    all_are(&["1.5e-3", "1.5E-3"], &["1.5e-3"]);
    all_are(&["1.5E+10", "1.5e+10", "1.5e10"], &["1.5e10"]);
    all_are(&["-1.5e+10"], &["-1.5e10"]);
}

#[test]
fn signs() {
    all_are(&["-5", "{-5", "[-5]", "=-5", "\u{200E}-5", "a -5", "a\u{A0}-5"], &["-5"]);
    all_are(&["a-5"], &["a-5"]);
    all_are(&["10-5", "10\u{2013}5", "10-$5"], &["10", "5"]);
}

/// Negative amounts as invoices and bank statements write them.
#[test]
fn signs_of_amounts() {
    let negative = [
        "-12.50 EUR",
        "EUR -12.50",
        "\u{2212}12.50 EUR",
        "\u{2013}12.50 EUR",
        "-$12.50",
        "$-12.50",
        "€-12.50",
        "-€12.50",
        "(12.50) EUR",
        "(12.50)\u{A0}€",
        "EUR (12.50)",
        "$(12.50)",
        "12.50- EUR",
        "12.50-",
        "12,50-€",
        "Balance:-12.50",
        "a;-12.50",
        "a,-12.50;",
        "\"-12.50\"",
        "\u{20B9}-12.50",
        "“-12.50”",
        "«-12.50»",
        "‘-12.50’",
        "„-12.50“",
        "【-12.50】",
        "x≥-12.50",
        "-€ 12,50",
        "-CHF 12.50",
        "-USD 12.50",
        "Saldo 12.50-.",
        "Saldo 12.50-, danke",
    ];
    for text in negative {
        all_are(&[text], &["-12.50"]);
    }
    // Lists, prices in brackets, numbers that continue, prices without cents.
    all_are(
        &["- 12.50", "(12.50)", "the small one (12.50 EUR)", "12.50,-", "12.50-inch"],
        &["12.50"],
    );
    all_are(&["5,- EUR", "EUR 5,-", "5.- CHF", "version (5)"], &["5"]);
    all_are(&["(0.00) EUR", "-0.00"], &["0"]);
    // Numbers of notes and of items in brackets.
    all_are(&["items: (1) $5, (2) $7"], &["1", "5", "2", "7"]);
    all_are(&["it costs 5 EUR (2) or 7 EUR (3)"], &["5", "2", "7", "3"]);
    all_are(&["costs $ (2024) in"], &["2024"]);
    // Numbers that are no plain decimals.
    all_are(&["-1.5e10", "-1.5E+10"], &["-1.5e10"]);
    all_are(&["-½ cup", "-\u{BD}"], &["-1/2"]);
    all_are(&["-5/3"], &["-5/3"]);
    all_are(&["-三千"], &["-3000"]);
    all_are(&["1/2-5/3"], &["1/2", "5/3"]);
}

#[test]
fn halves_of_days_in_chinese() {
    all_are(&["下午2时30分", "下午2:30", "晚上2点30分", "午後2時30分"], &["14:30"]);
    all_are(&["오후 2시 30분", "오후 2:30", "下午14时30分", "下午两点三十分"], &["14:30"]);
    all_are(&["上午2时30分", "凌晨2时30分", "오전 2시 30분", "2时30分"], &["2:30"]);
    all_are(&["午後0時30分", "下午12:30"], &["12:30"]);
    all_are(&["13:00 pm", "13:00", "1 pm"], &["13:00"]);
}

#[test]
fn marks_and_what_is_not_seen_part_nothing() {
    let february = ["4 février 2024", "4 fe\u{301}vrier 2024", "4 fevrier 2024", "4 FÉVRIER 2024"];
    all_are(&february, &["2024-02-04"]);
    for (name, month) in [
        ("aout", 8),
        ("marco", 3),
        ("Marz", 3),
        ("Maerz", 3),
        ("pazdziernik", 10),
        ("paź", 10),
        ("wrzesien", 9),
        ("wrzesnia", 9),
        ("kwiecien", 4),
        ("grudzien", 12),
        ("decembre", 12),
        ("styczen", 1),
        ("sierpien", 8),
        ("май", 5),
        ("маи\u{306}", 5),
    ] {
        all_are(&[&format!("4 {name} 2024")], &[&format!("2024-{month:02}-04")]);
    }
    all_are(&["4 de março", "4 de marco", "4 de MARÇO"], &["--03-04"]);
    all_are(&["Nobel de la Paz 2024", "Marco 2024", "março 2024"], &["2024"]);
    all_are(&["31\u{200F}/12\u{200F}/2024", "31\u{AD}/12/2024"], &["2024-12-31"]);
    all_are(&["12\u{200B}34", "\u{FEFF}1234", "12\u{200D}34", "1\u{2060}234"], &["1234"]);
    all_are(&["2024년 3월 4일", "2024\u{1102}\u{1167}\u{11AB} 3월 4일"], &["2024-03-04"]);
    all_are(&["É12", "e\u{301}12", "E12"], &["e12"]);
}

/// Marks and invisible characters do not matter in a configuration without steps either.
#[test]
fn of_the_steps_only_html_and_data_matter() {
    let read = |text, normalize| {
        let config = format!(r#"{{"numbers": "order", "normalize": {normalize}}}"#);
        list(text, &config.parse().unwrap(), 1000, &mut || ()).unwrap()
    };
    for text in ["4 fe\u{301}vrier 2024", "4 fevrier 2024", "\u{200F}4 février\u{200F} 2024"] {
        assert_eq!(read(text, "[]"), ["2024-02-04"]);
    }
    let data = "data:image/png;base64,AB12 x 5";
    assert_eq!(read(data, r#"["data"]"#), ["5"]);
    assert_eq!(read(data, "[]"), ["base64", "ab12", "5"]);
}

#[test]
fn long_numbers_are_kept() {
    let long = "123456789".repeat(1000);
    all_are(&[&long, &format!("{long}.00")], &[&long]);
    let other = format!("{}8", &long[..long.len() - 1]);
    assert_ne!(in_order(&long), in_order(&other));
    let chinese = "一二三四五六七八九".repeat(1000);
    all_are(&[&chinese], &[&long]);
}

#[test]
fn what_html_hides_has_no_numbers() {
    let config = r#"{"numbers": "order", "normalize": ["html"]}"#.parse().unwrap();
    let text = "<td width=100>5 &#8364;<!-- 7 --></td>";
    assert_eq!(list(text, &config, 100, &mut || ()).unwrap(), ["5"]);
    assert_eq!(in_order(text), ["100", "5", "8364", "7"]);
}

fn differ(rule: &str, a: &str, b: &str) -> bool {
    let config: Config = format!(r#"{{"numbers": "{rule}"}}"#).parse().unwrap();
    let mut simhasher = Simhasher::new(config.clone()).unwrap();
    let [x, y] = [a, b].map(|text| ShingleSet::new(&mut simhasher, text, &mut || ()));
    let found = differences([a, b], &config, usize::MAX, &mut || ()).unwrap();
    assert_eq!(x.numbers() != y.numbers(), !found.is_empty(), "{rule}: {a} / {b}");
    assert!(x == y || x.digest() != y.digest());
    !found.is_empty()
}

#[test]
fn rules_compare_what_they_say() {
    for (a, b, any, same, order) in [
        ("pay 5 by 2024-03-04", "pay 5 by March 4, 2024", false, false, false),
        ("pay 5 by 2024-03-04", "pay 5 by 2024-03-05", false, true, true),
        ("2 of 3", "3 of 2", false, false, true),
        ("2 and 2", "2", false, true, true),
        ("none", "", false, false, false),
    ] {
        assert_eq!(["any", "same", "order"].map(|rule| differ(rule, a, b)), [any, same, order]);
    }
}

#[test]
fn differences_name_the_numbers() {
    let config = r#"{"numbers": "order"}"#.parse().unwrap();
    let of = |a, b| {
        let all = differences([a, b], &config, usize::MAX, &mut || ()).unwrap();
        all.into_iter().map(|one| (one.number, one.times)).collect::<Vec<_>>()
    };
    assert_eq!(of("1 2 3 2", "1 3 2 4"), [("2".into(), [2, 1]), ("4".into(), [0, 1])]);
    assert_eq!(of("1 2 3", "1 3 2"), [("2".into(), [1, 0]), ("3".into(), [0, 1])]);
    assert_eq!(of("1 2 3", "1 2 3"), []);
    assert_eq!(differences(["12345", ""], &config, 4, &mut || ()), None);
}

#[test]
fn a_long_text_is_interrupted() {
    for unit in [
        "12 ",
        "word ",
        "一二三 ",
        "é",
        "1-a-",
        "1,",
        "1:",
        "1万",
        "1万1",
        "1e+",
        "三分之",
        "e\u{301}",
        " .1",
        "二又",
        "百元",
    ] {
        let text = unit.repeat(200_000);
        let mut checks = 0;
        for_each_number(&text, &Config::default(), &mut || checks += 1, &mut |_| ());
        assert!(checks > text.len() / (64 << 10), "{unit}: {checks} checks");
    }
}

proptest! {
    /// Numbers in any order and in equivalent forms are the same numbers.
    #[test]
    fn order_and_form_do_not_matter(
        numbers in prop::collection::vec((1000u32..999_999, 0usize..5), 1..20),
        rotate in 0usize..20,
    ) {
        let form = |number: u32, form: usize| {
            let (high, low) = (number / 1000, number % 1000);
            match form {
                0 => format!("{number}"),
                1 => format!("{high},{low:03}"),
                2 => format!("{high}.{low:03}"),
                3 => format!("{high}'{low:03}.00"),
                _ => format!("0{number}"),
            }
        };
        let a: Vec<String> = numbers.iter().map(|&(number, _)| format!("{number} x")).collect();
        let mut b: Vec<String> =
            numbers.iter().map(|&(number, of)| format!("x {}", form(number, of))).collect();
        b.rotate_left(rotate % numbers.len());
        prop_assert!(!differ("same", &a.join(" "), &b.join(" ")));
        b.pop();
        prop_assert!(differ("same", &a.join(" "), &b.join(" ")));
    }

    /// Whole numbers between words are all found, in their order.
    #[test]
    fn whole_numbers_are_all_there(numbers in prop::collection::vec(0u32..5000, 0..20)) {
        let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
        prop_assert_eq!(in_order(&words.join(" x ")), words);
    }

    /// Any text can be read, and no number is empty.
    #[test]
    fn any_text_is_read(text in r"([0-9]{1,4}|[-+./:, '()TZ年月日一十万]|am|pm|Mar|é|v|x){0,40}") {
        for number in in_order(&text) {
            prop_assert!(!number.is_empty());
        }
        let _ = differ("same", &text, &text);
    }

    #[test]
    fn arbitrary_text_is_read(text in any::<String>()) {
        in_order(&text);
    }
}

#[test]
fn embedded_data_has_no_numbers() {
    let text = |data| format!("Invoice 17 ![](data:image/png;base64,{data}) of 2024-03-04");
    let [a, b] = ["iVBORw0KGgo12345==", "iVBORw0KGgo99999=="].map(|data| in_order(&text(data)));
    assert_eq!(a, ["17", "2024-03-04"]);
    assert_eq!(a, b);
}
