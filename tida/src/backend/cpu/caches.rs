//! Sizes of the processor's caches.

use std::fs;
use std::path::Path;

/// Bytes of cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caches {
    /// A thread's part of the second-level cache.
    pub thread: usize,
    /// The last level, which the threads share.
    pub last: usize,
}

/// What most processors have at least, where the system does not say.
const USUAL: Caches = Caches { thread: 512 << 10, last: 32 << 20 };

impl Caches {
    /// Those of the first processor, as Linux describes them.
    pub fn of_this_machine() -> Caches {
        Caches::described(Path::new("/sys/devices/system/cpu/cpu0/cache")).unwrap_or(USUAL)
    }

    fn described(folder: &Path) -> Option<Caches> {
        let mut levels: Vec<(u32, usize, usize)> = Vec::new();
        for entry in fs::read_dir(folder).ok()?.flatten() {
            let read = |name: &str| fs::read_to_string(entry.path().join(name)).map(|text| text.trim().to_string());
            let (Ok(level), Ok(size), Ok(kind)) = (read("level"), read("size"), read("type")) else { continue };
            let (Ok(level), Some(bytes)) = (level.parse(), bytes(&size)) else { continue };
            if kind != "Instruction" {
                let shared = read("shared_cpu_list").map_or(1, |list| processors(&list));
                levels.push((level, bytes, shared));
            }
        }
        let (_, last, _) = *levels.iter().max()?;
        let second = levels.iter().find(|(level, ..)| *level == 2).map(|(_, bytes, shared)| bytes / shared.max(&1));
        Some(Caches { thread: second.unwrap_or(USUAL.thread), last })
    }
}

/// Bytes of a size such as `1024K`.
fn bytes(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(unit).filter(|bytes| *bytes > 0)
}

/// How many processors a list such as `0-3,8` names.
fn processors(list: &str) -> usize {
    let count = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some((last.parse::<usize>().ok()? + 1).saturating_sub(first.parse().ok()?))
    };
    list.split(',').filter_map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_lists_are_read() {
        assert_eq!(bytes("1024K"), Some(1 << 20));
        assert_eq!((bytes("36M"), bytes("64"), bytes("0K"), bytes("12X")), (Some(36 << 20), Some(64), None, None));
        assert_eq!((processors("0"), processors("0-3,8"), processors("")), (1, 5, 0));
    }

    #[test]
    fn a_description_gives_a_threads_part_of_the_second_level_and_all_of_the_last() {
        let folder = std::env::temp_dir().join(format!("tida-caches-{}", std::process::id()));
        let caches =
            [("1", "32K", "Instruction", "0-1"), ("2", "2048K", "Unified", "0-1"), ("3", "8M", "Unified", "0-7")];
        for (number, (level, size, kind, shared)) in caches.iter().enumerate() {
            let folder = folder.join(format!("index{number}"));
            fs::create_dir_all(&folder).unwrap();
            for (name, text) in [("level", level), ("size", size), ("type", kind), ("shared_cpu_list", shared)] {
                fs::write(folder.join(name), format!("{text}\n")).unwrap();
            }
        }
        assert_eq!(Caches::described(&folder), Some(Caches { thread: 1 << 20, last: 8 << 20 }));
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(Caches::described(&folder), None);
    }
}
