//! Which facilities may get data, and which ids may be given out (Store §2, §6.4).

use super::registry::Registry;
use super::{FacilityId, StoreError, TrendStore, tombstones};

impl TrendStore {
    /// Refuses a facility that takes no data, or whose id may not be given out.
    ///
    /// Writers ask this themselves; who works long before writing asks first.
    ///
    /// # Errors
    /// [`StoreError::Refused`] with the reason and a remedy; the registry or the tombstones are damaged.
    pub fn check_takes_data(&self, facility: &FacilityId) -> Result<(), StoreError> {
        let registry = Registry::read(self.root());
        registry.trusted()?;
        let state = registry.state(facility.as_str());
        if !state.accepts_data() {
            return Err(StoreError::Refused(format!(
                "facility \"{facility}\" is {} and takes no data; activate it with `niagara-bridge store facility \
                 activate {facility}`",
                state.word()
            )));
        }
        self.check_may_exist(facility)
    }

    /// Refuses to make a facility under a name that is kept for public data sets: its entry would name none, so that no
    /// capability could ever establish its licence (Core §5.2). For who brings data of a site; one that is registered, with
    /// its data set, goes on.
    ///
    /// # Errors
    /// [`StoreError::Refused`] with a remedy.
    pub fn check_is_no_dataset(&self, facility: &FacilityId) -> Result<(), StoreError> {
        if facility.is_dataset() && self.registry().entry(facility.as_str()).is_none() {
            return Err(StoreError::Refused(format!(
                "the facility id \"{facility}\" cannot be used: names that begin with ds- are kept for public data sets, and \
                 no capability would show it; choose another one"
            )));
        }
        Ok(())
    }

    /// Refuses an id that may not be given out.
    pub(super) fn check_may_exist(&self, facility: &FacilityId) -> Result<(), StoreError> {
        let refused = |problem: String| {
            Err(StoreError::Refused(format!(
                "the facility id \"{facility}\" cannot be used: {problem}; choose another one"
            )))
        };
        // Also while a removal that was killed is not finished yet.
        let buried = tombstones::read(self.root())?;
        if buried.contains_key(facility.as_str()) {
            return refused("it belonged to a facility that was removed".to_owned());
        }
        let known = self.known_facilities()?;
        if known.contains(facility) {
            return Ok(());
        }
        if facility.is_all_digits() {
            return refused("it is made of digits only, which CAMBER takes for numbers".to_owned());
        }
        let twin = known
            .iter()
            .map(FacilityId::as_str)
            .chain(buried.keys().map(String::as_str))
            .find(|other| other.eq_ignore_ascii_case(facility.as_str()));
        match twin {
            Some(twin) => refused(format!("it differs from \"{twin}\" only by letter case")),
            None => Ok(()),
        }
    }
}
