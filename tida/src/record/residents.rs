//! Arrays that have their room on a device as a whole, and when each was last used.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::memory::node::Node;
use crate::memory::tracker::Tracker;

/// The arrays of an accelerator that have their room on its device.
#[derive(Default)]
pub(crate) struct Residents {
    arrays: Mutex<Vec<Weak<Tracker>>>,
    /// Evictions that may not have run.
    pub leaving: Mutex<Vec<Arc<Node>>>,
    /// Counts uses of them.
    uses: AtomicU64,
}

impl Residents {
    /// Says that arrays which have their room are used now.
    pub fn use_now(&self, arrays: &[&Arc<Tracker>]) {
        let now = self.uses.fetch_add(1, Ordering::Relaxed) + 1;
        for array in arrays {
            if array.used_at() == 0 {
                let mut residents = self.arrays.lock().unwrap_or_else(PoisonError::into_inner);
                residents.retain(|resident| resident.strong_count() > 0);
                residents.push(Arc::downgrade(array));
            }
            array.use_at(now);
        }
    }

    /// Arrays that may give their room to others, that used longest ago first.
    pub fn all(&self) -> Vec<Arc<Tracker>> {
        let residents = self.arrays.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<Arc<Tracker>> = residents.iter().filter_map(Weak::upgrade).collect();
        all.retain(|tracker| tracker.storage().can_leave());
        all.sort_by_key(|tracker| tracker.used_at());
        all
    }

    /// Uses of arrays since the last one of this.
    pub fn idle(&self, array: &Tracker) -> u64 {
        self.uses.load(Ordering::Relaxed).saturating_sub(array.used_at())
    }
}
