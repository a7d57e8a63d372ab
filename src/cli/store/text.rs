//! What the commands of `store` print for people.

use std::fmt::Write as _;

use super::{Listing, Packed, Pruned};
use crate::trends::store::StoreVerdict;

pub(super) fn list_text(listing: &Listing) -> String {
    let mut text = String::new();
    if let Some(problem) = &listing.registry {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "The facility registry is damaged: {problem}.");
    }
    if listing.facilities.is_empty() {
        text.push_str("The store is empty.\n");
    }
    for facility in &listing.facilities {
        let _ = write!(
            text,
            "{} ({}), {}",
            facility.facility_id, facility.name, facility.state
        );
        if let Some(zone) = &facility.timezone {
            let _ = write!(text, ", {zone}");
        }
        match (&facility.unavailable, &facility.start, &facility.end) {
            (Some(problem), _, _) => {
                let _ = writeln!(text, "\n  {problem}");
            }
            (None, Some(start), Some(end)) => {
                let _ = writeln!(
                    text,
                    "\n  {start} to {end}: {} of {} equipment, {} samples in {}, {}",
                    counted(facility.n_points, "point"),
                    facility.n_equipment,
                    facility.rows,
                    counted(facility.parts, "part"),
                    size(facility.bytes)
                );
            }
            _ => text.push_str("\n  no samples\n"),
        }
    }
    text
}

pub(super) fn verdict_text(verdict: &StoreVerdict) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for facility in &verdict.facilities {
        let _ = writeln!(
            text,
            "{}: {} samples in {}, {}",
            facility.facility_id,
            facility.rows,
            counted(facility.parts, "part"),
            size(facility.bytes)
        );
        for (what, remarks) in [
            ("cannot be read", &facility.unreadable),
            ("not canonical", &facility.non_canonical),
            ("misplaced", &facility.misplaced),
        ] {
            for remark in remarks {
                let _ = writeln!(text, "  {what}: {}: {}", remark.part, remark.remark);
            }
        }
    }
    for facility in &verdict.stranded {
        let _ = writeln!(
            text,
            "{facility}: a writer was killed while it replaced the facility; the next writer finishes that, for example \
             `niagara-bridge store compact`"
        );
    }
    for facility in &verdict.empty {
        let _ = writeln!(text, "{facility}: registered, without samples");
    }
    for name in &verdict.leftovers {
        let _ = writeln!(text, "left by a killed writer: {name}");
    }
    if let Some(problem) = &verdict.registry {
        let _ = writeln!(text, "the facility registry is damaged: {problem}");
    }
    if verdict.is_clean() {
        text.push_str("The store is whole.\n");
    }
    text
}

pub(super) fn packed_text(packed: &[Packed]) -> String {
    let mut text = String::new();
    if packed.is_empty() {
        text.push_str("The store is empty.\n");
    }
    for facility in packed {
        let report = facility.report;
        // Writing to a String cannot fail.
        let _ = if let Some(problem) = &facility.problem {
            writeln!(text, "{}: left as it is: {problem}", facility.facility_id)
        } else if report.months == 0 {
            writeln!(text, "{}: nothing to pack", facility.facility_id)
        } else {
            writeln!(
                text,
                "{}: {} samples of {} packed, {} became {}",
                facility.facility_id,
                report.rows,
                counted(report.months, "month"),
                counted(report.parts_before, "part"),
                report.parts_after
            )
        };
    }
    text
}

pub(super) fn pruned_text(pruned: &[Pruned]) -> String {
    let mut text = String::new();
    if pruned.is_empty() {
        text.push_str("The store is empty.\n");
    }
    for facility in pruned {
        let report = facility.report;
        // Writing to a String cannot fail.
        let _ = if let Some(problem) = &facility.problem {
            writeln!(text, "{}: left as it is: {problem}", facility.facility_id)
        } else if report.parts == 0 {
            writeln!(text, "{}: nothing is that old", facility.facility_id)
        } else {
            writeln!(
                text,
                "{}: {} samples in {}, {}, {}",
                facility.facility_id,
                report.rows,
                counted(report.parts, "part"),
                size(report.bytes),
                if facility.removed {
                    "removed"
                } else {
                    "would be removed; add --yes to do it"
                }
            )
        };
    }
    if pruned.iter().any(|facility| facility.report.parts > 0) {
        text.push_str(
            "Ingest does not read again what it has read once: samples that are taken out come back only with \
             `niagara-bridge ingest --force`, as far as the station still has them.\n",
        );
    }
    text
}

/// A number with its noun.
fn counted(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// Bytes as people read them.
fn size(bytes: u64) -> String {
    const STEP: u64 = 1024;
    let mut whole = bytes;
    let mut rest = 0;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if whole < STEP {
            break;
        }
        rest = whole % STEP;
        whole /= STEP;
        unit = next;
    }
    if unit == "B" {
        format!("{whole} B")
    } else {
        format!("{whole}.{} {unit}", rest * 10 / STEP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_cut_to_one_decimal() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(5 * 1024 * 1024 * 1024), "5.0 GiB");
    }
}
