//! Priorities of single requests (`cmdprio_*`), as fio's engines libaio and io_uring give them.
//!
//! A request of a direction, or of a size in that direction (`cmdprio_bssplit`), gets another priority than its
//! process with a probability in per cent: real time, level 0, unless `cmdprio_class` and `cmdprio` say which. Source:
//! `engines/cmdprio.c` of fio 3.33.

use flashloom_units::Prng;

use super::value::{Expected, MAX_PARTS, integer_within, percent, sectors};
use super::{READ, WRITE};
use crate::{Priority, PriorityClass};

/// Directions that have such priorities: reads and writes.
const DIRECTIONS: usize = 2;

/// Reads a class: 0 for none, 1 for real time, 2 for best effort, 3 for idle.
pub(super) fn class(text: &str) -> Result<PriorityClass, Expected> {
    let classes = [PriorityClass::None, PriorityClass::RealTime, PriorityClass::BestEffort, PriorityClass::Idle];
    Ok(classes[integer_within(text, 0, 3)? as usize])
}

/// Reads a level.
pub(super) fn level(text: &str) -> Result<u8, Expected> {
    Ok(integer_within(text, 0, u64::from(Priority::LEVELS) - 1)? as u8)
}

/// Reads `both` or `read,write`.
fn pair<T: Clone>(
    text: &str,
    into: &mut [T; DIRECTIONS],
    mut parse: impl FnMut(&str) -> Result<T, Expected>,
) -> Result<(), Expected> {
    match text.split_once(',') {
        None => into.fill(parse(text)?),
        Some((read, write)) => *into = [parse(read)?, parse(write)?],
    }
    Ok(())
}

/// A part of `cmdprio_bssplit`.
#[derive(Clone, Copy, Debug)]
struct Part {
    bytes: u64,
    percent: u32,
    /// `None` for that of `cmdprio_class` and `cmdprio`.
    priority: Option<Priority>,
}

/// The options as written.
#[derive(Clone, Debug, Default)]
pub(super) struct CommandPriority {
    percent: [u32; DIRECTIONS],
    class: [Option<PriorityClass>; DIRECTIONS],
    level: [u8; DIRECTIONS],
    split: [Vec<Part>; DIRECTIONS],
    has_split: bool,
}

impl CommandPriority {
    pub fn set_percent(&mut self, text: &str) -> Result<(), Expected> {
        pair(text, &mut self.percent, percent)
    }

    pub fn set_class(&mut self, text: &str) -> Result<(), Expected> {
        pair(text, &mut self.class, |part| {
            let given = class(part)?;
            if given == PriorityClass::None { Err("a whole number from 1 to 3".to_owned()) } else { Ok(Some(given)) }
        })
    }

    pub fn set_level(&mut self, text: &str) -> Result<(), Expected> {
        pair(text, &mut self.level, level)
    }

    pub fn set_split(&mut self, text: &str) -> Result<(), Expected> {
        self.has_split = true;
        pair(text, &mut self.split, split)
    }

    /// True if both a percentage and a split are given, of which fio takes one.
    pub fn is_ambiguous(&self) -> bool {
        self.has_split && self.percent.iter().any(|percent| *percent > 0)
    }

    /// The priorities that requests get.
    pub fn priorities(&self) -> Commands {
        Commands([READ, WRITE].map(|direction| {
            let class = self.class[direction].unwrap_or(PriorityClass::RealTime);
            let given = Priority::new(class, self.level[direction]);
            let of_all = Command { bytes: None, percent: self.percent[direction], priority: given };
            let of_part = |part: &Part| Command {
                bytes: Some(part.bytes),
                percent: part.percent,
                priority: part.priority.unwrap_or(given),
            };
            let mut parts = self.split[direction].clone();
            parts.sort_by_key(|part| part.bytes);
            let commands = parts.iter().map(of_part).chain([of_all]);
            commands.filter(|command| command.percent > 0).collect()
        }))
    }
}

/// Reads `size/percent` or `size/percent/class/level`, several separated by colons.
fn split(text: &str) -> Result<Vec<Part>, Expected> {
    const FORM: &str = "sizes with a share in per cent, such as 4k/20, or also with class and level, such as 4k/20/1/0";
    let mut parts = Vec::<Part>::new();
    for part in text.split(':').filter(|part| !part.is_empty()) {
        if parts.len() == MAX_PARTS {
            return Err(format!("at most {MAX_PARTS} parts, as fio has them"));
        }
        let (bytes, share, priority) = match part.split('/').collect::<Vec<_>>()[..] {
            [bytes, share] => (bytes, share, None),
            [bytes, share, of, at] => {
                let class = class(of)?;
                let class = if class == PriorityClass::None { PriorityClass::BestEffort } else { class };
                (bytes, share, Some(Priority::new(class, level(at)?)))
            }
            [_, _, _, _, _] => return Err("a size, a share, a class and a level: hints came with fio 3.36".to_owned()),
            _ => return Err(FORM.to_owned()),
        };
        parts.push(Part { bytes: sectors(bytes)?, percent: percent(share)?, priority });
        let of_size = parts.iter().filter(|other| other.bytes == parts[parts.len() - 1].bytes);
        if of_size.map(|part| part.percent).sum::<u32>() > 100 {
            return Err("shares that add up to at most 100 for each size".to_owned());
        }
    }
    Ok(parts)
}

/// A priority that requests get in place of that of their process.
#[derive(Clone, Copy, Debug)]
struct Command {
    /// The size of these requests; `None` for all.
    bytes: Option<u64>,
    percent: u32,
    priority: Priority,
}

/// Priorities of single reads and writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Commands([Vec<Command>; DIRECTIONS]);

impl Commands {
    /// Draws the priority of a request; `None` for that of its process.
    #[inline]
    pub fn draw(&self, direction: usize, bytes: u64, prng: &mut Prng) -> Option<Priority> {
        let commands = self.0.get(direction).filter(|commands| !commands.is_empty())?;
        let mut drawn = prng.below(100) as u32;
        for command in commands.iter().filter(|command| command.bytes.is_none_or(|of| of == bytes)) {
            if drawn < command.percent {
                return Some(command.priority);
            }
            drawn -= command.percent;
        }
        None
    }

    /// True if the priorities of a direction are drawn: those of all requests, or of all of one size, are not.
    pub fn draws(&self, direction: usize) -> bool {
        self.0.get(direction).into_iter().flatten().any(|command| command.percent < 100)
    }

    /// The priorities that requests of a direction may get, in the order in which fio reports them.
    pub fn of(&self, direction: usize) -> impl Iterator<Item = Priority> {
        self.0.get(direction).into_iter().flatten().map(|command| command.priority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(commands: &Commands, direction: usize, bytes: u64) -> [usize; 4] {
        let mut prng = Prng::new(7);
        let mut counts = [0; 4];
        for _ in 0..10_000 {
            let class = commands.draw(direction, bytes, &mut prng).map_or(PriorityClass::None, Priority::class);
            counts[class as usize] += 1;
        }
        counts
    }

    #[test]
    fn a_share_of_the_reads_or_writes_is_of_real_time_unless_a_class_is_given() {
        let mut options = CommandPriority::default();
        options.set_percent("30,0").unwrap();
        let [none, real_time, ..] = drawn(&options.priorities(), READ, 4_096);
        assert!((2_850..3_150).contains(&real_time) && none + real_time == 10_000, "{real_time}");
        assert_eq!(drawn(&options.priorities(), WRITE, 4_096), [10_000, 0, 0, 0]);
        options.set_class("3").unwrap();
        options.set_level("2,5").unwrap();
        assert_eq!(options.priorities().of(READ).collect::<Vec<_>>(), [Priority::new(PriorityClass::Idle, 2)]);
        assert!(options.set_class("0").is_err() && options.set_level("8").is_err());
    }

    #[test]
    fn a_split_says_it_by_size() {
        let mut options = CommandPriority::default();
        options.set_split("64k/40:4k/10,4k/20/3/0:4k/30/2/7").unwrap();
        let commands = options.priorities();
        assert_eq!(drawn(&commands, READ, 8_192), [10_000, 0, 0, 0]);
        let [_, real_time, ..] = drawn(&commands, READ, 65_536);
        let [_, none, best_effort, idle] = drawn(&commands, WRITE, 4_096);
        assert!((3_850..4_150).contains(&real_time) && none == 0, "{real_time}");
        assert!((2_850..3_150).contains(&best_effort) && (1_850..2_150).contains(&idle), "{best_effort} {idle}");
        assert!(["4k", "4k/10/1", "4k/60:4k/60", "4k/10/4/0"].iter().all(|text| options.set_split(text).is_err()));
    }
}
