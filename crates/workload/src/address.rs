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

/// A source whose requests are given other addresses. Flushes have none.
struct Moved<S, F> {
    source: S,
    /// Returns the first sector of a request, or a problem with its address.
    first_sector: F,
}

impl<S: Source, F: Fn(&S, &Request) -> Result<u64, Problem>> Source for Moved<S, F> {
    fn next_request(&mut self) -> Result<Option<Request>, Problem> {
        let Some(mut request) = self.source.next_request()? else { return Ok(None) };
        if request.op != Op::Flush {
            request.lba = (self.first_sector)(&self.source, &request)?;
        }
        Ok(Some(request))
    }

    fn address_problem(&self, found: String, expected: String) -> Problem {
        self.source.address_problem(found, expected)
    }
}

/// Makes `first_sector` of the recording sector 0, as if a partition that began there were a drive of its own. A
/// request that begins before it is an error. Flushes have no address.
pub fn rebase<S: Source>(source: S, first_sector: u64) -> impl Source + use<S> {
    let before = move |source: &S, request: &Request| {
        let found = format!("sector {}, before `workload.first_sector` = {first_sector}", request.lba);
        let problem = source.address_problem(found, format!("a request from sector {first_sector} on"));
        problem.with_help("lower workload.first_sector: the recording begins before it")
    };
    let place = move |source: &S, request: &Request| {
        request.lba.checked_sub(first_sector).ok_or_else(|| before(source, request))
    };
    Moved { source, first_sector: place }
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

/// Maps the addresses of `source` onto a device of `capacity` sectors.
///
/// `wrap` takes the first sector modulo the capacity; a request that would then cross the end is moved back so that it
/// ends with the device. `scale` multiplies by `capacity / span`, where `span` is the sector after the last one that
/// the workload touches; it works in steps of 4 KiB and keeps the offset within the step, so an aligned request stays
/// aligned; requests keep their length, so on a smaller device neighbours overlap. Flushes have no address. A request
/// larger than the device is an error in every mode.
pub fn fit<S: Source>(source: S, capacity: u64, addresses: Addresses, span: u64) -> impl Source + use<S> {
    let placement = Placement { capacity, span, addresses };
    let place =
        move |source: &S, request: &Request| placement.place(request).ok_or_else(|| too_far(source, request, capacity));
    Moved { source, first_sector: place }
}

/// The problem of a request that lies beyond the end of a device of `sectors` sectors.
fn too_far(source: &impl Source, request: &Request, sectors: u64) -> Problem {
    let capacity = format_size(sectors.saturating_mul(SECTOR_BYTES));
    let (first, last) = (request.lba, request.end() - 1);
    let found = format!("sectors {first} to {last} do not fit on the device of {capacity} ({sectors} sectors)");
    let problem = source.address_problem(found, format!("a request that ends by sector {sectors}"));
    if u64::from(request.sectors) > sectors {
        return problem.with_help("choose a larger device: the request is larger than this one");
    }
    problem
        .with_help("choose a larger device, less device.unpartitioned, or workload.addresses = \"wrap\" or \"scale\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fitted(lba: u64, sectors: u32, capacity: u64, addresses: Addresses, span: u64) -> Result<u64, Problem> {
        let requests = [Request::new(Op::Read, lba, sectors)];
        Ok(fit(&requests[..], capacity, addresses, span).next_request()?.expect("one request").lba)
    }

    #[test]
    fn addresses_count_from_the_first_sector_and_none_lies_before_it() {
        let one = |lba, op| {
            let requests = [Request::new(op, lba, 8)];
            rebase(&requests[..], 63).next_request().map(|request| request.expect("one request").lba)
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
    fn wrap_is_modulo_and_scale_spreads_over_the_device() {
        for (lba, capacity, addresses, span, placed, why) in [
            (208, 100, Addresses::Wrap, 0, 8, "modulo"),
            (198, 100, Addresses::Wrap, 0, 92, "moved back from the end"),
            (80, 1600, Addresses::Scale, 160, 800, "spread"),
            (83, 1600, Addresses::Scale, 160, 803, "with its offset in the step"),
            (800, 160, Addresses::Scale, 1600, 80, "drawn together"),
        ] {
            assert_eq!(fitted(lba, 8, capacity, addresses, span), Ok(placed), "{lba}: {why}");
        }
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
