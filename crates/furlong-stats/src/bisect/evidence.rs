//! The evidence for a hypothesis: steps with normal priors, integrated in closed form.

/// Steps with their posterior means and variances, and the logarithm of their evidence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit<const D: usize> {
    pub(super) log: f64,
    pub(super) mean: [f64; D],
    pub(super) variance: [f64; D],
}

/// Sums over measured commits from each one on: precisions, and weighted levels.
#[derive(Debug)]
pub(super) struct Tails {
    step: f64,
    /// Logarithm of the evidence for no step.
    none: f64,
    precision: Vec<Vec<f64>>,
    weighted: Vec<f64>,
}

impl Tails {
    /// The sums of levels in the order of their commits. `covariance` includes the noise and the
    /// build effects.
    pub(super) fn of(levels: &[f64], covariance: Vec<Vec<f64>>, step: f64) -> Self {
        let (mut precision, half_determinant) = inverse(covariance);
        let rows = precision.iter();
        let product = |row: &Vec<f64>| row.iter().zip(levels).map(|(a, b)| a * b).sum::<f64>();
        let mut weighted: Vec<f64> = rows.map(product).collect();
        let square: f64 = weighted.iter().zip(levels).map(|(a, b)| a * b).sum();
        let n = levels.len();
        for row in (0..n).rev() {
            for column in (0..n).rev() {
                let cell = |row: usize, column: usize| {
                    precision
                        .get(row)
                        .and_then(|row| row.get(column))
                        .copied()
                        .unwrap_or(0.0)
                };
                let behind =
                    cell(row + 1, column) + cell(row, column + 1) - cell(row + 1, column + 1);
                precision[row][column] += behind;
            }
            weighted[row] += weighted.get(row + 1).copied().unwrap_or(0.0);
        }
        Self {
            step,
            none: -square / 2.0 - half_determinant,
            precision,
            weighted,
        }
    }

    /// The fit with steps at the places of the first measured commits that they change.
    pub(super) fn fit<const D: usize>(&self, steps: [usize; D]) -> Fit<D> {
        let mut precision = steps.map(|row| steps.map(|column| self.precision[row][column]));
        for (level, row) in precision.iter_mut().enumerate() {
            row[level] += 1.0 / (self.step * self.step);
        }
        let solved = solve(precision, steps.map(|row| self.weighted[row]));
        Fit {
            log: self.none + solved.log - D as f64 * self.step.ln(),
            ..solved
        }
    }
}

/// The inverse of a covariance, and half the logarithm of its determinant.
fn inverse(mut matrix: Vec<Vec<f64>>) -> (Vec<Vec<f64>>, f64) {
    let n = matrix.len();
    let mut half_determinant = 0.0;
    // Gauss and Jordan in place: a covariance needs no exchange of rows.
    for pivot in 0..n {
        let scale = 1.0 / matrix[pivot][pivot];
        half_determinant -= scale.ln() / 2.0;
        matrix[pivot][pivot] = 1.0;
        for cell in &mut matrix[pivot] {
            *cell *= scale;
        }
        let from = matrix[pivot].clone();
        for (at, row) in matrix.iter_mut().enumerate() {
            if at != pivot {
                let factor = std::mem::replace(&mut row[pivot], 0.0);
                for (cell, above) in row.iter_mut().zip(&from) {
                    *cell -= factor * above;
                }
            }
        }
    }
    (matrix, half_determinant)
}

/// Solves for the steps by Cholesky's method.
fn solve<const D: usize>(mut lower: [[f64; D]; D], weighted: [f64; D]) -> Fit<D> {
    let mut half = weighted;
    let mut determinant = 1.0;
    let mut square = 0.0;
    for row in 0..D {
        for column in 0..=row {
            let known: f64 = (0..column).map(|k| lower[row][k] * lower[column][k]).sum();
            let rest = lower[row][column] - known;
            lower[row][column] = match row == column {
                true => rest.sqrt(),
                false => rest / lower[column][column],
            };
        }
        let known: f64 = (0..row).map(|k| lower[row][k] * half[k]).sum();
        half[row] = (half[row] - known) / lower[row][row];
        square += half[row] * half[row];
        determinant *= lower[row][row];
    }
    // The inverse of the triangle, a column each: its squares are the variances.
    let (mut mean, mut variance) = ([0.0; D], [0.0; D]);
    for column in 0..D {
        let mut inverse = [0.0; D];
        for row in column..D {
            let known: f64 = (column..row).map(|k| lower[row][k] * inverse[k]).sum();
            let unit = if row == column { 1.0 } else { 0.0 };
            inverse[row] = (unit - known) / lower[row][row];
            mean[column] += inverse[row] * half[row];
            variance[column] += inverse[row] * inverse[row];
        }
    }
    Fit {
        log: square / 2.0 - determinant.ln(),
        mean,
        variance,
    }
}
