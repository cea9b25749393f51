//! What the fuzzer calls with bytes of its own choice, one function for each kind of input that comes from outside.
//!
//! `fuzz/` has the fuzzer and the inputs worth keeping; `tests/corpus.rs` calls these functions with each of them, so
//! that they stay true without the fuzzer. An input is good or is refused in a sentence. Whatever else happens is a
//! mistake: a panic, or time or memory out of proportion.

use daybreak_dialogue::{Model, Script, play};
use daybreak_engine::Simulation;
use daybreak_engine::replay::{Dialogue as Log, Side, replay};
use daybreak_plan::Plan;

/// How many events of a plan's run are followed.
const EVENTS: u64 = 2_000;
/// A plan that asks for more samples is sound, and its run takes what it asks for.
const SAMPLES: u64 = 100_000;

/// A Plan: read, checked, written and read again, and the beginning of its run.
///
/// # Panics
/// When that goes wrong.
pub fn plan(data: &[u8]) {
    let Ok(plan) = serde_json::from_slice::<Plan>(data) else { return };
    let text = serde_json::to_string(&plan).expect("a plan can be written");
    let again: Plan = serde_json::from_str(&text).expect("what was written can be read");
    assert_eq!(again, plan);
    if let Err(refusal) = plan.validate() {
        return is_sentence(&refusal.to_string());
    }
    if is_large(&plan) {
        return;
    }
    let Ok(mut simulation) = Simulation::new(&plan) else { return };
    simulation.step(EVENTS);
    simulation.finish().expect("packets are conserved");
}

/// A log of a conversation, replayed to both ends of a flow.
///
/// # Panics
/// When replaying it goes wrong.
pub fn replay_log(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let dialogue = match Log::read(text) {
        Ok(dialogue) => dialogue,
        Err(refusal) => return is_sentence(&refusal.to_string()),
    };
    let plan: Plan = serde_json::from_str(PLAN).expect("the plan is sound");
    for side in [Side::Client, Side::Server] {
        if let Err(refusal) = replay(&plan, 0, side, &dialogue) {
            is_sentence(&refusal.to_string());
        }
    }
}

/// A dialogue, played with the model.
///
/// # Panics
/// When that goes wrong.
pub fn dialogue(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let script = match Script::parse(text) {
        Ok(script) => script,
        Err(refusal) => return is_sentence(&refusal.to_string()),
    };
    let mut model = Model::new(&script).expect("the parser knows the rules");
    if let Err(difference) = play(&script, &mut model) {
        is_sentence(&difference.to_string());
    }
}

/// One path of 8 Mbit/s.
const PLAN: &str = include_str!("../../engine/tests/replay/wide-bbr-20ms.json");

fn is_large(plan: &Plan) -> bool {
    let records = &plan.records;
    let intervals = [records.bin_ps, records.window_ps, records.queue_ps];
    let most = intervals.into_iter().flatten().filter(|&ps| ps > 0).map(|ps| plan.end_ps / ps).max();
    most.is_some_and(|samples| samples > SAMPLES)
}

fn is_sentence(refusal: &str) {
    assert!(!refusal.is_empty() && !refusal.contains('\n'), "{refusal:?} is not one sentence");
}
