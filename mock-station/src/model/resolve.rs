//! From ords to components and slots (Station web specification §0.3).

use super::component::{Handle, SlotContent};
use super::error::ModelError;
use super::station::Station;

/// What an ord names: a component, or a property (path) of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub component: Handle,
    /// Path below the component through property slots, e.g. `out/value`; empty for the component itself.
    pub property: String,
}

impl Station {
    /// Resolves `station:|slot:/A/B`, `slot:/A/B`, `/A/B`, `h:2f1`, `station:|h:2f1`, `local:|station:|…`,
    /// `service:module:Type`; a path may end in a property (`…/out/value`). `//` is refused.
    pub fn resolve(&self, ord: &str) -> Result<Target, ModelError> {
        self.resolve_from(self.root(), ord)
    }

    /// Resolves an ord relative to `base` (`slot:points/Temp`), or an absolute one.
    pub fn resolve_from(&self, base: Handle, ord: &str) -> Result<Target, ModelError> {
        let fail = |reason: &str| ModelError::Unresolvable {
            ord: ord.to_owned(),
            reason: reason.to_owned(),
        };
        let mut at = Target {
            component: base,
            property: String::new(),
        };
        let mut any = false;
        for query in ord.split('|') {
            let query = query.trim();
            any |= !query.is_empty();
            match query.split_once(':') {
                Some(("local" | "ip" | "fox" | "foxs", _)) => at = self.root_target(),
                Some(("station", "")) => at = self.root_target(),
                Some(("h", digits)) => {
                    let handle = digits
                        .parse::<Handle>()
                        .map_err(|_| fail("a handle is hexadecimal"))?;
                    self.component(handle)
                        .ok_or_else(|| fail("no component has this handle"))?;
                    at = Target {
                        component: handle,
                        property: String::new(),
                    };
                }
                Some(("service", spec)) => {
                    let handle = self.service(spec).ok_or_else(|| fail("no such service"))?;
                    at = Target {
                        component: handle,
                        property: String::new(),
                    };
                }
                Some(("slot", path)) => at = self.walk(at, path, &fail)?,
                Some((scheme, _)) if scheme.chars().all(|c| c.is_ascii_alphanumeric()) => {
                    return Err(fail("the scheme does not lead to a component"));
                }
                _ => at = self.walk(at, query, &fail)?,
            }
        }
        if any {
            Ok(at)
        } else {
            Err(fail("the ord is empty"))
        }
    }

    fn root_target(&self) -> Target {
        Target {
            component: self.root(),
            property: String::new(),
        }
    }

    fn walk(
        &self,
        from: Target,
        path: &str,
        fail: &dyn Fn(&str) -> ModelError,
    ) -> Result<Target, ModelError> {
        if path.contains("//") {
            return Err(fail("// is illegal in a slot path"));
        }
        let (mut at, relative) = match path.strip_prefix('/') {
            Some(rest) => (self.root_target(), rest),
            None => (from, path),
        };
        for name in relative.split('/').filter(|name| !name.is_empty()) {
            if name == ".." {
                let parent = self.parent(at.component).filter(|_| at.property.is_empty());
                at.component = parent.ok_or_else(|| fail("there is no parent"))?;
                continue;
            }
            if !at.property.is_empty() {
                at.property.push('/');
                at.property.push_str(name);
                continue;
            }
            match self
                .component(at.component)
                .and_then(|component| component.child(name))
            {
                Some(child) => at.component = child,
                None => at.property = name.to_owned(),
            }
        }
        if at.property.is_empty() || self.has_property(&at) {
            return Ok(at);
        }
        Err(fail(&format!(
            "{} has no slot {}",
            self.slot_path(at.component),
            at.property
        )))
    }

    fn has_property(&self, target: &Target) -> bool {
        match target.property.contains('/') {
            true => self.value(target.component, &target.property).is_some(),
            false => {
                let slot = self.slot(target.component, &target.property);
                slot.is_some_and(|slot| !matches!(slot.content, SlotContent::Child(_)))
            }
        }
    }

    /// The component an ord names; an ord to a property is refused.
    pub fn resolve_component(&self, ord: &str) -> Result<Handle, ModelError> {
        let target = self.resolve(ord)?;
        if target.property.is_empty() {
            return Ok(target.component);
        }
        Err(ModelError::Unresolvable {
            ord: ord.to_owned(),
            reason: format!("{} is a property, not a component", target.property),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use chrono::{TimeZone, Utc};
    use proptest::prelude::*;

    fn station() -> Station {
        sample::station(Utc.with_ymd_and_hms(2026, 3, 10, 10, 7, 30).unwrap()).unwrap()
    }

    #[test]
    fn all_spellings_lead_to_the_same_component() {
        let station = station();
        let handle = station
            .resolve_component("slot:/Drivers/BacnetNetwork/AHU_1/points/$31st$20Floor$20CO2")
            .unwrap();
        for ord in [
            "station:|slot:/Drivers/BacnetNetwork/AHU_1/points/$31st$20Floor$20CO2".to_owned(),
            "local:|station:|slot:/Drivers/BacnetNetwork/AHU_1/points/$31st$20Floor$20CO2/"
                .to_owned(),
            "/Drivers/BacnetNetwork/AHU_1/points/$31st$20Floor$20CO2".to_owned(),
            format!("h:{handle}"),
            format!("station:|h:{handle}"),
            format!("h:{handle}|slot:proxyExt/.."),
            format!("h:{handle}|slot:../$31st$20Floor$20CO2"),
        ] {
            assert_eq!(station.resolve_component(&ord), Ok(handle), "{ord}");
        }
        assert_eq!(
            station.resolve_component("station:|slot:/"),
            Ok(station.root())
        );
        assert_eq!(
            station.resolve_component("service:alarm:AlarmService"),
            station.resolve_component("slot:/Services/AlarmService")
        );
    }

    #[test]
    fn a_path_may_end_in_a_property() {
        let station = station();
        let target = station
            .resolve("slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTemp/out/value")
            .unwrap();
        assert_eq!(target.property, "out/value");
        assert_eq!(
            station
                .value(target.component, &target.property)
                .unwrap()
                .encode(),
            "14.5"
        );
    }

    #[test]
    fn what_leads_nowhere_says_why() {
        let station = station();
        for (ord, words) in [
            ("slot://Drivers", "// is illegal"),
            ("slot:/Nope", "no slot Nope"),
            (
                "slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTemp/out/nope",
                "no slot out/nope",
            ),
            ("h:ffffff", "no component has this handle"),
            ("h:xyz", "hexadecimal"),
            ("sql:select", "scheme"),
            ("service:no:Such", "no such service"),
            ("slot:/..", "no parent"),
            ("", "empty"),
        ] {
            let error = station.resolve_component(ord).unwrap_err().to_string();
            assert!(error.contains(words), "{ord}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered(ord in "(station:\\||slot:|h:|/|\\||\\.\\.|[A-Za-z$/:]){0,12}") {
            let _ = station().resolve(&ord);
        }
    }

    #[test]
    fn every_component_is_found_by_its_own_path() {
        let station = station();
        for component in station.descendants(station.root()) {
            assert_eq!(
                station.resolve_component(&station.slot_path(component.handle())),
                Ok(component.handle())
            );
            assert_eq!(
                station.resolve_component(&station.nav_ord(component.handle())),
                Ok(component.handle())
            );
        }
    }
}
