use simhash_core::*;
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let path = &args[1];
    let docs: Vec<String> = std::fs::read_to_string(path).unwrap().lines().map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap()["text"].as_str().unwrap().to_owned()).collect();
    let bytes: usize = docs.iter().map(|d| d.len()).sum();
    let mut s = Simhasher::new(Config::default()).unwrap();
    let reps: usize = args[3].parse().unwrap();
    let j = if args[2].starts_with("jieba") || args[2] == "all" { Some(jieba_rs::Jieba::new()) } else { None };
    let norm: Vec<String> = docs.iter().map(|d| s.normalize(d, &mut || ())).collect();
    if args[2] == "ratio" || args[2] == "jiebaratio" {
        let j = jieba_rs::Jieba::new();
        let mut ratios = vec![];
        let (mut ta, mut tb) = (0.0, 0.0);
        for r in 0..reps {
            for chunk in docs.chunks(20) {
                let mut run = |which: bool| { let t = Instant::now(); let mut n = 0; for d in chunk { if which { n += j.cut(d, true).len() } else { n += s.fingerprint::<u64>(d, &mut || ()).unwrap_or(0) as usize & 1 } } std::hint::black_box(n); t.elapsed().as_secs_f64() };
                let (a, b) = if r % 2 == 0 { let a = run(true); (a, run(false)) } else { let b = run(false); (run(true), b) };
                ta += a; tb += b; ratios.push(a / b);
            }
        }
        ratios.sort_by(f64::total_cmp);
        println!("ratio p50 {:.3} total {:.3} jieba {:.1} simhash {:.1} MB/s", ratios[ratios.len() / 2], ta / tb, bytes as f64 * reps as f64 / 1e6 / ta, bytes as f64 * reps as f64 / 1e6 / tb);
        return;
    }
    let mut best: std::collections::BTreeMap<&str, f64> = Default::default();
    let modes: Vec<&str> = if args[2] == "all" { vec!["norm", "simhash", "jieba", "jiebanorm", "jiebaruns"] } else { vec![&args[2]] };
    for _ in 0..reps {
        for m in &modes {
            let t = Instant::now();
            let mut n = 0usize;
            match *m {
                "norm" => for d in &docs { n += s.normalize(d, &mut || ()).len(); },
                "simhash" => for d in &docs { n += s.fingerprint::<u64>(d, &mut || ()).unwrap_or(0) as usize & 1; },
                "jieba" => for d in &docs { n += j.as_ref().unwrap().cut(d, true).len(); },
                "jiebanorm" => for d in &norm { n += j.as_ref().unwrap().cut(d, true).len(); },
                "jiebaruns" => for d in &norm { for w in d.split(' ') { n += j.as_ref().unwrap().cut(w, true).len(); } },
                _ => {}
            }
            std::hint::black_box(n);
            let mb = bytes as f64 / 1e6 / t.elapsed().as_secs_f64();
            let e = best.entry(m).or_insert(0.0);
            if mb > *e { *e = mb }
        }
    }
    println!("{:?}", best);
}
