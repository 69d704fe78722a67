//! Address mapping: rebasing and fitting a workload's addresses onto a device of another size.

use flashloom_units::{Problem, SECTOR_BYTES, choice, format_size};

use crate::{Op, Request, Source};

/// Sectors in 4 KiB, the granularity of [`Addresses::Scale`].
const STEP: u64 = 8;

choice! {
    /// Treatment of requests that reach beyond the end of the device.
    pub enum Addresses {
        /// Refuse the workload, naming the request.
        Error = "error",
        /// Take the first sector modulo the capacity, moving a request that would cross the end back before it.
        Wrap = "wrap",
        /// Multiply by capacity over span in steps of 4 KiB, so that the workload spreads over the whole device.
        Scale = "scale",
    }
}

/// A source whose addresses count from a given sector of the recording.
pub struct Rebased<S> {
    source: S,
    first_sector: u64,
}

/// Makes `first_sector` of the recording sector 0, as if a partition that began there were a drive of its own. A
/// request that begins before it is an error. Flushes have no address.
pub fn rebase<S: Source>(source: S, first_sector: u64) -> Rebased<S> {
    Rebased { source, first_sector }
}

impl<S: Source> Source for Rebased<S> {
    fn next_request(&mut self) -> Result<Option<Request>, Problem> {
        let Some(mut request) = self.source.next_request()? else { return Ok(None) };
        if request.op != Op::Flush {
            let Some(lba) = request.lba.checked_sub(self.first_sector) else {
                let found = format!("sector {}, before `workload.first_sector` = {}", request.lba, self.first_sector);
                let expected = format!("a request from sector {} on", self.first_sector);
                let problem = self.source.address_problem(found, expected);
                return Err(problem.with_help("lower workload.first_sector: the recording begins before it"));
            };
            request.lba = lba;
        }
        Ok(Some(request))
    }

    fn address_problem(&self, found: String, expected: String) -> Problem {
        self.source.address_problem(found, expected)
    }
}

/// Places requests on a device of `capacity` sectors; `span` is the sector after the last one that the workload
/// touches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub capacity: u64,
    pub span: u64,
    pub addresses: Addresses,
}

impl Placement {
    /// The first sector of a request on the device; `None` if it does not fit.
    #[inline]
    pub fn place(&self, request: &Request) -> Option<u64> {
        let (lba, sectors) = (request.lba, u64::from(request.sectors));
        if sectors > self.capacity || (self.addresses == Addresses::Error && request.end() > self.capacity) {
            return None;
        }
        let last_start = self.capacity - sectors;
        Some(match self.addresses {
            Addresses::Error => lba,
            Addresses::Wrap => (lba % self.capacity).min(last_start),
            Addresses::Scale => {
                let steps = self.capacity.div_ceil(STEP);
                let span = self.span.max(1).div_ceil(STEP);
                let step = u128::from(lba / STEP) * u128::from(steps) / u128::from(span);
                (step.min(u128::from(steps)) as u64 * STEP + lba % STEP).min(last_start)
            }
        })
    }
}

/// A source whose requests all lie within the device.
pub struct Fitted<S> {
    source: S,
    placement: Placement,
}

/// Maps the addresses of `source` onto a device of `capacity` sectors.
///
/// `wrap` takes the first sector modulo the capacity; a request that would then cross the end is moved back so that it
/// ends with the device. `scale` multiplies by `capacity / span`, where `span` is the sector after the last one that
/// the workload touches; it works in steps of 4 KiB and keeps the offset within the step, so an aligned request stays
/// aligned; requests keep their length, so on a smaller device neighbours overlap. Flushes have no address. A request
/// larger than the device is an error in every mode.
pub fn fit<S: Source>(source: S, capacity: u64, addresses: Addresses, span: u64) -> Fitted<S> {
    Fitted { source, placement: Placement { capacity, span, addresses } }
}

impl<S: Source> Fitted<S> {
    fn too_far(&self, request: &Request) -> Problem {
        let sectors = self.placement.capacity;
        let capacity = format_size(sectors.saturating_mul(SECTOR_BYTES));
        let found = format!(
            "sectors {} to {} do not fit on the device of {capacity} ({sectors} sectors)",
            request.lba,
            request.end() - 1,
        );
        let expected = format!("a request that ends by sector {sectors}");
        let problem = self.source.address_problem(found, expected);
        if u64::from(request.sectors) > sectors {
            return problem.with_help("choose a larger device: the request is larger than this one");
        }
        problem.with_help(
            "choose a larger device, less device.unpartitioned, or workload.addresses = \"wrap\" or \"scale\"",
        )
    }
}

impl<S: Source> Source for Fitted<S> {
    fn next_request(&mut self) -> Result<Option<Request>, Problem> {
        let Some(mut request) = self.source.next_request()? else { return Ok(None) };
        if request.op != Op::Flush {
            request.lba = self.placement.place(&request).ok_or_else(|| self.too_far(&request))?;
        }
        Ok(Some(request))
    }

    fn address_problem(&self, found: String, expected: String) -> Problem {
        self.source.address_problem(found, expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct One(Option<Request>);

    impl Source for One {
        fn next_request(&mut self) -> Result<Option<Request>, Problem> {
            Ok(self.0.take())
        }
    }

    fn fitted(lba: u64, sectors: u32, capacity: u64, addresses: Addresses, span: u64) -> Result<u64, Problem> {
        let request = Request::new(Op::Read, lba, sectors);
        Ok(fit(One(Some(request)), capacity, addresses, span).next_request()?.expect("one request").lba)
    }

    #[test]
    fn addresses_count_from_the_first_sector_and_none_lies_before_it() {
        let one = |lba, op| {
            let request = Request::new(op, lba, 8);
            let mut source = rebase(One(Some(request)), 63);
            source.next_request().map(|request| request.expect("one request").lba)
        };
        assert_eq!((one(63, Op::Read), one(71, Op::Discard), one(0, Op::Flush)), (Ok(0), Ok(8), Ok(0)));
        assert_eq!(one(62, Op::Write).unwrap_err().refusal.found, "sector 62, before `workload.first_sector` = 63");
    }

    #[test]
    fn error_lets_the_last_sector_pass_and_refuses_the_next() {
        assert_eq!(fitted(92, 8, 100, Addresses::Error, 100), Ok(92));
        let problem = fitted(93, 8, 100, Addresses::Error, 101).unwrap_err();
        assert_eq!(problem.refusal.found, "sectors 93 to 100 do not fit on the device of 50KiB (100 sectors)");
        assert!(problem.refusal.help.unwrap().contains("wrap"));
    }

    #[test]
    fn wrap_is_modulo_and_moves_a_request_that_crosses_the_end() {
        assert_eq!(fitted(208, 8, 100, Addresses::Wrap, 0), Ok(8));
        assert_eq!(fitted(198, 8, 100, Addresses::Wrap, 0), Ok(92));
    }

    #[test]
    fn scale_spreads_over_the_device_and_keeps_the_offset_in_the_step() {
        assert_eq!(fitted(80, 8, 1600, Addresses::Scale, 160), Ok(800));
        assert_eq!(fitted(83, 8, 1600, Addresses::Scale, 160), Ok(803));
        assert_eq!(fitted(800, 8, 160, Addresses::Scale, 1600), Ok(80));
    }

    #[test]
    fn a_request_larger_than_the_device_is_refused_whatever_was_asked() {
        for addresses in [Addresses::Error, Addresses::Wrap, Addresses::Scale] {
            assert!(fitted(0, 101, 100, addresses, 101).is_err());
        }
    }

    proptest! {
        #[test]
        fn every_request_that_passes_lies_within_the_device(
            lba in 0u64..1 << 55, sectors: u32, capacity in 1u64..1 << 50, span: u64, choice in 0usize..3,
        ) {
            let addresses = [Addresses::Error, Addresses::Wrap, Addresses::Scale][choice];
            if let Ok(placed) = fitted(lba, sectors.max(1), capacity, addresses, span) {
                prop_assert!(placed + u64::from(sectors.max(1)) <= capacity);
            } else {
                prop_assert!(addresses == Addresses::Error || u64::from(sectors) > capacity);
            }
        }
    }
}
