//! Configurations: one that is accepted is written in one form, which is accepted again.

use simhash_core::Config;

pub fn run(data: &[u8]) {
    let Ok(json) = std::str::from_utf8(data) else { return };
    match Config::parse(json) {
        Ok(config) => {
            let written = config.to_string();
            let again = Config::parse(&written).unwrap_or_else(|error| {
                panic!("{json} is written as {written}, which is no config: {error:?}")
            });
            assert_eq!(config, again, "{json} is written as {written}");
            assert_eq!(written, again.to_string());
        }
        Err(error) => assert!(!error.message().is_empty()),
    }
}
