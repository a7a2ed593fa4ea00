//! Models and unfinished training: bytes that are accepted can be used, and mean the same after
//! they are written and read again. A model carries a checksum. It is corrected here, so that the
//! bytes behind it are read.

use std::sync::Arc;

use simhash_core::features::model::Model;
use simhash_core::models::train::Trainer;
use simhash_core::{Config, Named, Simhasher};
use xxhash_rust::xxh3::xxh3_64;

pub fn run(data: &[u8]) {
    let mut bytes = data.to_vec();
    if bytes.len() >= 16 {
        let sum = xxh3_64(&bytes[16..]);
        bytes[8..16].copy_from_slice(&sum.to_le_bytes());
    }
    if let Ok(model) = Model::from_bytes(bytes.clone().into()) {
        assert_eq!(model.as_bytes(), bytes);
        use_model(model);
    }
    let none = &mut || ();
    if let Ok(trainer) = Trainer::from_bytes(data, |_| Named::default(), none) {
        // The order in which terms are written is not fixed.
        let written = trainer.to_bytes(none);
        let again = Trainer::from_bytes(&written, |_| Named::default(), none)
            .unwrap_or_else(|error| panic!("what was written is not read: {error:?}"));
        let [one, other] = [trainer, again].map(|mut trainer| trainer.finish(None, none));
        assert_eq!(one.as_bytes(), other.as_bytes());
    }
}

fn use_model(model: Model) {
    let config = Config { model: Some("m".into()), ..Config::default() };
    let named = Named { model: Some(Arc::new(model)), ..Named::default() };
    if let Ok(mut simhasher) = Simhasher::with(config, named, &mut || ()) {
        simhasher.fingerprint::<u64>("the quick brown fox", &mut || ());
    }
}
