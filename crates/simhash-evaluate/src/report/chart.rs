//! Plots as SVG files.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

/// A line through points.
pub struct Line {
    pub label: String,
    pub points: Vec<(f64, f64)>,
    /// What others published, drawn thin and with dots.
    pub published: bool,
}

impl Line {
    pub fn new(label: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Line { label: label.into(), points, published: false }
    }
}

pub struct Panel {
    pub title: String,
    pub x: (String, f64, f64),
    pub y: (String, f64, f64),
    pub lines: Vec<Line>,
    /// Where the labels hide least.
    pub labels: SeriesLabelPosition,
}

const COLOURS: [RGBColor; 8] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(44, 160, 44),
    RGBColor(148, 103, 189),
    RGBColor(255, 127, 14),
    RGBColor(23, 190, 207),
    RGBColor(127, 127, 127),
    RGBColor(140, 86, 75),
];

const FONT: &str = "sans-serif";

/// Panels side by side, `across` in a row.
pub fn panels(path: &Path, panels: &[Panel], across: usize) -> Result<(), Box<dyn Error>> {
    let across = across.min(panels.len()).max(1);
    let down = panels.len().div_ceil(across);
    let mut svg = String::new();
    {
        let root =
            SVGBackend::with_string(&mut svg, (480 * across as u32, 330 * down as u32)).into_drawing_area();
        root.fill(&WHITE)?;
        for (panel, area) in panels.iter().zip(root.split_evenly((down, across))) {
            draw(panel, &area)?;
        }
        root.present()?;
    }
    Ok(std::fs::write(path, svg + "\n")?)
}

fn draw<B: DrawingBackend>(panel: &Panel, area: &DrawingArea<B, Shift>) -> Result<(), Box<dyn Error>>
where
    B::ErrorType: 'static,
{
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, (FONT, 15))
        .margin(10)
        .x_label_area_size(36)
        .y_label_area_size(48)
        .build_cartesian_2d(panel.x.1..panel.x.2, panel.y.1..panel.y.2)?;
    chart
        .configure_mesh()
        .x_desc(&panel.x.0)
        .y_desc(&panel.y.0)
        .label_style((FONT, 12))
        .light_line_style(WHITE)
        .bold_line_style(BLACK.mix(0.12))
        .draw()?;
    for (line, colour) in panel.lines.iter().zip(COLOURS.iter().cycle()) {
        let style = colour.stroke_width(if line.published { 1 } else { 2 });
        let key = move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], style);
        chart
            .draw_series(LineSeries::new(line.points.iter().copied(), style))?
            .label(&line.label)
            .legend(key);
        if line.published {
            chart.draw_series(line.points.iter().map(|&point| Circle::new(point, 3, colour.filled())))?;
        }
    }
    chart
        .configure_series_labels()
        .position(panel.labels.clone())
        .background_style(WHITE.mix(0.7))
        .border_style(BLACK.mix(0.2))
        .label_font((FONT, 11))
        .draw()?;
    Ok(())
}

/// Horizontal bars from the top down, by group.
pub fn bars(
    path: &Path,
    title: &str,
    groups: &[String],
    bars: &[(String, Vec<f64>)],
    from: f64,
) -> Result<(), Box<dyn Error>> {
    let thickness = 12 * groups.len() as u32 + 8;
    let mut svg = String::new();
    {
        let height = 70 + thickness * bars.len() as u32;
        let root = SVGBackend::with_string(&mut svg, (860, height)).into_drawing_area();
        root.fill(&WHITE)?;
        root.draw(&Text::new(title.to_owned(), (20, 14), (FONT, 15)))?;
        let (left, right) = (300, 780);
        for (at, (group, colour)) in groups.iter().zip(COLOURS).enumerate() {
            let x = left + 130 * at as i32;
            root.draw(&Rectangle::new([(x, 36), (x + 12, 46)], colour.filled()))?;
            root.draw(&Text::new(group.clone(), (x + 18, 36), (FONT, 12)))?;
        }
        for (row, (label, values)) in bars.iter().enumerate() {
            let top = 58 + (thickness * row as u32) as i32;
            root.draw(&Text::new(label.clone(), (20, top + (thickness as i32 - 20) / 2), (FONT, 12)))?;
            for (at, (&value, colour)) in values.iter().zip(COLOURS).enumerate() {
                let y = top + 12 * at as i32;
                let end = left + (f64::from(right - left) * ((value - from) / (1.0 - from)).max(0.0)) as i32;
                root.draw(&Rectangle::new([(left, y), (end, y + 10)], colour.filled()))?;
                root.draw(&Text::new(format!("{value:.3}"), (end + 5, y), (FONT, 10)))?;
            }
        }
        root.present()?;
    }
    Ok(std::fs::write(path, svg + "\n")?)
}
