//! Closed forms from theory, for the tests to compare simulated figures with.

/// Write amplification of greedy garbage collection under uniform random writes of whole pages: the mean-field limit
/// of Van Houdt, "A Mean Field Model for a Class of Garbage Collection Algorithms in Flash-based Solid State Drives"
/// (SIGMETRICS 2013), d-choices with d to infinity, for N blocks of `b` pages, N large, where `alpha` is the ratio of
/// physical to logical pages.
///
/// A write invalidates a given valid page with probability 1 / (rho N b), so in equilibrium the blocks with i valid
/// pages are rho b r / i of all, where rho = 1 / alpha is the utilisation and r is the rate at which blocks are filled.
/// Greedy takes every block that falls to t valid pages at once (rate f) and the rest of its victims (rate r - f) from
/// those with t + 1. Counting all blocks and all valid pages:
///
/// ```text
/// rho b ( r (1/(t+2) + ... + 1/b) + f / (t+1) ) = 1        r (b - t - 1) + f = 1        0 <= f <= r
/// ```
///
/// and write amplification is b r. Returns `None` where there is no equilibrium: `alpha` is not above one, or so little
/// above it that every page of every victim would be valid.
pub fn greedy_mean_field(alpha: f64, b: u32) -> Option<f64> {
    let rho_b = f64::from(b) / alpha;
    (0..b.saturating_sub(1)).find_map(|t| {
        let harmonic: f64 = (t + 2..=b).map(|i| 1.0 / f64::from(i)).sum();
        let (above, next) = (f64::from(b - t - 1), f64::from(t + 1));
        let r = (1.0 / rho_b - 1.0 / next) / (harmonic - above / next);
        let f = 1.0 - r * above;
        (0.0..=r).contains(&f).then(|| f64::from(b) * r)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_two_pages_by_hand() {
        // t = 0: rho b (r / 2 + f) = 1 and r + f = 1, so r = 2 - 2 / (rho b) = 2 - alpha; f <= r where alpha <= 3/2.
        assert_eq!(greedy_mean_field(1.25, 2).map(|waf| (waf * 1e9).round()), Some(1.5e9));
        assert_eq!(greedy_mean_field(1.5, 2).map(|waf| (waf * 1e9).round()), Some(1e9));
    }

    #[test]
    fn without_spare_space_there_is_no_equilibrium() {
        assert_eq!((greedy_mean_field(0.9, 32), greedy_mean_field(1.0, 1)), (None, None));
    }
}
