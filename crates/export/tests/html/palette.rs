//! Colours of lines: whoever lacks a kind of cones sees others, and tells the lines apart all the same.
//!
//! What such eyes see is simulated by the matrices of Machado, Oliveira and Fernandes (2009) for a complete lack, on
//! linear RGB. Distances are Euclidean in Oklab (Ottosson, 2020), where 0.02 is just noticeable.

use std::array;

type Rgb = [f64; 3];

/// Lack of nothing, and of the cones for long, middle and short waves.
const EYES: [[Rgb; 3]; 4] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
];
const TO_CONES: [Rgb; 3] = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
];
const TO_LAB: [Rgb; 3] = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
];

fn times(matrix: &[Rgb; 3], by: Rgb) -> Rgb {
    array::from_fn(|row| matrix[row].iter().zip(by).map(|(a, b)| a * b).sum())
}

/// Linear RGB of a colour such as `#0c54b4`.
fn linear(colour: &str) -> Rgb {
    array::from_fn(|at| {
        let part = u8::from_str_radix(&colour[1 + 2 * at..3 + 2 * at], 16).expect("a colour has six digits");
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    })
}

/// Where eyes see a colour in Oklab.
fn seen(colour: &str, by: &[Rgb; 3]) -> Rgb {
    let shown = times(by, linear(colour)).map(|part| part.clamp(0.0, 1.0));
    times(&TO_LAB, times(&TO_CONES, shown).map(f64::cbrt))
}

/// The least distance between two colours, as each kind of eyes sees them.
fn least(colours: &[&str]) -> [f64; 4] {
    let distance = |eyes: &[Rgb; 3], a: &str, b: &str| -> f64 {
        seen(a, eyes).iter().zip(seen(b, eyes)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    };
    array::from_fn(|eyes| {
        let pairs = (0..colours.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        pairs.map(|(a, b)| distance(&EYES[eyes], colours[a], colours[b])).fold(f64::INFINITY, f64::min)
    })
}

/// Contrast of two colours (WCAG 2).
fn contrast(a: &str, b: &str) -> f64 {
    let luminance =
        |colour| linear(colour).iter().zip([0.2126, 0.7152, 0.0722]).map(|(a, b)| a * b).sum::<f64>() + 0.05;
    let (a, b): (f64, f64) = (luminance(a), luminance(b));
    a.max(b) / a.min(b)
}

/// Colours in a part of a script or a style sheet.
fn colours(text: &str) -> Vec<&str> {
    text.match_indices('#').map(|(at, _)| &text[at..at + 7]).collect()
}

/// What stands between two texts.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let (_, after) = text.split_once(begin).expect("it is there");
    after.split_once(end).expect("it ends").0
}

#[test]
fn six_lines_are_told_apart_by_eyes_of_every_kind_and_eight_somewhat_less() {
    let script = include_str!("../../src/html/charts.js");
    let style = include_str!("../../src/html/style.css");
    let lines = between(script, "const LINES = {", "};");
    for (theme, rules) in [("light", ":root {"), ("dark", ":root[data-theme=\"dark\"] {")] {
        let lines = colours(between(lines, &format!("{theme}: ["), "]"));
        let page = colours(between(between(style, rules, "}"), "--page:", ";"))[0];
        assert_eq!(lines.len(), 8);
        let [six, eight] = [least(&lines[..6]), least(&lines)];
        println!("{theme}: six {six:.3?}, eight {eight:.3?}");
        let are_apart =
            |found: [f64; 4], bounds: [f64; 4]| found.iter().zip(bounds).all(|(found, bound)| *found >= bound);
        assert!(are_apart(six, [0.14, 0.14, 0.14, 0.10]), "{theme}: {six:?}");
        assert!(are_apart(eight, [0.10, 0.10, 0.10, 0.07]), "{theme}: {eight:?}");
        for colour in lines {
            let contrast = contrast(colour, page);
            assert!(contrast >= 3.0, "{colour} on {page}: {contrast}");
        }
    }
}

#[test]
fn colours_that_only_most_eyes_tell_apart_are_found() {
    // Red, green and ochre of one lightness, for those who lack cones for long waves or middle ones.
    let [all, protan, deutan, _] = least(&["#d55e00", "#7a8a00", "#a07a00"]);
    assert!(all > 0.07 && protan.min(deutan) < 0.05, "{all} {protan} {deutan}");
    assert_eq!(least(&["#000000", "#ffffff"]).map(|far| (far * 100.0).round()), [100.0; 4]);
}
