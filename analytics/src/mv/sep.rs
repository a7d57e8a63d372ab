//! Validity of a model by Superior Energy Performance (M&V §6.4).

use super::baseline::Baseline;
use super::change_point::ModelKind;
use super::distributions::{fisher_above, student_beyond};
use super::model::BaselineModel;
use crate::numeric::share_of;

/// Greatest probability of the whole model by chance.
const MODEL_P: f64 = 0.10;
/// Greatest probability of each variable by chance, and of the best one.
const VARIABLE_P: f64 = 0.20;
const BEST_VARIABLE_P: f64 = 0.10;
/// Least share of the variance that is explained.
const LEAST_R2: f64 = 0.5;

/// Whether a model is valid; none when its figures do not say.
pub fn is_valid(baseline: &Baseline) -> Option<bool> {
    let (model, statistics) = (&baseline.model, &baseline.statistics);
    let free = model.degrees_of_freedom();
    if free == 0 || !statistics.r2.is_finite() {
        return None;
    }
    let model_p = fisher_above(
        statistics.f,
        share_of(statistics.p.saturating_sub(1)),
        share_of(free),
    )?;
    let variance = model.sse() / share_of(free);
    let coefficients = model.coefficients();
    let mut variables = Vec::new();
    for (place, coefficient) in coefficients.iter().enumerate().skip(1) {
        let unit: Vec<f64> = (0..coefficients.len())
            .map(|other| f64::from(u8::from(other == place)))
            .collect();
        let deviation = (variance * model.variance_of(&unit)).sqrt();
        variables.push(student_beyond(coefficient / deviation, share_of(free))?);
    }
    let best = variables.iter().copied().fold(f64::INFINITY, f64::min);
    Some(
        model_p < MODEL_P
            && variables.iter().all(|p| *p < VARIABLE_P)
            && best < BEST_VARIABLE_P
            && statistics.r2 >= LEAST_R2
            && has_the_right_signs(model),
    )
}

/// Heating and cooling cost energy; a line may fall.
fn has_the_right_signs(model: &BaselineModel) -> bool {
    let slopes = match model {
        BaselineModel::DegreeDays(_) => usize::MAX,
        BaselineModel::ChangePoint(model) => match model.kind() {
            ModelKind::ThreeParameterCooling | ModelKind::ThreeParameterHeating => 1,
            ModelKind::FiveParameter => 2,
            ModelKind::TwoParameter | ModelKind::FourParameter => 0,
        },
    };
    let mut slopes = model.coefficients().iter().skip(1).take(slopes);
    slopes.all(|slope| *slope > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mv::ExtrapolationPolicy;
    use crate::mv::testing::worked_days;

    #[test]
    fn a_model_that_explains_its_meter_is_valid_and_noise_is_not() {
        let policy = ExtrapolationPolicy::default();
        let mut days = worked_days();
        assert_eq!(is_valid(&Baseline::of(&days, &policy).unwrap()), Some(true));
        days.energy = vec![5.0, 9.0, 4.0, 8.0, 6.0, 5.0, 9.0, 4.0, 8.0, 6.0, 5.0, 7.0];
        assert_eq!(
            is_valid(&Baseline::of(&days, &policy).unwrap()),
            Some(false)
        );
        days.energy = vec![5.0; 12];
        assert_eq!(is_valid(&Baseline::of(&days, &policy).unwrap()), None);
    }

    #[test]
    fn cooling_that_saves_energy_is_not_valid() {
        let policy = ExtrapolationPolicy::default();
        let mut days = worked_days();
        for energy in &mut days.energy {
            *energy = 300.0 - *energy;
        }
        let baseline = Baseline::of(&days, &policy).unwrap();
        assert_eq!(baseline.model.code(), "3PC");
        assert_eq!(is_valid(&baseline), Some(false));
    }
}
