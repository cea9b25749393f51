#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use serde_json::{Number, Value};

fuzz_target!(|data: &[u8]| daybreak_fuzz_targets::plan(data));

// Few changes of bytes leave a plan readable, so two of three change its values instead.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut draw = Draw(seed);
    let Ok(mut plan) = serde_json::from_slice::<Value>(&data[..size]) else {
        return fuzzer_mutate(data, size, max_size);
    };
    if draw.below(3) == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    for _ in 0..=draw.below(3) {
        change(&mut plan, &mut draw);
    }
    let text = plan.to_string();
    if text.len() > max_size {
        return fuzzer_mutate(data, size, max_size);
    }
    data[..text.len()].copy_from_slice(text.as_bytes());
    text.len()
});

/// Changes one value, found by going down at random.
fn change(value: &mut Value, draw: &mut Draw) {
    match value {
        Value::Array(list) if !list.is_empty() => {
            let at = draw.below(list.len());
            match draw.below(8) {
                0 => drop(list.remove(at)),
                1 => list.push(list[at].clone()),
                2 => list.swap(at, 0),
                _ => change(&mut list[at], draw),
            }
        }
        Value::Object(fields) if !fields.is_empty() => {
            let at = draw.below(fields.len());
            if let Some(value) = fields.values_mut().nth(at) {
                change(value, draw);
            }
        }
        Value::Number(number) => {
            let old = number.as_u64().unwrap_or_default();
            let new = match draw.below(9) {
                0 => 0,
                1 => 1,
                2 => old.wrapping_add(1),
                3 => old.wrapping_sub(1),
                4 => old / 2,
                5 => old.wrapping_mul(2),
                6 => u64::MAX >> draw.below(64),
                7 => 1 << draw.below(64),
                _ => draw.below(100) as u64,
            };
            *number = Number::from(new);
        }
        Value::Bool(is) => *is = !*is,
        Value::Null => *value = Value::from(draw.below(3)),
        _ => *value = Value::Null,
    }
}

/// Numbers that follow from the fuzzer's seed (Marsaglia, Xorshift RNGs, 2003).
struct Draw(u32);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 |= u32::from(self.0 == 0);
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 as usize % bound
    }
}
