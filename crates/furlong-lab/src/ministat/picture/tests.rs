//! Properties that hold for every picture.

use super::{Drawing, Figure, Picture, SYMBOLS, Undrawable, overlap_symbol};
use furlong_stats::random::Random;

const UNLIMITED: usize = usize::MAX;

/// The cells of the values, top row first, and the bars.
fn cells(text: &str, bars: usize) -> (Vec<Vec<char>>, Vec<String>) {
    let inside = |line: &str| line[1..].rsplit_once('|').unwrap().0.to_string();
    let lines: Vec<String> = text
        .lines()
        .filter(|l| l.starts_with('|'))
        .map(inside)
        .collect();
    let (rows, bars) = lines.split_at(lines.len() - bars);
    (
        rows.iter().map(|row| row.chars().collect()).collect(),
        bars.to_vec(),
    )
}

/// The number of cells with a symbol in each column; they must be at the bottom, without gaps.
fn heights(rows: &[Vec<char>], symbol: char) -> Vec<usize> {
    let width = rows.first().map_or(0, Vec::len);
    (0..width)
        .map(|column| {
            let filled: Vec<bool> = rows.iter().rev().map(|row| row[column] == symbol).collect();
            let height = filled.iter().filter(|filled| **filled).count();
            assert!(
                filled[..height].iter().all(|filled| *filled),
                "a gap in column {column}"
            );
            height
        })
        .collect()
}

fn sample(random: &mut Random) -> Vec<f64> {
    let n = 3 + random.below(60);
    let scale = 10_f64.powi(random.below(13) as i32 - 6);
    let grain = [0.0, 0.5, 1.0][random.below(3)];
    (0..n)
        .map(|_| {
            let value = 4.0 + random.normal();
            let grained = if grain > 0.0 {
                (value / grain).round() * grain
            } else {
                value
            };
            grained * scale
        })
        .collect()
}

#[test]
fn every_value_falls_into_the_column_whose_middle_is_nearest() {
    let mut random = Random::new(11);
    for round in 0..300 {
        let values = sample(&mut random);
        let width = 2 + random.below(100);
        let picture = Picture {
            rows_max: UNLIMITED,
            ..Picture::new(width)
        };
        let figure = Figure::of('x', &values).unwrap();
        if figure.summary.min == figure.summary.max {
            continue;
        }
        let (rows, _) = cells(&picture.render(&[('x', &values)]), 1);
        let found = heights(&rows, 'x');
        assert_eq!(found.iter().sum::<usize>(), values.len(), "round {round}");
        assert_eq!(found.iter().max(), Some(&rows.len()), "round {round}");
        let low = figure.summary.min.min(figure.ends()[0]);
        let high = figure.summary.max.max(figure.ends()[1]);
        let step = (high - low) / (width - 1) as f64;
        for (column, found) in found.into_iter().enumerate() {
            let middle = low + column as f64 * step;
            let near = |slack: f64| {
                values
                    .iter()
                    .filter(|v| (*v - middle).abs() <= step * (0.5 + slack))
                    .count()
            };
            assert!(
                near(-1e-6) <= found && found <= near(1e-6),
                "round {round}, {column}"
            );
        }
    }
}

#[test]
fn a_corrected_picture_is_as_high_as_its_tallest_stack_in_any_order() {
    let mut random = Random::new(12);
    for round in 0..200 {
        let sets: Vec<Vec<f64>> = (0..1 + random.below(7))
            .map(|_| sample(&mut random))
            .collect();
        let picture = Picture {
            rows_max: UNLIMITED,
            ..Picture::new(60)
        };
        let figures: Vec<Figure<'_>> = sets
            .iter()
            .zip(SYMBOLS)
            .map(|(v, s)| Figure::of(s, v).unwrap())
            .collect();
        let Ok(drawing) = Drawing::new(&picture, &figures) else {
            continue;
        };
        let tallest = figures.iter().map(|figure| {
            let mut columns: Vec<usize> = figure
                .values
                .iter()
                .filter_map(|v| drawing.scale.column(*v))
                .collect();
            columns.sort_unstable();
            columns
                .chunk_by(|a, b| a == b)
                .map(<[usize]>::len)
                .max()
                .unwrap()
        });
        assert_eq!(drawing.rows(), tallest.max().unwrap(), "round {round}");
        let mut reversed = figures.clone();
        reversed.reverse();
        let reversed = Drawing::new(&picture, &reversed).unwrap();
        for row in 1..=drawing.rows() {
            assert_eq!(drawing.row(row), reversed.row(row), "round {round}");
        }
    }
}

#[test]
fn places_that_several_sets_share_have_a_symbol_of_their_own() {
    let picture = Picture::new(5);
    let values: [&[f64]; 3] = [
        &[0.0, 4.0, 4.0, 2.0, 0.0],
        &[0.0, 1.0, 3.0],
        &[3.0, 2.0, 1.0],
    ];
    let two = picture.render(&[('x', values[0]), ('+', values[1])]);
    let (rows, _) = cells(&two, 2);
    assert_eq!(
        rows,
        [vec!['x', ' ', ' ', ' ', 'x'], vec!['*', '+', 'x', '+', 'x']]
    );
    let three = picture.render(&[('x', values[0]), ('+', values[1]), ('*', values[2])]);
    let (rows, _) = cells(&three, 3);
    assert_eq!(rows[1], ['&', '&', '&', '&', 'x']);
    assert_eq!(overlap_symbol(['a', 'b']), '*');
}

#[test]
fn bars_reach_over_one_deviation_with_median_and_mean() {
    let values = [0.0, 0.0, 0.0, 10.0, 10.0, 20.0, 20.0];
    let figure = Figure::of('x', &values).unwrap();
    let (_, bars) = cells(&Picture::new(21).render(&[('x', &values)]), 1);
    let bar: Vec<char> = bars[0].chars().collect();
    let place = |value: f64| value.round() as usize;
    assert_eq!(bar[place(figure.summary.median)], 'M');
    assert_eq!(bar[place(figure.summary.mean)], 'A');
    assert_eq!(
        bar.iter().position(|c| *c == '|'),
        Some(place(figure.ends()[0]))
    );
    assert_eq!(
        bar.iter().rposition(|c| *c == '|'),
        Some(place(figure.ends()[1]))
    );
    assert!(bar[place(figure.ends()[1]) + 1..].iter().all(|c| *c == ' '));
}

#[test]
fn tall_stacks_are_drawn_to_scale_and_no_value_is_lost() {
    let mut values = vec![1.0; 1000];
    values.push(2.0);
    let text = Picture::new(10).render(&[('x', &values)]);
    let (rows, _) = cells(&text, 1);
    assert_eq!(rows.len(), 24);
    assert_eq!(rows[23].iter().filter(|c| **c == 'x').count(), 2);
    assert!(text.contains("each symbol stands for up to 42 values"));
}

#[test]
fn one_set_looks_the_same_classic_and_corrected() {
    let mut random = Random::new(13);
    for _ in 0..100 {
        let values = sample(&mut random);
        let corrected = Picture {
            rows_max: UNLIMITED,
            ..Picture::new(50)
        };
        let classic = Picture {
            classic: true,
            ..corrected
        };
        let figures = [Figure::of('x', &values).unwrap()];
        let (Ok(corrected), Ok(classic)) = (
            Drawing::new(&corrected, &figures),
            Drawing::new(&classic, &figures),
        ) else {
            continue;
        };
        assert_eq!(corrected.rows(), classic.rows());
        assert_eq!(corrected.bars, classic.bars);
        for row in 1..=classic.rows() {
            assert_eq!(corrected.row(row), classic.row(row));
        }
    }
}

#[test]
fn what_cannot_be_drawn_is_said_in_a_line() {
    let picture = Picture::new(40);
    assert_eq!(
        picture.render(&[('x', &[5.0; 4])]),
        "[no picture: every value is 5]\n"
    );
    for sets in [&[][..], &[('x', &[1.0, f64::NAN][..])], &[('x', &[][..])]] {
        assert!(
            picture.render(sets).starts_with("[no picture: the range"),
            "{sets:?}"
        );
    }
    let classic = Picture {
        classic: true,
        width: 1,
        ..picture
    };
    let figures = [Figure::of('x', &[1.0, 2.0, 3.0]).unwrap()];
    assert_eq!(
        Drawing::new(&classic, &figures).err(),
        Some(Undrawable::Range)
    );
}

#[test]
fn extreme_ranges_and_widths_are_drawn_without_a_panic() {
    let denormal = f64::from_bits(1);
    let extremes: [&[f64]; 4] = [
        &[0.0, denormal, 3.0 * denormal],
        &[-1e150, 1e150, 0.0],
        &[1e9, 1e9 + 0.1, 1e9 + 0.2],
        &[1.0, 1.0 + f64::EPSILON, 1.0],
    ];
    for values in extremes {
        for width in [0, 1, 2, 3, 74] {
            let text = Picture::new(width).render(&[('x', values)]);
            let (rows, _) = cells(&text, 1);
            assert_eq!(
                heights(&rows, 'x').iter().sum::<usize>(),
                3,
                "{values:?} {width}"
            );
        }
    }
}
