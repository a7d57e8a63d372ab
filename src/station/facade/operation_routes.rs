//! Which interface answers which kind of operation at present (design, decision 1).

use std::sync::atomic::Ordering;

use super::StationFacade;
use super::changes::ChangeRoute;
use super::interfaces::Interface;

impl Interface {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bql => "bql",
            Self::Box => "box",
            Self::Obix => "obix",
        }
    }
}

/// A kind of operation and the interface that the next one goes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationRoute {
    /// What tools do, such as `history`.
    pub operation: &'static str,
    /// None when no interface that this identity can use answers it.
    pub interface: Option<Interface>,
    /// How, where the name of the interface leaves that open.
    pub how: Option<&'static str>,
}

/// Interfaces that this identity can use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usable {
    pub bql: bool,
    pub boxp: bool,
    pub obix: bool,
}

impl Usable {
    fn offers(self, interface: Interface) -> bool {
        match interface {
            Interface::Bql => self.bql,
            Interface::Box => self.boxp,
            Interface::Obix => self.obix,
        }
    }
}

/// Operations with their interfaces, the first choice first.
const CHOICES: [(&str, &[Interface]); 7] = [
    ("search", &[Interface::Bql, Interface::Box]),
    ("children", &[Interface::Box, Interface::Obix]),
    ("component", &[Interface::Box, Interface::Obix]),
    ("value", &[Interface::Box, Interface::Bql, Interface::Obix]),
    (
        "history",
        &[Interface::Bql, Interface::Box, Interface::Obix],
    ),
    ("alarms", &[Interface::Bql, Interface::Box, Interface::Obix]),
    (
        "identity",
        &[Interface::Obix, Interface::Box, Interface::Bql],
    ),
];

/// Operations that are queries: BOX answers them as tables.
const QUERIES: [&str; 3] = ["search", "history", "alarms"];

impl StationFacade {
    /// The route of each kind of operation, given what is usable.
    pub(super) fn operation_routes(&self, usable: Usable) -> Vec<OperationRoute> {
        let prefers_tables = self.prefers_tables.load(Ordering::Relaxed);
        let mut routes: Vec<OperationRoute> = CHOICES
            .iter()
            .map(|(operation, choices)| {
                let is_query = QUERIES.contains(operation);
                let first = choices
                    .iter()
                    .copied()
                    .find(|interface| usable.offers(*interface));
                let interface = match first {
                    // Cells of tables are typed where CSV has display texts only.
                    Some(Interface::Bql) if is_query && prefers_tables && usable.boxp => {
                        Some(Interface::Box)
                    }
                    first => first,
                };
                let how = match interface {
                    Some(Interface::Box) if is_query => Some("BQL as BOX tables"),
                    Some(Interface::Obix) if *operation == "alarms" => Some("open alarms only"),
                    Some(Interface::Obix) if *operation == "history" => {
                        Some("without status of the samples")
                    }
                    _ => None,
                };
                OperationRoute {
                    operation,
                    interface,
                    how,
                }
            })
            .collect();
        routes.push(self.changes_route(usable));
        routes
    }

    /// How changes of points come, or would come.
    fn changes_route(&self, usable: Usable) -> OperationRoute {
        let expected = match usable {
            Usable { obix: true, .. } => Some(ChangeRoute::ObixWatch),
            Usable { boxp: true, .. } => Some(ChangeRoute::BoxSession),
            Usable { bql: true, .. } => Some(ChangeRoute::Polling),
            _ => None,
        };
        let route = self.change_route().or(expected);
        let interface = route.and_then(|route| match route {
            ChangeRoute::ObixWatch => Some(Interface::Obix),
            ChangeRoute::BoxSession => Some(Interface::Box),
            ChangeRoute::Polling => [Interface::Obix, Interface::Box, Interface::Bql]
                .into_iter()
                .find(|interface| usable.offers(*interface)),
        });
        OperationRoute {
            operation: "changes",
            interface,
            how: route.map(ChangeRoute::name),
        }
    }
}
