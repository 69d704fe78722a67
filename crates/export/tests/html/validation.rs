//! Pages of validations.

use flashloom_export::html::{Document, page};
use flashloom_study::validate::{Compared, PercentileResult, VALIDATION_SCHEMA, ValidationResult};
use serde_json::{Value, json};

use crate::{elements, lacks, run, specs, texts};

fn cell(operation: &str, size: Option<&str>) -> Value {
    let percentile = |(percent, recorded_ns)| PercentileResult::of(percent, recorded_ns, recorded_ns * 3 / 2, 160.0);
    let percentiles = [(1.0, 80), (50.0, 100), (99.0, 400), (99.9, 1_000)].map(percentile);
    json!({
        "operation": operation, "size": size, "recorded_requests": 12_000, "simulated_requests": 20_000,
        "mean_ns": Compared::of(160.0, 240.0),
        "percentiles": percentiles,
        "distance": {"simulated": 0.5, "null": 0.625}, "kolmogorov_smirnov": {"simulated": 0.25, "null": 0.75},
        "stalls": [{"at_least_ns": 10_000_000, "recorded": 0.001, "simulated": 0.002, "null": 0.0}],
    })
}

/// A validation of so many measurements, each with two cells of reads and one of writes.
pub fn validation(measurements: usize) -> ValidationResult {
    let config = run(&[]).config;
    let of = |number: usize| {
        json!({
            "experiment": "drive", "input": format!("disk-{number}.json"), "job": "randread", "kind": "JSON of fio",
            "interval": "clat", "load": "random, 50 % reads", "requests": 20_000, "config": config,
            "cells": [cell("read", None), cell("read", Some("to 4 KiB")), cell("write", None)],
            "rates": [{"quantity": "reads/s", "recorded": 1_000.0, "simulated": 1_100.0, "error": 0.1}],
            "not_compared": ["stalls: fio gives percentiles"], "warnings": ["a queue that was never full"],
        })
    };
    let comparisons: Vec<Value> = (1..=measurements).map(of).collect();
    let result = json!({"schema": VALIDATION_SCHEMA, "comparisons": comparisons});
    serde_json::from_value(result).expect("it is a validation")
}

#[test]
fn a_page_of_a_validation_draws_recorded_simulated_and_null_and_lists_every_cell() {
    let text = serde_json::to_string(&validation(1)).expect("it is JSON");
    let document = Document::read("validation.json", &text).unwrap_or_else(|problem| panic!("{problem}"));
    let page = page("validation.json", &document);
    let about = "drive against disk-1.json, job randread";
    let pictures = ["read", "write", "read to 4 KiB"].map(|of| format!("{of}: {about}"));
    assert_eq!(texts(&page, "figcaption"), pictures);
    let spec = &specs(&page)[0]["spec"]["lines"];
    let last = |line: usize| {
        let points = spec[line]["points"].as_array().expect("points");
        let at = points.last().expect("it has some").as_array().expect("two numbers");
        (at[0].as_f64().map(|nines| (nines * 1e6).round() / 1e6), at[1].as_f64())
    };
    assert_eq!(spec.as_array().map(Vec::len), Some(3));
    assert_eq!([0, 1, 2].map(last), [1_000.0, 1_500.0, 160.0].map(|ns| (Some(3.0), Some(ns))));
    let cells = texts(&page, "td");
    for text in
        ["12,000", "+50.0 %", "62.5 %", "random, 50 % reads", "reads/s", "1,100", "+10.0 %", "10.0 ms and longer"]
    {
        assert!(cells.iter().any(|cell| cell == text), "{text}: {cells:?}");
    }
    for text in ["not compared: stalls", "warning: a queue that was never full", "That of drive against disk-1.json"] {
        assert!(page.contains(text), "{text}");
    }
    let refused = document.only(1).expect_err("it has no runs");
    assert_eq!((&refused.found[..], &refused.expected[..]), ("`--run` with a validation", "a comparison"));
}

#[test]
fn a_validation_of_many_measurements_draws_eight_and_lists_all() {
    let many = page("validation.json", &Document::Validation(Box::new(validation(5))));
    let pictures = texts(&many, "figcaption");
    assert_eq!((pictures.len(), &pictures[7][..]), (8, "write: drive against disk-4.json, job randread"));
    assert!(many.contains("The first 8 of 15; the table of errors has all."));
    let rows = elements(&many).iter().filter(|element| element.name == "th" && element.is("scope", "row")).count();
    assert!(rows > 15 + 5, "{rows}");
    assert_eq!(lacks(&many).len(), 1, "scripts alone");
}

#[test]
fn a_validation_in_which_nothing_could_be_compared_says_so() {
    let mut bare = validation(1);
    let one = &mut bare.comparisons[0];
    (one.cells, one.rates) = (Vec::new(), Vec::new());
    one.not_compared.clear();
    one.warnings.clear();
    one.config = json!({});
    let page_of_bare = page("validation.json", &Document::Validation(Box::new(bare.clone())));
    let lacking = lacks(&page_of_bare).join("\n");
    assert!(lacking.contains("No latency could be compared") && lacking.contains("No rate"), "{lacking}");
    assert!(page_of_bare.contains("nothing makes it doubtful"));
    bare.comparisons.clear();
    elements(&page("validation.json", &Document::Validation(Box::new(bare))));
}
