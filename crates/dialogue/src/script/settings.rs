//! Parses what precedes the first step: settings of the stack, the peer's options, and the stacks it applies to.

use daybreak_tcp::config::{EcnMode, Profile};
use daybreak_tcp::congestion::find;
use daybreak_tcp::profile::LINUX;
use daybreak_units::Duration;

use super::segments::option;
use super::{Parser, WIDEST};
use crate::pattern::Options;
use crate::words::Words;

impl Parser {
    pub(super) fn peer(&mut self, words: &mut Words) -> Result<(), String> {
        self.before_the_first_step("peer")?;
        self.peer = Options::default();
        self.peer_ecn = false;
        while let Some(word) = words.next() {
            match word {
                "win" => self.script.peer_window = words.within_u32("the peer's window", 0, WIDEST)?,
                "ecn" => self.peer_ecn = true,
                word => option(&mut self.peer, word, words)?,
            }
        }
        Ok(())
    }

    /// `model only: the reason`, to the end of the line.
    pub(super) fn model_only(&mut self, words: &mut Words) -> Result<(), String> {
        self.before_the_first_step("model only:")?;
        match words.take("\"only:\"")? {
            "only:" => {}
            word => return Err(format!("expected \"only:\" after \"model\", not \"{word}\"")),
        }
        if words.is_empty() {
            return Err("\"model only:\" needs a reason".into());
        }
        self.script.model_only = Some(words.all().to_string());
        Ok(())
    }

    fn before_the_first_step(&self, what: &str) -> Result<(), String> {
        if self.script.steps.is_empty() { Ok(()) } else { Err(format!("\"{what}\" must stand before the first step")) }
    }

    pub(super) fn config(&mut self, words: &mut Words) -> Result<(), String> {
        self.before_the_first_step("config")?;
        const JIFFIES: [Duration; 2] = [Duration::from_us(100), Duration::from_ms(42)];
        let config = &mut self.script.config;
        match words.take("the name of a setting")? {
            "variant" => {
                let name = words.take("the variant")?;
                find(name).map_err(|unknown| unknown.to_string())?;
                self.script.variant = name.to_string();
            }
            "draws" => {
                while let Some(word) = words.next() {
                    let draw = word.parse().map_err(|_| format!("a draw must be a whole number, not \"{word}\""))?;
                    self.script.draws.push(draw);
                }
                if self.script.draws.is_empty() {
                    return Err("\"draws\" needs at least one number".into());
                }
            }
            "nic" => self.script.nic = Some(words.rate("the NIC's rate")?),
            "mtu" => config.mtu = words.within_u32("mtu", 88, 65_535)?,
            "initial_window" => config.initial_window = words.within_u32("initial_window", 1, 65_535)?,
            "initial_ssthresh" => config.initial_ssthresh = words.number("initial_ssthresh")?,
            "cwnd_clamp" => config.cwnd_clamp = words.within_u32("cwnd_clamp", 1, u32::MAX)?,
            "jiffy" => {
                config.jiffy = words.duration("jiffy")?;
                let [least, most] = JIFFIES;
                if !(least..=most).contains(&config.jiffy) {
                    return Err(format!("a jiffy is between {least} and {most}, not {}", config.jiffy));
                }
            }
            "rmem_default" => config.rmem.default = words.within("rmem_default", 1, u32::MAX.into())?,
            "rmem_max" => config.rmem.max = words.within("rmem_max", 1, u32::MAX.into())?,
            "wmem_default" => config.wmem.default = words.within("wmem_default", 1, u32::MAX.into())?,
            "wmem_max" => config.wmem.max = words.within("wmem_max", 1, u32::MAX.into())?,
            "adv_win_scale" => config.adv_win_scale = words.within("adv_win_scale", 0, 31)? as i8,
            "receive_autotuning" => config.receive_autotuning = words.switch()?,
            "window_scaling" => config.window_scaling = words.switch()?,
            "timestamps" => config.timestamps = words.switch()?,
            "sack" => config.sack = words.switch()?,
            "dsack" => config.dsack = words.switch()?,
            "frto" => config.frto = words.switch()?,
            "tail_loss_probe" => config.tail_loss_probe = words.switch()?,
            "rack_static_window" => config.rack_static_window = words.switch()?,
            "rack_no_threshold" => config.rack_no_threshold = words.switch()?,
            "rack" => config.rack = words.switch()?,
            "reordering" => config.reordering = words.within_u32("reordering", 1, u32::MAX)?,
            "max_reordering" => config.max_reordering = words.within_u32("max_reordering", 1, u32::MAX)?,
            "slow_start_after_idle" => config.slow_start_after_idle = words.switch()?,
            "ecn" => {
                config.ecn = match words.take("off, on or passive")? {
                    "off" => EcnMode::Off,
                    "on" => EcnMode::On,
                    "passive" => EcnMode::Passive,
                    word => return Err(format!("ecn is off, on or passive, not \"{word}\"")),
                }
            }
            "comp_sack_delay" => config.comp_sack_delay = words.duration("comp_sack_delay")?,
            "comp_sack_slack" => config.comp_sack_slack = words.duration("comp_sack_slack")?,
            "comp_sack_nr" => config.comp_sack_nr = words.within_u32("comp_sack_nr", 0, 255)?,
            "tso_max_bytes" => config.tso_max_bytes = words.number("tso_max_bytes")?,
            "limit_output_bytes" => config.limit_output_bytes = Some(words.number("limit_output_bytes")?),
            "legacy" => legacy(&mut config.profile, words.take("a mechanism")?)?,
            "linux" => {
                let version = words.take("a version")?;
                linux(&mut config.profile, version)?;
                self.script.linux.push(version.into());
                while let Ok(version) = words.take("a version") {
                    linux(&mut Profile::default(), version)?;
                    self.script.linux.push(version.into());
                }
            }
            "max_pacing_rate" => config.max_pacing_rate = words.rate("max_pacing_rate")?,
            word => return Err(format!("unknown setting \"{word}\"")),
        }
        Ok(())
    }
}

fn linux(profile: &mut Profile, word: &str) -> Result<(), String> {
    profile
        .add_linux(word)
        .ok_or_else(|| format!("unknown version of Linux \"{word}\"; known are {}", LINUX.join(", ")))
}

fn legacy(profile: &mut Profile, word: &str) -> Result<(), String> {
    profile.switch_on(word).ok_or_else(|| format!("unknown mechanism of older stacks \"{word}\""))
}
