//! TCP's behaviour as dialogues: text files of segments, times and expected answers. See README.md.

mod endpoint;
mod runner;
mod script;

use std::path::{Path, PathBuf};

use endpoint::Stack;
use script::Script;

/// One test for each file of this directory.
macro_rules! dialogues {
    ($($name:ident,)*) => {
        const LISTED: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { check(stringify!($name)); })*
    };
}


dialogues! {
    application_limited,
    application_limited_slow_start,
    delayed_ack,
    dsack,
    ecn_echo,
    ecn_refused,
    ecn_sender,
    frto_genuine,
    frto_spurious,
    handshake_active,
    handshake_bare_peer,
    handshake_passive,
    idle_restart,
    pacing,
    paws_and_window_checks,
    persist,
    quick_ack_jumbo,
    rack_reordering,
    rto,
    sack_blocks,
    sack_compression,
    sack_recovery,
    sack_without_timestamps,
    slow_start,
    small_queues,
    tail_loss_probe_needless,
    tail_loss_probe_repairs,
    timestamps_echo,
    undo_by_dsack,
    window_scaling_absent,
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dialogues")
}

fn check(name: &str) {
    let text = std::fs::read_to_string(directory().join(name).with_extension("dialogue")).expect("the file is there");
    if let Err(error) = play(&text) {
        panic!("{name}.dialogue, {error}");
    }
}

fn play(text: &str) -> Result<(), String> {
    let script = Script::parse(text)?;
    let mut stack = Stack::new(&script.config, &script.variant).map_err(|error| error.to_string())?;
    runner::run(&script, &mut stack)
}

#[test]
fn every_dialogue_is_listed() {
    let entries = std::fs::read_dir(directory()).expect("the directory is there");
    let mut found: Vec<String> = entries
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "dialogue"))
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    found.sort();
    let mut listed: Vec<&str> = LISTED.to_vec();
    listed.sort_unstable();
    assert_eq!(found, listed);
}
