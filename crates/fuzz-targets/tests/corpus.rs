//! Every input that the fuzzer keeps, without the fuzzer.

use std::path::Path;

/// Calls a target with each file of its corpus.
fn run(name: &str, target: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut files = 0;
    for entry in std::fs::read_dir(&directory).expect("the corpus is there") {
        target(&std::fs::read(entry.expect("readable").path()).expect("readable"));
        files += 1;
    }
    assert!(files > 0, "{} is empty", directory.display());
}

#[test]
fn plans() {
    run("plan", daybreak_fuzz_targets::plan);
}

#[test]
fn replay_logs() {
    run("replay", daybreak_fuzz_targets::replay_log);
}

#[test]
fn dialogues() {
    run("dialogue", daybreak_fuzz_targets::dialogue);
}

/// The corpus reaches what is behind the parsers: its plans run, its logs are replayed, its dialogues are played.
#[test]
fn the_corpus_is_sound() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let read = |path: &str| std::fs::read_to_string(corpus.join(path)).expect("readable");
    for name in ["everything", "circuit", "own-network", "rules", "wide-bbr", "downtime"] {
        let plan: daybreak_plan::Plan =
            serde_json::from_str(&read(&format!("plan/{name}.json"))).expect("it is a plan");
        plan.validate().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let log = daybreak_engine::replay::Dialogue::read(&read("replay/wide.csv")).expect("it is a log");
    assert!(!log.sent.is_empty() && !log.received.is_empty());
    let script = daybreak_dialogue::Script::parse(&read("dialogue/recovery.dialogue")).expect("it is a dialogue");
    let mut model = daybreak_dialogue::Model::new(&script).expect("its rule is known");
    daybreak_dialogue::play(&script, &mut model).expect("the model says what it expects");
}
