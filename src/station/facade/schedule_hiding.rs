//! Whether a schedule that oBIX shows lacks what every schedule has: oBIX leaves out what the account may not read
//! (oBIX specification §9).

use super::schedule_part::Part;
use super::schedule_program::{WEEKDAYS, is_period};

/// Why a program is not shown.
pub(super) const LEFT_OUT: &str = "over oBIX a station leaves out what the account may not read, and parts of this schedule's \
                        program are left out; reading them takes admin read on it";

/// The schedules of the schedule module that have a week; each has all of these parts (types of the schedule module).
const WITH_A_WEEK: [&str; 4] = [
    "schedule:BooleanSchedule",
    "schedule:NumericSchedule",
    "schedule:EnumSchedule",
    "schedule:StringSchedule",
];

/// Whether parts are missing that every schedule of this type has.
pub(super) fn lacks_its_program(root: &Part) -> bool {
    if lacks_its_times(root) {
        return true;
    }
    if !WITH_A_WEEK.contains(&root.type_spec.as_str()) {
        return false;
    }
    let week = root
        .child("schedule")
        .and_then(|composite| composite.child("week"));
    let is_whole = |week: &Part| WEEKDAYS.iter().all(|day| week.child(day).is_some());
    !week.is_some_and(is_whole) || root.slot("defaultOutput").is_none()
}

/// Whether a period somewhere below has no start or finish.
fn lacks_its_times(part: &Part) -> bool {
    (part.type_spec == "schedule:TimeSchedule" && !is_period(part))
        || part.children.iter().any(lacks_its_times)
}
