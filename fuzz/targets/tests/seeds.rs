//! Every target processes the seeds and the fuzzers' earlier findings.

use std::fs;
use std::path::{Path, PathBuf};

use hprof_fuzz_targets::TARGETS;

fn seeds(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../seeds")
        .join(target);
    let entries = fs::read_dir(folder).expect("each target has seeds");
    entries
        .map(|entry| entry.expect("the folder can be read").path())
        .collect()
}

#[test]
fn every_target_takes_its_seeds() {
    for (name, target) in TARGETS {
        let seeds = seeds(name);
        assert!(!seeds.is_empty(), "{name}");
        for seed in seeds {
            println!("{}", seed.display());
            target(&fs::read(&seed).expect("a seed can be read"));
        }
    }
}

#[test]
fn every_target_takes_pieces_of_the_seeds_of_all() {
    let all: Vec<_> = TARGETS.iter().flat_map(|(name, _)| seeds(name)).collect();
    for seed in all {
        let bytes = fs::read(&seed).expect("a seed can be read");
        for step in 0..16 {
            let piece = &bytes[..bytes.len() * step / 16];
            let mut changed = bytes.clone();
            if let Some(byte) = changed.get_mut(piece.len()) {
                *byte ^= 0xff;
            }
            for (_, target) in TARGETS {
                target(piece);
                target(&changed);
            }
        }
    }
}
