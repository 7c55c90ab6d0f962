//! Writes charts as inline SVG in two widths, for wide and for narrow screens: the text of a
//! picture that is scaled down to a telephone cannot be read. Colours come from the style sheet.

use core::fmt::Write as _;

use super::chart::{Bars, Chart, Curves, LogAxis, MOST_SERIES, Quantity, Scale, Series, spread};
use crate::words;

/// Width of the screen that a chart is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    Wide,
    Narrow,
}

/// Draws a chart; `id` must be unique in the page.
pub(super) fn draw(chart: &Chart, id: &str, width: Width) -> String {
    let (body, size, description) = match chart {
        Chart::Curves(curves) => {
            let (body, size) = draw_curves(curves, width);
            (body, size, &curves.description)
        }
        Chart::Bars(bars) => {
            let (body, size) = draw_bars(bars, width);
            (body, size, &bars.description)
        }
    };
    let class = if width == Width::Wide { "wide" } else { "narrow" };
    let (title, description) = (escape(chart.title()), escape(description));
    let (across, down) = size;
    format!(
        "<svg class=\"{class}\" viewBox=\"0 0 {across:.0} {down:.0}\" role=\"img\" \
         aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{title}</title>\
         <desc id=\"{id}-d\">{description}</desc>{body}</svg>\n"
    )
}

/// Escapes all characters that have a meaning in HTML, in text and in quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c => out.push(c),
        }
    }
    out
}

/// Draws a text; `anchor` is `start`, `middle` or `end`.
fn label(out: &mut String, (x, y): (f64, f64), anchor: &str, class: &str, text: &str) {
    let text = escape(text);
    let _ = write!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{text}</text>"
    );
}

fn line(out: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
    let _ = write!(
        out,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" class=\"{class}\"/>"
    );
}

fn path(out: &mut String, points: impl Iterator<Item = (f64, f64)>, class: &str) {
    let mut steps = String::new();
    for (i, (x, y)) in points.enumerate() {
        let _ = write!(steps, "{}{x:.1} {y:.1}", if i == 0 { "M" } else { "L" });
    }
    let _ = write!(out, "<path d=\"{steps}\" class=\"{class}\"/>");
}

/// Shortens a name to `most` characters.
fn short(name: &str, most: usize) -> String {
    match name.char_indices().nth(most) {
        None => name.to_owned(),
        Some(_) => name.chars().take(most - 1).chain(['…']).collect(),
    }
}

/// Draws the mark of a series. Its shape distinguishes the series where colours do not.
fn mark(out: &mut String, series: usize, (x, y): (f64, f64)) {
    let r = 3.6;
    let polygon = |points: &[(f64, f64)]| {
        let mut steps = String::new();
        for (dx, dy) in points {
            let _ = write!(steps, "{:.1},{:.1} ", x + dx * r, y + dy * r);
        }
        format!("<polygon points=\"{}\" class=\"m{series}\"/>", steps.trim_end())
    };
    *out += &match series % MOST_SERIES {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.2\" class=\"m{series}\"/>"),
        1 => polygon(&[(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]),
        2 => polygon(&[(0.0, -1.3), (1.2, 0.9), (-1.2, 0.9)]),
        3 => polygon(&[(0.0, -1.4), (1.4, 0.0), (0.0, 1.4), (-1.4, 0.0)]),
        4 => polygon(&[(0.0, 1.3), (1.2, -0.9), (-1.2, -0.9)]),
        5 => polygon(&[(-1.5, -0.5), (1.5, -0.5), (1.5, 0.5), (-1.5, 0.5)]),
        6 => polygon(&[(-0.5, -1.5), (0.5, -1.5), (0.5, 1.5), (-0.5, 1.5)]),
        _ => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.4\" class=\"m{series}\"/>"),
    };
}

fn tick(quantity: Quantity, value: f64) -> String {
    // A tick is a round number, so its trailing zeros are removed.
    let trim = |text: String| match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    };
    match quantity {
        Quantity::Count => words::count(value),
        Quantity::Nanoseconds => trim(words::time(value)),
        Quantity::Bytes if value >= 1e6 => trim(format!("{} MB", words::digits(value / 1e6))),
        Quantity::Bytes if value >= 1e3 => trim(format!("{} kB", words::digits(value / 1e3))),
        Quantity::Bytes => trim(format!("{} B", words::digits(value))),
    }
}

fn draw_curves(curves: &Curves, width: Width) -> (String, (f64, f64)) {
    let series: Vec<&Series> = curves.series.iter().take(MOST_SERIES).collect();
    let wide = width == Width::Wide;
    let across = if wide { 760.0 } else { 358.0 };
    let (left, right) = if wide { (62.0, across - 204.0) } else { (56.0, across - 24.0) };
    let (top, bottom) = if wide { (28.0, 368.0) } else { (28.0, 300.0) };
    let points = || series.iter().flat_map(|one| one.points.iter());
    let x = LogAxis::new(points().map(|p| p.0), 0.05, left, right);
    let y = LogAxis::new(points().map(|p| p.1), 0.15, bottom, top);
    let mut out = String::new();

    for value in x.ticks() {
        line(&mut out, (x.at(value), top), (x.at(value), bottom), "grid");
        let text = tick(curves.x_quantity, value);
        label(&mut out, (x.at(value), bottom + 17.0), "middle", "tick", &text);
    }
    for value in y.ticks() {
        line(&mut out, (left, y.at(value)), (right, y.at(value)), "grid");
        let text = tick(curves.quantity, value);
        label(&mut out, (left - 7.0, y.at(value) + 4.0), "end", "tick", &text);
    }
    line(&mut out, (left, bottom), (right, bottom), "axis");
    label(&mut out, (left, 14.0), "start", "name", &curves.y);
    label(&mut out, (right, bottom + 34.0), "end", "name", &curves.x);

    // Drawn in reverse order, so that the first series is on top.
    for (i, one) in series.iter().enumerate().rev() {
        fitted(&mut out, one, (&x, &y), (top, bottom));
        let at = |point: &(f64, f64)| (x.at(point.0), y.at(point.1));
        path(&mut out, one.points.iter().map(at), &format!("s s{i}"));
        for point in &one.points {
            mark(&mut out, i, at(point));
        }
    }
    if wide {
        let last = |one: &&Series| one.points.last().map_or(bottom, |point| y.at(point.1));
        let wanted: Vec<f64> = series.iter().map(last).collect();
        for (i, at) in spread(&wanted, 17.0, top + 4.0, bottom).into_iter().enumerate() {
            mark(&mut out, i, (right + 16.0, at));
            let class = if i == 0 { "ours" } else { "name" };
            label(&mut out, (right + 26.0, at + 4.0), "start", class, &short(&series[i].name, 28));
        }
        return (out, (across, bottom + 42.0));
    }
    // The legend has two columns, or one if a name is long.
    let columns = if series.iter().all(|one| one.name.chars().count() <= 21) { 2 } else { 1 };
    let most = if columns == 2 { 21 } else { 46 };
    let mut down = bottom + 56.0;
    for (i, one) in series.iter().enumerate() {
        let from = if i % columns == 0 { 12.0 } else { 188.0 };
        mark(&mut out, i, (from, down - 4.0));
        let class = if i == 0 { "ours" } else { "name" };
        label(&mut out, (from + 10.0, down), "start", class, &short(&one.name, most));
        if i % columns == columns - 1 {
            down += 20.0;
        }
    }
    (out, (across, down + if series.len().is_multiple_of(columns) { 0.0 } else { 14.0 }))
}

/// Draws the fitted line in steps, because it is curved on logarithmic axes.
fn fitted(
    out: &mut String,
    series: &Series,
    (x, y): (&LogAxis, &LogAxis),
    (top, bottom): (f64, f64),
) {
    let Some((fixed, per_unit)) = series.fit else {
        return;
    };
    let (low, high) = x.bounds();
    let steps = (0..=48).map(|i| low * (high / low).powf(f64::from(i) / 48.0));
    let points = steps.filter_map(|members| {
        let value = fixed + per_unit * members;
        let at = (x.at(members), y.at(value));
        (value > 0.0 && (top..=bottom).contains(&at.1)).then_some(at)
    });
    path(out, points, "fit");
}

fn draw_bars(bars: &Bars, width: Width) -> (String, (f64, f64)) {
    let wide = width == Width::Wide;
    let across = if wide { 760.0 } else { 358.0 };
    let (left, right) = if wide { (206.0, across - 150.0) } else { (10.0, across - 14.0) };
    let step = if wide { 25.0 } else { 40.0 };
    let all = || bars.groups.iter().flat_map(|group| group.bars.iter());
    let ends = all().flat_map(|bar| [bar.median, bar.ci95[0], bar.ci95[1]]);
    // Bars of ratios start at 1, which is therefore marked; others start at the axis.
    let one = (bars.scale == Scale::Ratio).then_some(1.0);
    let x = LogAxis::new(ends.chain(one), 0.08, left, right);
    let base = one.unwrap_or(x.bounds().0);
    let rows: f64 = bars.groups.iter().map(|group| 30.0 + step * count(group.bars.len())).sum();
    let (top, bottom) = (8.0, 8.0 + rows + 6.0);
    let mut out = String::new();

    for value in x.ticks() {
        let text = match bars.scale {
            Scale::Ratio if value < 1.0 => format!("{value}×"),
            Scale::Ratio => format!("{}×", tick(Quantity::Count, value)),
            Scale::Amount(quantity) => tick(quantity, value),
        };
        label(&mut out, (x.at(value), bottom + 17.0), "middle", "tick", &text);
    }
    let guides = |out: &mut String, from: f64, to: f64| {
        for value in x.ticks() {
            line(out, (x.at(value), from), (x.at(value), to), "grid");
        }
        line(out, (x.at(base), from), (x.at(base), to), "one");
    };
    let mut y = top;
    for group in &bars.groups {
        y += 22.0;
        let start = if wide { 0.0 } else { left };
        label(
            &mut out,
            (start, y),
            "start",
            "ours",
            &short(&group.title, if wide { 90 } else { 46 }),
        );
        y += 8.0;
        for bar in &group.bars {
            let middle = if wide { y + step / 2.0 } else { y + 27.0 };
            // Names are beside the bars on wide screens, and above them on narrow ones.
            let half = if wide { step / 2.0 } else { 9.0 };
            guides(&mut out, middle - half, middle + half);
            let class = match (one.is_some_and(|one| bar.median < one), bar.alike) {
                (true, _) => "bar lost",
                (false, true) => "bar",
                (false, false) => "bar other",
            };
            let (from, to) = (x.at(bar.median.min(base)), x.at(bar.median.max(base)));
            let _ = write!(
                out,
                "<rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"11\" class=\"{class}\"/>",
                middle - 5.5,
                (to - from).max(1.0)
            );
            let [low, high] = bar.ci95.map(|bound| x.at(bound));
            // An exact value has no interval.
            if bar.ci95[0] < bar.ci95[1] {
                line(&mut out, (low, middle), (high, middle), "whisker");
                for end in [low, high] {
                    line(&mut out, (end, middle - 4.0), (end, middle + 4.0), "whisker");
                }
            }
            let name = short(&bar.name, 28);
            let style = if bar.alike { "name" } else { "name unlike" };
            if wide {
                label(&mut out, (left - 10.0, middle + 4.0), "end", style, &name);
                label(&mut out, (across, middle + 4.0), "end", style, &bar.text);
            } else {
                label(&mut out, (left, y + 14.0), "start", style, &name);
                label(&mut out, (across - 4.0, y + 14.0), "end", style, &bar.text);
            }
            y += step;
        }
    }
    (out, (across, bottom + 26.0))
}

#[allow(clippy::cast_precision_loss, reason = "rows of a chart")]
fn count(rows: usize) -> f64 {
    rows as f64
}

#[cfg(test)]
mod tests {
    use super::super::chart::{Bar, BarGroup};
    use super::*;

    #[test]
    fn bars_of_amounts_begin_at_the_left_and_have_units() {
        let bar = |name: &str, ns: f64| Bar {
            name: name.into(),
            median: ns,
            ci95: [ns * 0.9, ns * 1.1],
            text: words::time(ns),
            alike: true,
        };
        let group = |title: &str, factor: f64| BarGroup {
            title: title.into(),
            bars: vec![bar("one", 2e6 * factor), bar("other", 9e6 * factor)],
        };
        let bars = Bars {
            scale: Scale::Amount(Quantity::Nanoseconds),
            title: "Time".into(),
            note: String::new(),
            description: "Time".into(),
            groups: vec![group("small", 1.0), group("large", 10.0)],
        };
        for width in [Width::Wide, Width::Narrow] {
            let (drawn, _) = draw_bars(&bars, width);
            assert_eq!(drawn.matches("<rect").count(), 4);
            assert!(drawn.contains(">10 ms<") && !drawn.contains('×'), "{drawn}");
            assert!(!drawn.contains("lost") && !drawn.contains("NaN"), "{drawn}");
            let starts: Vec<&str> = drawn
                .split("<rect x=\"")
                .skip(1)
                .filter_map(|rest| rest.split('"').next())
                .collect();
            assert!(starts.windows(2).all(|pair| pair[0] == pair[1]), "{starts:?}");
        }
    }
}
