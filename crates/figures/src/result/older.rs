//! Where figures of older results are now: results of schema 1 are read as if they had been written today, and a name
//! that was valid then is refused with the one that is valid now.
//!
//! This bridge stands until version 0.3.

use serde_json::{Value, json};

use super::RESULT_SCHEMA;

/// Paths that have changed: of whole objects with all that is in them, or of one value. The first that a path begins
/// with counts; streams are those of the allocation, or of a mapping that looks for them itself.
const MOVED: &[(&str, &str)] = &[
    ("scheduler.name", "host.scheduler.policy"),
    ("scheduler.statistics.throttled", "host.scheduler.token_waits"),
    ("scheduler.statistics", "host.scheduler"),
    ("scheduler", "host.scheduler"),
    ("buffer.placement", "ftl.placement.policy"),
    ("buffer.statistics.order", "buffer.order"),
    ("buffer.statistics.rate", "buffer.rate"),
    ("buffer.gathered_pages", "buffer.order.gathered_pages"),
    ("buffer.padding_pages", "buffer.order.padding_pages"),
    ("buffer.filled_pages", "buffer.order.filled_pages"),
    ("buffer.dropped_pages", "buffer.order.dropped_pages"),
    ("buffer.migrated_pages", "ftl.placement.migrated_pages"),
    ("ftl.statistics.mapping", "ftl.mapping"),
    ("ftl.statistics.allocation", "ftl.allocation"),
    ("ftl.statistics.gc", "ftl.gc"),
    ("ftl.statistics.placement", "ftl.placement"),
    ("ftl.foreground_collections", "ftl.gc.foreground_collections"),
    ("ftl.background_collections", "ftl.gc.background_collections"),
    ("ftl.hot_page_writes", "ftl.mapping.hot_page_writes"),
    ("ftl.unit_rewrites", "ftl.mapping.unit_rewrites"),
    ("ftl.wear_moves", "ftl.mapping.wear_moves"),
    ("ftl.memory_bytes", "ftl.mapping.memory_bytes"),
    ("ftl.slc_cache.cached_writes", "ftl.mapping.slc_writes"),
    ("ftl.slc_cache.writes_beside", "ftl.mapping.slc_writes_beside"),
    ("ftl.slc_cache.folded_blocks", "ftl.mapping.slc_folded_blocks"),
    ("ftl.slc_cache.folded_pages", "ftl.mapping.slc_folded_pages"),
    ("ftl.merges.switch", "ftl.mapping.switch_merges"),
    ("ftl.merges.partial", "ftl.mapping.partial_merges"),
    ("ftl.merges.full", "ftl.mapping.full_merges"),
    ("ftl.merges.filler_pages", "ftl.mapping.filler_pages"),
    ("ftl.merges.migrated_pages", "ftl.placement.migrated_pages"),
    ("ftl.associativity", "ftl.mapping.associativity"),
    ("ftl.blocking_ns.bound", "ftl.mapping.blocking_bound_ns"),
    ("ftl.blocking_ns", "ftl.mapping.blocking_ns"),
    ("ftl.wait_ns.max", "ftl.mapping.longest_wait_ns"),
    ("ftl.wait_ns.bound", "ftl.mapping.wait_bound_ns"),
    ("ftl.reserved_pages", "ftl.mapping.reserved_pages"),
    ("ftl.map_cache.hits", "ftl.mapping.map_hits"),
    ("ftl.map_cache.misses", "ftl.mapping.map_misses"),
    ("ftl.map_cache.hit_ratio", "ftl.mapping.map_hit_ratio"),
    ("ftl.map_cache.reads", "ftl.mapping.map_reads"),
    ("ftl.map_cache.writes", "ftl.mapping.map_writes"),
    ("ftl.streams.detected", "ftl.allocation.streams"),
    ("ftl.streams.detected", "ftl.mapping.streams"),
    ("ftl.streams.pages", "ftl.allocation.stream_pages"),
    ("ftl.streams.pages", "ftl.mapping.stream_pages"),
    ("ftl.streams.threshold", "ftl.allocation.stream_threshold"),
    ("ftl.streams.threshold", "ftl.mapping.stream_threshold"),
    ("ftl.streams.substreams", "ftl.allocation.substreams"),
    ("ftl.streams.spread_pages", "ftl.allocation.spread_pages"),
    ("nand.reliability.repeated_reads", "nand.repeated_reads"),
    ("nand.reliability.retries", "nand.retries"),
    ("nand.reliability.unreadable_reads", "nand.unreadable_reads"),
    ("nand.reliability.lost_pages", "nand.lost_pages"),
    ("nand.reliability.statistics", "nand.reliability"),
    ("workload.statistics.kind", "workload.kind"),
];

/// What stood twice in schema 1: the figures of the policies have it too.
const TWICE: [&str; 8] = [
    "buffer.migrated_pages",
    "ftl.merges",
    "ftl.associativity",
    "ftl.blocking_ns",
    "ftl.wait_ns",
    "ftl.reserved_pages",
    "ftl.map_cache",
    "ftl.streams",
];

/// Objects of schema 1 that are no more.
const LEFT: [&str; 6] = [
    "scheduler",
    "buffer.statistics",
    "ftl.statistics",
    "ftl.slc_cache",
    "nand.reliability.statistics",
    "workload.statistics",
];

/// Policies whose name was the value of that path in schema 1, and is the field `policy` of the object there now.
const NAMED: [&str; 5] = ["buffer.order", "buffer.rate", "ftl.mapping", "ftl.allocation", "ftl.gc"];
/// Policies that had no object of their own.
const GATHERED: [&str; 3] = ["host.scheduler", "ftl.placement", "workload.kind"];

/// Kinds of text that are converted.
const KINDS: [&str; 3] = ["flashloom/result", "flashloom/compare", "flashloom/kept"];

/// Where the figure is now that had a path in schema 1, or the figures of an object that is no more; `None` of a path
/// that has not changed.
pub fn moved(path: &str) -> Option<String> {
    let is_object = |old: &str| path.contains('.') && below(old, path).is_some();
    let object = || MOVED.iter().find(|(old, _)| is_object(old)).and_then(|(_, new)| new.rsplit_once('.'));
    places(path).next().or_else(|| object().map(|(object, _)| object.to_owned()))
}

/// The places where the figure can be now that had a path in schema 1.
pub fn places(path: &str) -> impl Iterator<Item = String> + '_ {
    let first = MOVED.iter().find_map(|(old, _)| below(path, old).map(|_| *old));
    MOVED
        .iter()
        .filter(move |(old, _)| first == Some(*old))
        .map(move |(old, new)| format!("{new}{}", &path[old.len()..]))
}

/// The paths in schema 1 of the figure at a path of today, those that have changed.
pub fn former(path: &str) -> impl Iterator<Item = String> + '_ {
    MOVED.iter().filter_map(move |(old, new)| Some(format!("{old}{}", below(path, new)?)))
}

/// The rest of a path that leads to an object or into it.
fn below<'a>(path: &'a str, object: &str) -> Option<&'a str> {
    path.strip_prefix(object).filter(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// A text of schema 1 as it would be written today; `None` of any other.
///
/// # Errors
/// The text is no JSON.
pub fn converted(schema: &str, text: &[u8]) -> Result<Option<Vec<u8>>, serde_json::Error> {
    let Some(kind) = schema.strip_suffix("/1").filter(|kind| KINDS.contains(kind)) else { return Ok(None) };
    let mut whole: Value = serde_json::from_slice(text)?;
    whole["schema"] = format!("{kind}/2").into();
    match kind {
        "flashloom/result" => convert(&mut whole),
        "flashloom/kept" => at(&mut whole, "result").into_iter().for_each(convert),
        _ => {
            let lists = ["runs", "repeated"].map(|list| whole[list].as_array().cloned().unwrap_or_default());
            let [mut runs, mut repeated] = lists;
            runs.iter_mut().filter_map(|run| at(run, "result")).for_each(convert);
            repeated.iter_mut().filter_map(|one| at(one, "figures")).for_each(rename);
            whole["runs"] = runs.into();
            whole["repeated"] = repeated.into();
        }
    }
    serde_json::to_vec(&whole).map(Some)
}

fn at<'a>(value: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    path.split('.').try_fold(value, |value, name| value.get_mut(name))
}

fn take(value: &mut Value, path: &str) -> Option<Value> {
    let (object, name) = match path.rsplit_once('.') {
        Some((object, name)) => (at(value, object)?, name),
        None => (value, path),
    };
    object.as_object_mut()?.shift_remove(name)
}

/// Renames the figures of a combination over its seeds, and leaves out what stood twice.
fn rename(figures: &mut Value) {
    let Value::Object(mut named) = figures.take() else { return };
    if named.keys().any(|path| below(path, "ftl.statistics").is_some()) {
        named.retain(|path, _| TWICE.iter().all(|object| below(path, object).is_none()));
    }
    *figures = named.into_iter().map(|(path, figure)| (moved(&path).unwrap_or(path), figure)).collect();
}

/// Moves the figures of a result to where they are now.
fn convert(result: &mut Value) {
    if let Some(schema) = at(result, "schema") {
        *schema = RESULT_SCHEMA.into();
    }
    for path in NAMED {
        if let Some(name) = at(result, path) {
            *name = json!({ "policy": name.take() });
        }
    }
    if at(result, "ftl.statistics").is_some() {
        TWICE.iter().for_each(|path| drop(take(result, path)));
    } else if let Some(blocking) = at(result, "ftl.blocking_ns").and_then(Value::as_object_mut) {
        // Older than the figures of policies: three numbers are no distribution.
        blocking.retain(|name, _| name == "bound");
    }
    // A mapping that places nothing had figures of a placement, and said of none that it was used.
    if at(result, "buffer").is_some() && at(result, "buffer.placement").is_none() {
        drop(take(result, "ftl.statistics.placement"));
    }
    for (old, new) in MOVED {
        let object = new.rsplit_once('.').map_or("", |(object, _)| object);
        let has_room = at(result, object).is_some() || GATHERED.contains(&object);
        let value = if has_room { take(result, old) } else { None };
        if let Some(value) = value {
            put(result, new, value);
        }
    }
    LEFT.iter().chain(&TWICE).for_each(|path| drop(take(result, path)));
    for path in GATHERED {
        let name = at(result, &format!("config.{path}")).cloned();
        if let (Some(object), Some(name)) = (at(result, path).and_then(Value::as_object_mut), name) {
            object.entry("policy").or_insert(name);
        }
    }
}

/// Puts a value at a path, unless it has one or its object is not there; an object adds its members.
fn put(result: &mut Value, path: &str, value: Value) {
    if let Value::Object(members) = value {
        if GATHERED.contains(&path) && at(result, path).is_none() {
            put_in(result, path, json!({}));
        }
        match at(result, path).is_some() {
            true => members.into_iter().for_each(|(name, member)| put_in(result, &format!("{path}.{name}"), member)),
            false => put_in(result, path, members.into()),
        }
    } else {
        put_in(result, path, value);
    }
}

fn put_in(result: &mut Value, path: &str, value: Value) {
    let Some((object, name)) = path.rsplit_once('.') else { return };
    if GATHERED.contains(&object) && at(result, object).is_none() {
        put_in(result, object, json!({}));
    }
    if let Some(object) = at(result, object).and_then(Value::as_object_mut) {
        object.entry(name).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_from_then_to_now_and_back() {
        assert_eq!(moved("ftl.merges.full").as_deref(), Some("ftl.mapping.full_merges"));
        assert_eq!(moved("ftl.blocking_ns.p99").as_deref(), Some("ftl.mapping.blocking_ns.p99"));
        assert_eq!(moved("scheduler.max_wait_ns").as_deref(), Some("host.scheduler.max_wait_ns"));
        assert_eq!(moved("ftl.merges").as_deref(), Some("ftl.mapping"));
        assert_eq!((moved("ftl.waf"), moved("ftl.mergesort"), moved("ftl.mapping.full_merges")), (None, None, None));
        let former = |path: &str| former(path).collect::<Vec<_>>();
        assert_eq!(former("ftl.mapping.map_hits"), ["ftl.statistics.mapping.map_hits", "ftl.map_cache.hits"]);
        assert_eq!(former("host.iops"), Vec::<String>::new());
    }

    #[test]
    fn what_stood_twice_stands_where_its_policy_counts_it() {
        let old = json!({
            "schema": "flashloom/result/1", "config": {"host": {"scheduler": "noop"}, "ftl": {"placement": "static"}},
            "host": {"iops": 2.0}, "scheduler": {"name": "noop", "merged": 1, "statistics": {"turns": 4}},
            "buffer": {"order": "fab", "rate": "single", "placement": "static", "migrated_pages": 5, "page_writes": 6},
            "ftl": {"mapping": "kast", "merges": {"switch": 3}, "streams": {"detected": 8},
                "statistics": {"mapping": {"switch_merges": 3, "streams": 8}, "placement": {"migrated_pages": 5}}},
        });
        let text = converted("flashloom/result/1", old.to_string().as_bytes()).unwrap().expect("it is of then");
        let expected = json!({
            "schema": RESULT_SCHEMA, "config": {"host": {"scheduler": "noop"}, "ftl": {"placement": "static"}},
            "host": {"iops": 2.0, "scheduler": {"policy": "noop", "turns": 4, "merged": 1}},
            "buffer": {"order": {"policy": "fab"}, "rate": {"policy": "single"}, "page_writes": 6},
            "ftl": {"mapping": {"policy": "kast", "switch_merges": 3, "streams": 8},
                "placement": {"policy": "static", "migrated_pages": 5}},
        });
        assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), expected);
        assert!(converted(RESULT_SCHEMA, b"{}").unwrap().is_none() && converted("other/1", b"{}").unwrap().is_none());
    }

    #[test]
    fn figures_over_seeds_are_renamed_too_and_stand_once() {
        let renamed = |figures: Value| {
            let old = json!({"runs": [], "repeated": [{ "figures": figures }]});
            let text = converted("flashloom/compare/1", old.to_string().as_bytes()).unwrap().expect("it is of then");
            serde_json::from_slice::<Value>(&text).unwrap()["repeated"][0]["figures"].clone()
        };
        let older = json!({"ftl.waf": 1, "ftl.merges.full": 2});
        assert_eq!(renamed(older), json!({"ftl.waf": 1, "ftl.mapping.full_merges": 2}));
        let twice = json!({"ftl.streams.detected": 3, "ftl.statistics.mapping.streams": 3});
        assert_eq!(renamed(twice), json!({"ftl.mapping.streams": 3}));
    }

    #[test]
    fn streams_are_those_of_who_looks_for_them() {
        let expected = ["ftl.allocation.streams", "ftl.mapping.streams"];
        assert_eq!(places("ftl.streams.detected").collect::<Vec<_>>(), expected);
        let older = json!({"schema": "flashloom/result/1", "ftl": {"mapping": "kast", "streams": {"detected": 8}}});
        let text = converted("flashloom/result/1", older.to_string().as_bytes()).unwrap().expect("it is of then");
        let ftl = serde_json::from_slice::<Value>(&text).unwrap()["ftl"].clone();
        assert_eq!(ftl, json!({"mapping": {"policy": "kast", "streams": 8}}));
    }
}
