//! Sets beside the original ones.

use std::ops::Range;

use furlong::addr::Iova;
use furlong_adapters::range_map::{RangeInclusiveSet, RangeSet, Span};
use furlong_spec::Random;

use super::subject::{Draw, Set};

/// Makes random changes of two sets, and returns the greatest number of ranges.
fn trial<R: Span, O: Set<R>, T: Set<R>>(seeds: Range<u64>) -> usize {
    let mut longest = 0;
    for seed in seeds {
        let (random, keys) = (Random::new(seed), [4, 40, 1500][seed as usize % 3]);
        let mut draw = Draw { random, keys };
        let (mut ours, mut theirs) = ([O::default(), O::default()], [T::default(), T::default()]);
        for _ in 0..400 {
            let (range, at) = (draw.range::<R>(), draw.random.index(2));
            if draw.random.below(3) == 0 {
                ours[at].remove(range.clone());
                theirs[at].remove(range);
            } else {
                ours[at].insert(range.clone());
                theirs[at].insert(range);
            }
            let question = draw.question();
            let answers = ours[at].answers(&question);
            assert_eq!(answers, theirs[at].answers(&question));
            longest = longest.max(answers.len.0);
            if draw.random.below(20) == 0 {
                agree_on_two(&ours, &theirs);
            }
        }
        ours[0].clear();
        theirs[0].clear();
        agree_on_two(&ours, &theirs);
        let two = [draw.range::<R>(), draw.range()];
        let (ours, theirs) = (O::from(two.clone()), T::from(two));
        let question = draw.question();
        assert_eq!(ours.answers(&question), theirs.answers(&question));
    }
    longest
}

/// All that is asked of two sets.
fn agree_on_two<R: Span, O: Set<R>, T: Set<R>>(ours: &[O; 2], theirs: &[T; 2]) {
    let [a, b] = ours;
    let [c, d] = theirs;
    assert_eq!(format!("{a:?}"), format!("{c:?}"));
    assert_eq!((a.cmp(b), a == b), (c.cmp(d), c == d));
    assert_eq!(a.partial_cmp(b), c.partial_cmp(d));
    assert_eq!(a.clone().taken(), c.clone().taken());
    let (joined, union) = a.union(b);
    let (expected, their_union) = c.union(d);
    assert_eq!((joined, union.taken()), (expected, their_union.taken()));
    let (common, both) = a.intersection(b);
    let (expected, their_both) = c.intersection(d);
    assert_eq!((common, both.taken()), (expected, their_both.taken()));
    assert_eq!(*a, a.clone().taken()[1].iter().cloned().collect());
    let mut extended = b.clone();
    extended.extend(a.clone().taken()[1].iter().cloned());
    assert_eq!(extended, a.union(b).1);
}

#[test]
fn random_calls_of_sets_are_answered_as_the_originals_do() {
    assert!(trial::<_, RangeSet<u64>, rangemap::RangeSet<u64>>(0..12) > 100);
    assert!(trial::<_, RangeSet<i32>, rangemap::RangeSet<i32>>(12..15) > 50);
    assert!(trial::<_, RangeSet<Iova>, rangemap::RangeSet<Iova>>(15..18) > 50);
    type Inclusive<K> = RangeInclusiveSet<K>;
    type Original<K> = rangemap::RangeInclusiveSet<K>;
    assert!(trial::<_, Inclusive<u64>, Original<u64>>(18..30) > 80);
    assert!(trial::<_, Inclusive<i16>, Original<i16>>(30..33) > 50);
    assert!(trial::<_, Inclusive<u8>, Original<u8>>(33..36) > 5);
}
