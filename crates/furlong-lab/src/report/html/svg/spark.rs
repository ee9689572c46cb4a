//! Small lines of ratios from run to run, on one scale that contains 1.

use maud::{Markup, html};

use super::scale::Scale;
use super::{colour, dots, line, px, trend};

/// Width and height.
const SIZE: (f64, f64) = (160.0, 28.0);
/// Room at the sides.
const SIDE: f64 = 3.0;

/// A line for each arm, with its place among the arms and its values, oldest first. A dot marks the
/// latest value. `None` if there is no value.
pub(crate) fn draw(about: &str, lines: &[(usize, Vec<f64>)]) -> Option<Markup> {
    let (width, height) = SIZE;
    let all = || lines.iter().flat_map(|(_, values)| values).copied();
    all().next()?;
    let ys = Scale::over(all().chain([1.0]), 0.05, height - SIDE, SIDE)?;
    let longest = lines.iter().map(|(_, values)| values.len()).max()?;
    let xs = Scale::new(0.0, at(longest.saturating_sub(1)), SIDE, width - SIDE);
    let of = |values: &[f64]| -> Vec<(f64, f64)> {
        // The latest values are at the same place, even if a line is shorter.
        let first = longest - values.len();
        let values = values.iter().enumerate();
        values
            .map(|(i, value)| (xs.at(at(first + i)), ys.at(*value)))
            .collect()
    };
    Some(html! {
        svg.spark viewBox=(format!("0 0 {} {}", px(width), px(height))) role="img"
            aria-label=(about) {
            (line("grid", 0.0, ys.at(1.0), width, ys.at(1.0)))
            @for (arm, values) in lines {
                @let places = of(values);
                g class=(colour(*arm)) {
                    (trend(places.iter().copied()))
                    (dots("dots", places.last().copied()))
                }
            }
        }
    })
}

fn at(place: usize) -> f64 {
    f64::from(u32::try_from(place).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::draw;

    #[test]
    fn every_arm_has_a_line_that_ends_at_the_same_place() {
        let lines = [(1, vec![0.9, 0.8, 0.7]), (2, vec![1.1])];
        let svg = draw("ratios", &lines).unwrap().into_string();
        assert_eq!(svg.matches("class=\"trend\"").count(), 2);
        assert_eq!(svg.matches("d=\"M157,").count(), 3, "{svg}");
        assert!(!svg.contains("NaN"), "{svg}");
        assert!(draw("ratios", &[]).is_none() && draw("ratios", &[(1, vec![])]).is_none());
    }
}
