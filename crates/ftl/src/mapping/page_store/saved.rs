//! Saving and loading a store. Planes are saved column by column, one list per field.

use flashloom_units::{Reader, State, StateError, Writer};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::plane::Plane;
use super::store::{Allocator, Collector, Failures, PageStore};

/// Saves one field of all planes.
fn save_column<T: Serialize>(to: &mut Writer, planes: &[Plane], field: impl Fn(&Plane) -> &T) {
    to.value(&planes.len());
    planes.iter().for_each(|plane| to.value(field(plane)));
}

fn load_column<T: DeserializeOwned>(
    from: &mut Reader,
    planes: &mut [Plane],
    name: &str,
    field: impl Fn(&mut Plane) -> &mut T,
) -> Result<(), StateError> {
    let mut load = |from: &mut Reader| {
        from.length(planes.len())?;
        planes.iter_mut().try_for_each(|plane| {
            *field(plane) = from.value()?;
            Ok(())
        })
    };
    within(name, load(from))
}

fn within<T>(name: &str, loaded: Result<T, StateError>) -> Result<T, StateError> {
    loaded.map_err(|error| error.within(name))
}

// All fields are named, so that a new field is a compile error until it is saved or left out.
impl State for PageStore {
    fn save(&self, to: &mut Writer) {
        let Self {
            lanes: _,
            pages,
            blocks,
            planes,
            frontiers,
            opened_for,
            allocator,
            collector,
            heat,
            failures,
            cache,
            units,
            report,
        } = self;
        let Allocator { policy: allocation, places: _ } = allocator;
        let Collector { policy: collection, strategy: _, turn, spreading, watermarks } = collector;
        let Failures { can_fail: _, evacuations, is_worn_out } = failures;
        pages.save(to);
        blocks.save(to);
        to.words(&planes.iter().map(|plane| plane.room).collect::<Vec<_>>());
        heat.save(to);
        spreading.save(to);
        report.save(to);
        frontiers.save(to);
        save_column(to, planes, |plane| &plane.erased);
        to.array(opened_for);
        save_column(to, planes, |plane| &plane.job);
        save_column(to, planes, |plane| &plane.map_job);
        save_column(to, planes, |plane| &plane.openings);
        to.value(is_worn_out);
        to.value(turn);
        to.value(evacuations);
        to.policy("allocation", allocation.state());
        to.policy("collection", collection.state());
        cache.iter().for_each(|cache| cache.save(to));
        watermarks.iter().for_each(|watermarks| watermarks.save(to));
        units.iter().for_each(|units| units.save(to));
    }

    fn load(&mut self, from: &mut Reader) -> Result<(), StateError> {
        let Self { pages, blocks, planes, frontiers, opened_for, allocator, collector, heat, .. } = self;
        let Self { failures, cache, units, report, lanes, .. } = self;
        let geometry = blocks.geometry;
        pages.load(from)?;
        within("blocks", blocks.load(from))?;
        let mut room = vec![0; planes.len()];
        within("room", from.words(&mut room))?;
        planes.iter_mut().zip(room).for_each(|(plane, room)| plane.room = room);
        within("heat", heat.load(from))?;
        within("spreading", collector.spreading.load(from))?;
        within("report", report.load(from))?;
        within("frontiers", frontiers.load(from))?;
        load_column(from, planes, "erased", |plane| &mut plane.erased)?;
        within("opened_for", from.array(opened_for))?;
        load_column(from, planes, "jobs", |plane| &mut plane.job)?;
        load_column(from, planes, "map_jobs", |plane| &mut plane.map_job)?;
        load_column(from, planes, "openings", |plane| &mut plane.openings)?;
        let of_jobs = planes.iter().flat_map(|plane| [plane.job, plane.map_job]).flatten().map(|job| job.lane);
        let mut all = opened_for.iter().copied().chain(of_jobs);
        if let Some(lane) = all.find(|&lane| !lanes.known.has(lane)) {
            let found = format!("lane {}", lane.at());
            return Err(from.error("lanes that are declared", found).within("lanes"));
        }
        failures.is_worn_out = within("is_worn_out", from.value())?;
        collector.turn = within("background", from.below(geometry.total_planes().into()))?;
        failures.evacuations = within("evacuations", from.list(geometry.total_blocks()))?;
        within("allocation", from.policy(allocator.policy.state_mut()))?;
        within("collection", from.policy(collector.policy.state_mut()))?;
        within("slc_cache", cache.iter_mut().try_for_each(|cache| cache.load(from)))?;
        within("watermarks", collector.watermarks.iter_mut().try_for_each(|watermarks| watermarks.load(from)))?;
        within("units", units.iter_mut().try_for_each(|units| units.load(from)))
    }

    fn settle(&mut self, keeps: bool) {
        self.pages.settle(keeps);
    }
}
