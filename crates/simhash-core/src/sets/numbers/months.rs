//! The names of months in Danish, Dutch, English, French, German, Italian, Norwegian, Polish,
//! Portuguese, Russian, Spanish and Swedish.
//!
//! They are those of the Unicode CLDR (Babel 2.19), wide and abbreviated, in the forms within a
//! date and alone. They are in lower case, without full stops and without marks. Maerz, the
//! spelling without umlauts, is added. Abbreviations that are a common word of another language are
//! left out: ago, des, gen, lip, lis, lug, mag, out, set, sie, sty.

/// The longest name, in bytes. With its marks, no name is longer.
pub(super) const LONGEST: usize = 16;

/// The number of a month, by its name in lower case and without marks.
pub(super) fn month(name: &[u8]) -> Option<u8> {
    let place = MONTHS.binary_search_by_key(&name, |(name, _)| name.as_bytes()).ok()?;
    Some(MONTHS[place].1)
}

/// Sorted by name.
#[rustfmt::skip]
const MONTHS: [(&str, u8); 161] = [
    ("abr", 4), ("abril", 4), ("agosto", 8), ("aout", 8), ("apr", 4), ("april", 4), ("aprile", 4),
    ("aug", 8), ("august", 8), ("augusti", 8), ("augustus", 8), ("avr", 4), ("avril", 4),
    ("cze", 6), ("czerwca", 6), ("czerwiec", 6), ("dec", 12), ("december", 12), ("decembre", 12),
    ("desember", 12), ("dez", 12), ("dezember", 12), ("dezembro", 12), ("dic", 12),
    ("dicembre", 12), ("diciembre", 12), ("ene", 1), ("enero", 1), ("feb", 2), ("febbraio", 2),
    ("febrero", 2), ("februar", 2), ("februari", 2), ("february", 2), ("fev", 2), ("fevereiro", 2),
    ("fevr", 2), ("fevrier", 2), ("gennaio", 1), ("giu", 6), ("giugno", 6), ("gru", 12),
    ("grudnia", 12), ("grudzien", 12), ("jan", 1), ("janeiro", 1), ("januar", 1), ("januari", 1),
    ("january", 1), ("janv", 1), ("janvier", 1), ("juil", 7), ("juillet", 7), ("juin", 6),
    ("jul", 7), ("julho", 7), ("juli", 7), ("julio", 7), ("july", 7), ("jun", 6), ("june", 6),
    ("junho", 6), ("juni", 6), ("junio", 6), ("kwi", 4), ("kwiecien", 4), ("kwietnia", 4),
    ("lipca", 7), ("lipiec", 7), ("listopad", 11), ("listopada", 11), ("luglio", 7), ("lut", 2),
    ("lutego", 2), ("luty", 2), ("maart", 3), ("maerz", 3), ("maggio", 5), ("mai", 5), ("maio", 5),
    ("maj", 5), ("maja", 5), ("mar", 3), ("marca", 3), ("march", 3), ("marco", 3), ("mars", 3),
    ("marts", 3), ("marz", 3), ("marzec", 3), ("marzo", 3), ("may", 5), ("mayo", 5), ("mei", 5),
    ("mrt", 3), ("nov", 11), ("november", 11), ("novembre", 11), ("novembro", 11),
    ("noviembre", 11), ("oct", 10), ("october", 10), ("octobre", 10), ("octubre", 10), ("okt", 10),
    ("oktober", 10), ("ott", 10), ("ottobre", 10), ("outubro", 10), ("paz", 10),
    ("pazdziernik", 10), ("pazdziernika", 10), ("sep", 9), ("sept", 9), ("september", 9),
    ("septembre", 9), ("septiembre", 9), ("setembro", 9), ("settembre", 9), ("sierpien", 8),
    ("sierpnia", 8), ("styczen", 1), ("stycznia", 1), ("wrz", 9), ("wrzesien", 9), ("wrzesnia", 9),
    ("авг", 8), ("август", 8), ("августа", 8), ("апр", 4), ("апрель", 4), ("апреля", 4),
    ("дек", 12), ("декабрь", 12), ("декабря", 12), ("июл", 7), ("июль", 7), ("июля", 7), ("июн", 6),
    ("июнь", 6), ("июня", 6), ("маи", 5), ("мар", 3), ("март", 3), ("марта", 3), ("мая", 5),
    ("нояб", 11), ("ноябрь", 11), ("ноября", 11), ("окт", 10), ("октябрь", 10), ("октября", 10),
    ("сент", 9), ("сентябрь", 9), ("сентября", 9), ("февр", 2), ("февраль", 2), ("февраля", 2),
    ("янв", 1), ("январь", 1), ("января", 1),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order() {
        assert!(MONTHS.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(MONTHS.iter().map(|(name, _)| name.len()).max(), Some(LONGEST));
    }
}
