//! What a guest has of memory and tables, over all of them together.

use wasmtime::ResourceLimiter;

use super::engines::{INSTANCES, MEMORIES, TABLES};

/// Counts and bounds the total of an attempt's linear memories and table elements. The limiter that
/// comes with wasmtime bounds each memory by itself, so that forty of them pass.
#[derive(Debug)]
pub(crate) struct Meter {
    memory: Gauge,
    tables: Gauge,
    refused: Option<Refused>,
}

/// A growth that was not allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Bytes of linear memory: the attempt would have had `wanted` of them.
    Memory { wanted: u64 },
    /// Table elements: the attempt would have had `wanted` of them.
    Table { wanted: u64 },
    /// The limit would have allowed it, the machine did not: bytes of linear memory that the attempt
    /// would have had, when it is about memory.
    Machine { wanted: Option<u64> },
}

#[derive(Debug)]
struct Gauge {
    limit: u64,
    now: u64,
    peak: u64,
    last: u64,
}

impl Gauge {
    const fn new(limit: u64) -> Self {
        Self {
            limit,
            now: 0,
            peak: 0,
            last: 0,
        }
    }

    /// The total after the growth, as an error when it is over the limit.
    fn wanted(&self, more: u64) -> Result<u64, u64> {
        let wanted = self.now.saturating_add(more);
        if wanted > self.limit {
            Err(wanted)
        } else {
            Ok(wanted)
        }
    }

    fn set(&mut self, wanted: u64, more: u64) {
        self.now = wanted;
        self.last = more;
        self.peak = self.peak.max(wanted);
    }

    fn take_back(&mut self) {
        if self.peak == self.now {
            self.peak -= self.last;
        }
        self.now -= self.last;
        self.last = 0;
    }
}

impl Meter {
    /// Bounds in bytes of linear memory and in table elements.
    pub(crate) const fn new(memory: u64, table_elements: u64) -> Self {
        Self {
            memory: Gauge::new(memory),
            tables: Gauge::new(table_elements),
            refused: None,
        }
    }

    /// The largest total of linear memory there was, in bytes.
    pub(crate) const fn peak_memory(&self) -> u64 {
        self.memory.peak
    }

    /// The latest growth that was not allowed, unless one was allowed after it: then the guest made
    /// do with less.
    pub(crate) const fn refused(&self) -> Option<Refused> {
        self.refused
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        // Past the memory's own maximum the growth fails whatever is said here, and not by a limit.
        if maximum.is_some_and(|maximum| desired > maximum) && current > 0 {
            return Ok(false);
        }
        let more = (desired - current) as u64;
        match self.memory.wanted(more) {
            Ok(wanted) => {
                self.memory.set(wanted, more);
                self.refused = None;
                Ok(true)
            }
            Err(wanted) => {
                self.refused = Some(Refused::Memory { wanted });
                Ok(false)
            }
        }
    }

    fn memory_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        let wanted = Some(self.memory.now);
        self.memory.take_back();
        self.refused = Some(Refused::Machine { wanted });
        Ok(())
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        // Unlike a memory's, the maximum told here is the pool's where a table has none.
        let fits = current == 0 || maximum.is_none_or(|maximum| desired <= maximum);
        let more = (desired - current) as u64;
        match self.tables.wanted(more) {
            Err(wanted) => {
                self.refused = Some(Refused::Table { wanted });
                Ok(false)
            }
            Ok(_) if !fits => Ok(false),
            Ok(wanted) => {
                self.tables.set(wanted, more);
                self.refused = None;
                Ok(true)
            }
        }
    }

    fn table_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        self.tables.take_back();
        self.refused = Some(Refused::Machine { wanted: None });
        Ok(())
    }

    fn instances(&self) -> usize {
        INSTANCES as usize
    }

    fn tables(&self) -> usize {
        TABLES as usize
    }

    fn memories(&self) -> usize {
        MEMORIES as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_count_together() {
        let mut meter = Meter::new(100, 10);
        assert!(meter.memory_growing(0, 60, None).unwrap());
        assert!(!meter.memory_growing(0, 60, None).unwrap());
        assert_eq!(meter.refused(), Some(Refused::Memory { wanted: 120 }));
        assert!(meter.memory_growing(60, 100, None).unwrap());
        assert_eq!((meter.peak_memory(), meter.refused()), (100, None));
    }

    #[test]
    fn a_growth_the_machine_refused_does_not_count() {
        let mut meter = Meter::new(100, 10);
        assert!(meter.memory_growing(0, 10, None).unwrap());
        assert!(meter.memory_growing(10, 90, None).unwrap());
        meter
            .memory_grow_failed(wasmtime::format_err!("no room"))
            .unwrap();
        assert_eq!(meter.peak_memory(), 10);
        let wanted = Some(90);
        assert_eq!(meter.refused(), Some(Refused::Machine { wanted }));
        assert!(meter.memory_growing(10, 100, None).unwrap());
    }

    #[test]
    fn a_memorys_own_maximum_is_no_limit_of_ours() {
        let mut meter = Meter::new(100, 10);
        assert!(!meter.memory_growing(10, 200, Some(50)).unwrap());
        assert_eq!(meter.refused(), None);
    }
}
