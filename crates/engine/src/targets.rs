//! Chips with figures that the user changed.

use crate::Error;
use assay_chip::Parameter;
use assay_predict::{Constants, FIGURES, Target};

/// A chip with `FIGURE=VALUE`s: figures of the chip and constants of the model.
pub fn changed(mut target: Target, changes: &[String]) -> Result<Target, Error> {
    for text in changes {
        change(&mut target, text)?;
    }
    target.changed = changes.to_vec();
    Ok(target)
}

fn change(target: &mut Target, text: &str) -> Result<(), Error> {
    let parts = text.split_once('=');
    let (name, value) = parts.ok_or_else(|| {
        Error::usage(format!(
            "--what-if {text}: it is FIGURE=VALUE, as in dram_gbs=200"
        ))
    })?;
    if Constants::NAMES.contains(&name.trim()) {
        let number: Option<f64> = value.trim().parse().ok();
        let sound = number.filter(|number| *number > 0.0 && number.is_finite());
        let number = sound
            .ok_or_else(|| Error::usage(format!("--what-if {text}: the value must be above 0")))?;
        target.constants.set(name.trim(), number);
        return Ok(());
    }
    if let Ok(parameter) = Parameter::named(name.trim())
        && !FIGURES.contains(&parameter)
    {
        let used: Vec<&str> = FIGURES.iter().map(|figure| figure.name()).collect();
        let message = format!(
            "--what-if {text}: no predicted time depends on {}",
            name.trim()
        );
        return Err(Error::usage(message).advice(format!(
            "figures that change it are {}; constants of the model are {}",
            used.join(", "),
            Constants::NAMES.join(", ")
        )));
    }
    target.chip = target.chip.clone().with(text).map_err(|error| {
        let names = Constants::NAMES.join(", ");
        Error::usage(format!("--what-if {text}: {error}"))
            .advice(format!("constants of the model are {names}"))
    })?;
    Ok(())
}
