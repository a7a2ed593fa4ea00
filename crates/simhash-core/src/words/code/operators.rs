//! Symbols of several characters: the operators of C, C++, C#, Java, JavaScript, Go, Rust, Python,
//! Perl, PHP, Swift, Haskell and SQL that are made of ASCII.

/// The number of bytes of the longest symbol at the start of `bytes`, which must not be empty.
#[inline]
pub(super) fn length(bytes: &[u8]) -> usize {
    let at = |place: usize| bytes.get(place).copied().unwrap_or(0);
    let [a, b, c, d] = [at(0), at(1), at(2), at(3)];
    if &[a, b, c, d] == b">>>=" {
        4
    } else if is_of_three([a, b, c]) {
        3
    } else if is_of_two([a, b]) {
        2
    } else {
        1
    }
}

#[inline]
fn is_of_three(bytes: [u8; 3]) -> bool {
    matches!(
        &bytes,
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
    )
}

#[inline]
fn is_of_two(bytes: [u8; 2]) -> bool {
    matches!(
        &bytes,
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
    )
}
