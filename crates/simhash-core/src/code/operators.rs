//! Symbols of several characters: the operators of C, C++, C#, Java, JavaScript, Go, Rust, Python,
//! Perl, PHP, Swift, Haskell and SQL that are made of ASCII.

/// The number of bytes of the longest symbol that `bytes`, which must not be empty, start with.
#[inline]
pub(super) fn length(bytes: &[u8]) -> usize {
    let at = |place: usize| bytes.get(place).copied().unwrap_or(0);
    let four = [at(0), at(1), at(2), at(3)];
    let [a, b, c, _] = four;
    if &four == b">>>=" {
        return 4;
    }
    let is_three = matches!(
        &[a, b, c],
        b"<<="
            | b">>="
            | b">>>"
            | b"<<<"
            | b"==="
            | b"!=="
            | b"**="
            | b"//="
            | b"&&="
            | b"||="
            | b"??="
            | b"..."
            | b"..="
            | b"..<"
            | b"<=>"
            | b"->*"
            | b"!~*"
    );
    let is_two = matches!(
        &[a, b],
        b"=="
            | b"!="
            | b"<="
            | b">="
            | b"<>"
            | b"->"
            | b"<-"
            | b"=>"
            | b"::"
            | b":="
            | b"++"
            | b"--"
            | b"&&"
            | b"||"
            | b"<<"
            | b">>"
            | b"+="
            | b"-="
            | b"*="
            | b"/="
            | b"%="
            | b"&="
            | b"|="
            | b"^="
            | b"~="
            | b".="
            | b"**"
            | b"//"
            | b"??"
            | b"?."
            | b"?:"
            | b".."
            | b"=~"
            | b"!~"
            | b"|>"
            | b"##"
    );
    match (is_three, is_two) {
        (true, _) => 3,
        (_, true) => 2,
        _ => 1,
    }
}
