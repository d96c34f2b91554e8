//! Choices of a seed: the same everywhere, in the shares asked for, one property independent of another.

use proptest::prelude::*;
use sixbench_emulate::Impairments;
use sixbench_emulate::decision::{Decision, Decisions};
use sixbench_emulate::spec::{Chosen, GilbertElliott, Late, Loss};

const COUNT: usize = 100_000;

fn decisions(impairments: Impairments, count: usize) -> Vec<Decision> {
    let mut decisions = Decisions::new(impairments);
    (0..count).map(|_| decisions.decide()).collect()
}

fn share(decisions: &[Decision], of: impl Fn(&Decision) -> bool) -> f64 {
    decisions.iter().filter(|decision| of(decision)).count() as f64 / decisions.len() as f64
}

/// Six standard deviations of a share: a seed that is fixed cannot fail by chance, a wrong generator does.
fn is_near(found: f64, wanted: f64) -> bool {
    (found - wanted).abs() < 6.0 * (wanted * (1.0 - wanted) / COUNT as f64).sqrt()
}

#[test]
fn nothing_happens_unless_asked_for() {
    assert!(decisions(Impairments::default(), 1000).iter().all(|decision| *decision == Decision::default()));
}

#[test]
fn shares_are_those_asked_for() {
    let impairments = Impairments {
        delay_ns: 1000,
        loss: Some(Loss::Ratio(0.01)),
        duplicate: Some(Chosen::Ratio(0.02)),
        corrupt: Some(Chosen::Ratio(0.03)),
        reorder: Some(Chosen::Ratio(0.04)),
        seed: 7,
        ..Impairments::default()
    };
    let found = decisions(impairments, COUNT);
    assert!(is_near(share(&found, |decision| decision.is_lost), 0.01));
    // A lost packet is neither doubled nor anything else.
    assert!(is_near(share(&found, |decision| decision.is_duplicated), 0.02 * 0.99));
    assert!(is_near(share(&found, |decision| decision.flipped.is_some()), 0.03 * 0.99));
    assert!(is_near(share(&found, |decision| decision.overtakes), 0.04 * 0.99));
    assert!(found.iter().all(|decision| (decision.delay_ns == 0) == (decision.overtakes || decision.is_lost)));
}

#[test]
fn lists_are_exact() {
    let packets = vec![0, 3, 4, 5, 999];
    let impairments = Impairments {
        loss: Some(Loss::Packets(packets.clone())),
        duplicate: Some(Chosen::Packets(vec![7])),
        late: Some(Late { packets: vec![8], by: 3 }),
        ..Impairments::default()
    };
    let found = decisions(impairments, 1000);
    let lost: Vec<u64> = (0..1000).filter(|number| found[*number as usize].is_lost).collect();
    assert_eq!(lost, packets);
    assert_eq!(found.iter().position(|decision| decision.is_duplicated), Some(7));
    assert_eq!((found[8].late_by, found[9].late_by), (Some(3), None));
}

#[test]
fn bursts_have_the_mean_length_and_the_share_that_the_states_give() {
    // Gilbert's model: 2 % lost, 5 in a row in the mean.
    let to_good = 0.2;
    let states = GilbertElliott { to_bad: to_good * 0.02 / 0.98, to_good, loss_in_good: 0.0, loss_in_bad: 1.0 };
    let impairments = Impairments { loss: Some(Loss::GilbertElliott(states)), seed: 3, ..Impairments::default() };
    let found = decisions(impairments, 10 * COUNT);
    let lost = share(&found, |decision| decision.is_lost);
    assert!((lost - 0.02).abs() < 0.002, "{lost}");
    let bursts = found.windows(2).filter(|pair| !pair[0].is_lost && pair[1].is_lost).count();
    let length = lost * found.len() as f64 / bursts as f64;
    assert!((length - 5.0).abs() < 0.3, "{length}");
}

#[test]
fn jitter_has_its_distribution_whatever_its_correlation() {
    for jitter_correlation in [0.0, 0.9] {
        let jitter_ns = (-1000..=1000).collect();
        let impairments =
            Impairments { delay_ns: 5000, jitter_ns, jitter_correlation, seed: 11, ..Impairments::default() };
        let delays: Vec<f64> = decisions(impairments, COUNT).iter().map(|decision| decision.delay_ns as f64).collect();
        assert!(delays.iter().all(|delay| (4000.0..=6000.0).contains(delay)));
        for (bound, wanted) in [(4500.0, 0.25), (5000.0, 0.5), (5500.0, 0.75)] {
            let below = delays.iter().filter(|delay| **delay < bound).count() as f64 / COUNT as f64;
            assert!((below - wanted).abs() < 0.03, "{jitter_correlation}: {below} under {bound}");
        }
        let mean = delays.iter().sum::<f64>() / COUNT as f64;
        let variance = delays.iter().map(|delay| (delay - mean).powi(2)).sum::<f64>();
        let covariance = delays.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        assert!((covariance / variance - jitter_correlation).abs() < 0.03, "{}", covariance / variance);
    }
}

#[test]
fn a_delay_is_never_under_zero() {
    let impairments = Impairments { delay_ns: 10, jitter_ns: vec![-100, 100], ..Impairments::default() };
    let found = decisions(impairments, 1000);
    assert!(
        found.iter().any(|decision| decision.delay_ns == 0) && found.iter().all(|decision| decision.delay_ns <= 110)
    );
}

#[test]
fn a_seed_means_these_packets() {
    let lost = |seed| -> Vec<usize> {
        let impairments = Impairments { loss: Some(Loss::Ratio(0.05)), seed, ..Impairments::default() };
        decisions(impairments, 100)
            .iter()
            .enumerate()
            .filter(|(_, decision)| decision.is_lost)
            .map(|(number, _)| number)
            .collect()
    };
    assert_eq!(lost(1), SEED_1);
    assert_ne!(lost(1), lost(2));
}

#[test]
fn a_change_that_continues_leaves_what_it_does_not_change_as_it_was() {
    let before = Impairments { loss: Some(Loss::Ratio(0.05)), seed: 1, ..Impairments::default() };
    let after = Impairments { delay_ns: 5, seed: 2, ..before.clone() };
    let mut changed = Decisions::new(before);
    let found: Vec<Decision> = (0..100)
        .map(|number| {
            if number == 50 {
                changed.change(after.clone());
            }
            changed.decide()
        })
        .collect();
    let lost: Vec<usize> = (0..100).filter(|number| found[*number].is_lost).collect();
    assert_eq!(lost, SEED_1);
    assert!(found[..50].iter().all(|decision| decision.delay_ns == 0));
    assert!(found[50..].iter().all(|decision| decision.is_lost || decision.delay_ns == 5));
}

/// Written down once: another list would be another network for everybody who repeats an experiment.
const SEED_1: [usize; 4] = [46, 80, 83, 97];

proptest! {
    #[test]
    fn another_property_leaves_the_losses_as_they_are(seed: u64, ratio in 0.0..1.0_f64) {
        let plain = Impairments { loss: Some(Loss::Ratio(0.3)), seed, ..Impairments::default() };
        let more = Impairments {
            delay_ns: 500,
            jitter_ns: vec![-5, 5],
            duplicate: Some(Chosen::Ratio(ratio)),
            corrupt: Some(Chosen::Ratio(ratio)),
            ..plain.clone()
        };
        let lost = |impairments| decisions(impairments, 200).iter().map(|decision| decision.is_lost).collect::<Vec<_>>();
        prop_assert_eq!(lost(plain), lost(more));
    }

    #[test]
    fn a_flaw_is_found_or_the_fates_can_be_had(
        delay_ns: u64,
        jitter_ns in prop::collection::vec(any::<i64>(), 0..5),
        jitter_correlation: f64,
        ratio: f64,
        packets in prop::collection::vec(any::<u64>(), 0..5),
    ) {
        let impairments = Impairments {
            delay_ns,
            jitter_ns,
            jitter_correlation,
            loss: Some(Loss::Ratio(ratio)),
            duplicate: Some(Chosen::Packets(packets)),
            ..Impairments::default()
        };
        if impairments.flaw().is_none() {
            decisions(impairments, 10);
        }
    }
}
