//! Which copies of each region of an array are the newest: one table, which knows no devices.
//!
//! The host's copy is its memory, some planes of which may lie packed, or a file. The device's is a part of its memory
//! of the array. Who changes the table holds the region by the graph. Ghosts that are owed are in `ghosts/owed.rs`.

use std::collections::BTreeMap;

use super::packed::Chunk;

/// What the host's copy of a region is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Host {
    /// It counts as zeros: nobody has touched it since the start, or since it was discarded. The device's may have no
    /// other values.
    #[default]
    Zeros,
    /// It has the newest values.
    Newest,
    /// The device's copy is newer.
    Old,
}

/// What is known of a region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    host: Host,
    /// The device has the newest values.
    device: bool,
    /// The last work that wrote it ran on the device.
    by_device: bool,
    /// Of an array in a row: its ghosts between regions were filled on the device, and are not on the host.
    ghosts_away: bool,
    /// Planes of components that lie packed on the host, by their first byte.
    packed: BTreeMap<usize, Chunk>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Coherence {
    /// By region; of those that are not here nothing was said yet.
    entries: Vec<Entry>,
    /// All of the host's ghosts of fixed value have it.
    pub fixed: bool,
}

impl Coherence {
    fn entry(&mut self, region: usize) -> &mut Entry {
        if self.entries.len() <= region {
            self.entries.resize_with(region + 1, Entry::default);
        }
        &mut self.entries[region]
    }

    fn host(&self, region: usize) -> Host {
        self.entries.get(region).map_or(Host::Zeros, |entry| entry.host)
    }

    /// Whether the host has the newest values of a region.
    pub fn is_on_host(&self, region: usize) -> bool {
        self.host(region) != Host::Old
    }

    /// Whether the device has.
    pub fn is_on_device(&self, region: usize) -> bool {
        self.entries.get(region).is_some_and(|entry| entry.device)
    }

    /// Whether the host's copy may hold more than zeros.
    pub fn is_touched(&self, region: usize) -> bool {
        self.host(region) != Host::Zeros
    }

    /// Whether the device would have to be brought values that are not zero.
    pub fn has_to_come(&self, region: usize) -> bool {
        self.host(region) == Host::Newest && !self.is_on_device(region)
    }

    /// Whether the device has the newest values alone, or has made those that both have.
    pub fn is_of_device(&self, region: usize) -> bool {
        self.entries.get(region).is_some_and(|entry| entry.device && (entry.host == Host::Old || entry.by_device))
    }

    /// The host may have written some of a region. Where the device's copy was newer, it stays so.
    pub fn touched(&mut self, region: usize) {
        let entry = self.entry(region);
        if entry.host == Host::Zeros {
            entry.host = Host::Newest;
        }
    }

    /// The device has what the host has.
    pub fn came(&mut self, region: usize) {
        self.entry(region).device = true;
    }

    /// The device has written a region: its copy is the only one.
    pub fn written_on_device(&mut self, region: usize) {
        let entry = self.entry(region);
        (entry.host, entry.device, entry.by_device) = (Host::Old, true, true);
        self.fixed = false;
    }

    /// Whether the host is to be brought ghosts between regions too, with what the device has of a region.
    pub fn brings_ghosts(&self, region: usize) -> bool {
        self.entries.get(region).is_some_and(|entry| entry.ghosts_away)
    }

    /// The host has what the device has. Its ghosts between regions stay as they are from now on.
    pub fn came_home(&mut self, region: usize) {
        let entry = self.entry(region);
        (entry.host, entry.ghosts_away) = (Host::Newest, false);
    }

    /// The host writes a region: its copy is the only one.
    pub fn written_on_host(&mut self, region: usize) {
        let entry = self.entry(region);
        (entry.host, entry.device, entry.by_device) = (Host::Newest, false, false);
        self.fixed = false;
    }

    /// Nobody needs what a region holds: it counts as zeros that nobody has touched.
    pub fn discarded(&mut self, region: usize) {
        let entry = self.entry(region);
        (entry.host, entry.device, entry.by_device) = (Host::Zeros, false, false);
        self.fixed = false;
    }

    /// The device has no memory of the array any more. The host has the newest values of all regions.
    pub fn left(&mut self) {
        for entry in &mut self.entries {
            (entry.device, entry.by_device, entry.ghosts_away) = (false, false, false);
        }
    }

    /// The device has the newest values of all of so many regions: new ones if they were `written`, which the host has
    /// too if it was `told`.
    pub fn arrived(&mut self, regions: usize, written: bool, told: bool) {
        for region in 0..regions {
            let entry = self.entry(region);
            (entry.device, entry.by_device) = (true, entry.by_device || written);
            entry.host = match entry.host {
                _ if written && !told => Host::Old,
                Host::Old if written => Host::Newest,
                host => host,
            };
        }
    }

    /// Ghosts between regions were filled: on the device, or on the host.
    pub fn ghosts_filled(&mut self, regions: usize, on_device: bool) {
        (0..regions).for_each(|region| self.entry(region).ghosts_away = on_device);
    }

    /// How the plane of a component lies packed that starts at this byte of a region, if it does.
    pub fn packed_at(&self, region: usize, at: usize) -> Option<Chunk> {
        self.entries.get(region)?.packed.get(&at).copied()
    }

    /// Says how it lies from now on.
    pub fn set_packed(&mut self, region: usize, at: usize, chunk: Option<Chunk>) {
        let packed = &mut self.entry(region).packed;
        match chunk {
            Some(chunk) => drop(packed.insert(at, chunk)),
            None => drop(packed.remove(&at)),
        }
    }

    /// All that lies packed of a region; nothing does from now on.
    pub fn take_packed(&mut self, region: usize) -> BTreeMap<usize, Chunk> {
        self.entries.get_mut(region).map(|entry| std::mem::take(&mut entry.packed)).unwrap_or_default()
    }

    /// Whether planes of some region lie packed.
    pub fn is_packed(&self) -> bool {
        self.entries.iter().any(|entry| !entry.packed.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::packed::Form;

    /// Copies of one region as they are: numbers of values, of which a larger one is newer. 0 stands for zeros.
    #[derive(Clone, Copy, Debug, Default)]
    struct Copies {
        newest: u32,
        host: u32,
        device: Option<u32>,
    }

    /// What may happen to a region.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        ReadOnDevice,
        WriteOnDevice,
        ReadOnHost,
        WriteOnHost,
        Discard,
        Leave,
        Arrive { written: bool, told: bool },
    }

    const EVENTS: [Event; 9] = [
        Event::ReadOnDevice,
        Event::WriteOnDevice,
        Event::ReadOnHost,
        Event::WriteOnHost,
        Event::Discard,
        Event::Leave,
        Event::Arrive { written: false, told: false },
        Event::Arrive { written: true, told: false },
        Event::Arrive { written: true, told: true },
    ];

    impl Copies {
        /// Brings what the table says, as the library does; then what it says has to be so.
        fn bring(&mut self, table: &mut Coherence) {
            if !table.is_on_device(0) {
                self.device = Some(if table.has_to_come(0) { self.host } else { 0 });
                table.came(0);
            }
        }

        fn fetch(&mut self, table: &mut Coherence) {
            if !table.is_on_host(0) {
                self.host = self.device.expect("the device has a copy");
                table.came_home(0);
            }
        }

        fn apply(&mut self, table: &mut Coherence, event: Event, value: u32) {
            match event {
                Event::ReadOnDevice => self.bring(table),
                Event::WriteOnDevice => {
                    self.bring(table);
                    table.written_on_device(0);
                    (self.newest, self.device) = (value, Some(value));
                }
                Event::ReadOnHost => self.fetch(table),
                Event::WriteOnHost => {
                    self.fetch(table);
                    table.written_on_host(0);
                    (self.newest, self.host) = (value, value);
                }
                Event::Discard => {
                    table.discarded(0);
                    // The host's memory is as it was, and nobody is promised it.
                    (self.newest, self.host) = (0, 0);
                }
                Event::Leave => {
                    self.fetch(table);
                    table.left();
                    self.device = None;
                }
                Event::Arrive { written, told } => {
                    self.bring(table);
                    if written {
                        (self.newest, self.device) = (value, Some(value));
                    }
                    if written && told {
                        table.touched(0);
                        self.host = value;
                    }
                    table.arrived(1, written, told);
                }
            }
        }

        fn check(&self, table: &Coherence, so_far: &[Event]) {
            assert!(table.is_on_host(0) || table.is_on_device(0), "nobody has it: {so_far:?}");
            assert!(!table.is_on_host(0) || self.host == self.newest, "{self:?} after {so_far:?}");
            assert!(!table.is_on_device(0) || self.device == Some(self.newest), "{self:?} after {so_far:?}");
            assert!(table.is_touched(0) || self.host == 0, "{self:?} after {so_far:?}");
            assert!(!table.has_to_come(0) || (table.is_on_host(0) && !table.is_on_device(0)), "{so_far:?}");
        }
    }

    /// All sequences of five events: a copy that the table calls the newest has the newest values.
    #[test]
    fn what_is_called_newest_is_newest() {
        for number in 0..EVENTS.len().pow(5) {
            let (mut table, mut copies, mut so_far) = (Coherence::default(), Copies::default(), Vec::new());
            for step in 0..5 {
                let event = EVENTS[number / EVENTS.len().pow(step) % EVENTS.len()];
                so_far.push(event);
                copies.apply(&mut table, event, step + 1);
                copies.check(&table, &so_far);
            }
        }
    }

    #[test]
    fn nothing_comes_of_what_nobody_has_touched() {
        let mut table = Coherence::default();
        assert!(table.is_on_host(3) && !table.is_on_device(3) && !table.has_to_come(3) && !table.is_touched(3));
        table.came(3);
        assert!(table.is_on_device(3) && !table.is_of_device(3) && !table.is_touched(3));
        table.touched(2);
        assert!(table.has_to_come(2) && table.is_touched(2) && !table.has_to_come(3));
        table.discarded(2);
        assert!(!table.has_to_come(2) && !table.is_touched(2));
    }

    #[test]
    fn a_region_is_of_the_side_that_wrote_it_last() {
        let mut table = Coherence::default();
        table.written_on_device(0);
        table.touched(0);
        assert!(table.is_of_device(0) && !table.is_on_host(0));
        table.ghosts_filled(1, true);
        assert!(table.brings_ghosts(0));
        table.came_home(0);
        assert!(table.is_of_device(0) && table.is_on_host(0) && table.is_on_device(0) && !table.brings_ghosts(0));
        table.fixed = true;
        table.written_on_host(0);
        assert!(!table.is_of_device(0) && !table.is_on_device(0) && !table.fixed);
        table.came(0);
        assert!(!table.is_of_device(0));
    }

    #[test]
    fn planes_lie_packed_until_they_are_taken() {
        let (mut table, chunk) = (Coherence::default(), Chunk { form: Form::Frames(128), values: 1024, size: 8 });
        table.set_packed(1, 4096, Some(chunk));
        table.set_packed(1, 0, Some(chunk));
        table.set_packed(1, 0, None);
        assert!(table.is_packed() && table.packed_at(1, 0).is_none() && table.packed_at(0, 4096).is_none());
        assert_eq!(table.packed_at(1, 4096), Some(chunk));
        assert_eq!(table.take_packed(1).into_iter().collect::<Vec<_>>(), [(4096, chunk)]);
        assert!(!table.is_packed() && table.take_packed(7).is_empty());
    }
}
