//! The accounts of the stand-in station.

use super::component::Handle;
use super::error::ModelError;
use super::permissions::Permissions;
use super::station::Station;
use super::users::{BASIC_SCHEME, Role, User};
use super::value::Value;

/// Super user, DigestScheme.
pub const ADMIN: Account = Account {
    user: "admin",
    password: "Admin-Harborview-1",
};
/// Operator of the category `AHU1` only, DigestScheme.
pub const OPERATOR: Account = Account {
    user: "operator",
    password: "Operator-Harborview-1",
};
/// Reads everywhere, DigestScheme.
pub const VIEWER: Account = Account {
    user: "viewer",
    password: "Viewer-Harborview-1",
};
/// Service account: operates everywhere and reads administrative slots, DigestScheme.
pub const BRIDGE: Account = Account {
    user: "bridge",
    password: "Secret-1",
};
/// Reads everywhere, HTTPBasicScheme.
pub const OBIX: Account = Account {
    user: "obix",
    password: "Obix-Harborview-1",
};

/// The category that the operator may work in.
pub const AHU1_CATEGORY: &str = "AHU1";

/// SCRAM iterations of a real station.
pub const STATION_ITERATIONS: u32 = 4096;
/// SCRAM iterations for tests, which would otherwise spend their time hashing.
pub const TEST_ITERATIONS: u32 = 8;

/// A user name with its password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    pub user: &'static str,
    pub password: &'static str,
}

/// All accounts.
pub const ALL: [Account; 5] = [ADMIN, OPERATOR, VIEWER, BRIDGE, OBIX];

/// A generated operator: reads everywhere, writes and invokes in a category of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrewMember {
    pub user: String,
    pub password: String,
    pub category: String,
    /// The category's bit, for [`Station::set_categories`].
    pub mask: u64,
}

/// Categories that a mask has room for.
const CATEGORY_LIMIT: usize = 64;

impl Station {
    /// Adds `count` operators `crew01`, `crew02`, … with passwords, categories and roles of their own.
    ///
    /// # Errors
    /// When the categories run out or a name is taken.
    pub fn add_crew(
        &mut self,
        count: usize,
        iterations: u32,
    ) -> Result<Vec<CrewMember>, ModelError> {
        if self.users.categories().len() + count > CATEGORY_LIMIT {
            return Err(ModelError::TooManyCategories {
                limit: CATEGORY_LIMIT,
            });
        }
        let mut members = Vec::new();
        for number in 1..=count {
            members.push(self.add_crew_category(number)?);
        }
        // Everybody reads what belongs to the others, so each role needs all categories.
        for member in &members {
            self.add_crew_account(member, iterations)?;
        }
        Ok(members)
    }

    fn add_crew_category(&mut self, number: usize) -> Result<CrewMember, ModelError> {
        let user = format!("crew{number:02}");
        if self.users.get(&user).is_some() {
            return Err(ModelError::DuplicateName {
                component: "slot:/Services/UserService".to_owned(),
                slot: user,
            });
        }
        self.add_category(&user)?;
        Ok(CrewMember {
            mask: self.users.category_mask(&user).unwrap_or_default(),
            password: format!("Crew-Harborview-{number:02}"),
            category: user.clone(),
            user,
        })
    }

    fn add_crew_account(&mut self, member: &CrewMember, iterations: u32) -> Result<(), ModelError> {
        let operator =
            Permissions::OPERATOR_READ | Permissions::OPERATOR_WRITE | Permissions::OPERATOR_INVOKE;
        let categories = (1_u32..).zip(self.users.categories());
        let permissions = categories
            .map(|(index, category)| match *category == member.category {
                true => (index, operator),
                false => (index, Permissions::OPERATOR_READ),
            })
            .collect();
        self.add_role(Role {
            name: member.user.clone(),
            super_user: false,
            permissions,
        })?;
        let user = User::new(&member.user, &member.password, iterations, &[&member.user]);
        self.add_user(user)
    }

    /// Makes a changed component of the user service count for logins.
    pub(super) fn adopt_account(&mut self, component: Handle) {
        let Some(found) = self
            .component(component)
            .filter(|found| found.ty().is("baja:User"))
        else {
            return;
        };
        let name = super::slot_name::unescape(found.name());
        let text = |slot: &str| {
            let value = found.stored(slot).and_then(Value::as_str);
            value.map(str::to_owned)
        };
        let enabled = found.stored("enabled").and_then(Value::as_bool);
        let (full_name, roles) = (text("fullName"), text("roles"));
        let (scheme, language) = (text("authenticationSchemeName"), text("language"));
        let Some(user) = self.users.get_mut(&name) else {
            return;
        };
        user.enabled = enabled.unwrap_or(user.enabled);
        user.full_name = full_name.unwrap_or_default();
        user.scheme = scheme.unwrap_or_default();
        user.language = language.unwrap_or_default();
        let roles = roles.unwrap_or_default();
        let roles = roles
            .split(',')
            .map(str::trim)
            .filter(|role| !role.is_empty());
        user.roles = roles.map(str::to_owned).collect();
    }

    /// Adds categories, roles and the five accounts to the station and its services.
    pub fn add_accounts(&mut self, iterations: u32) -> Result<(), ModelError> {
        self.add_category("User")?;
        let ahu1 = self.add_category(AHU1_CATEGORY)?;
        let operator =
            Permissions::OPERATOR_READ | Permissions::OPERATOR_WRITE | Permissions::OPERATOR_INVOKE;
        let role = |name: &str, granted: &[(u32, Permissions)]| Role {
            name: name.to_owned(),
            super_user: false,
            permissions: granted.iter().copied().collect(),
        };
        self.add_role(Role {
            name: "admin".to_owned(),
            super_user: true,
            permissions: Default::default(),
        })?;
        self.add_role(role("ahu1Operator", &[(ahu1, operator)]))?;
        let everywhere = |granted: Permissions| [(1, granted), (ahu1, granted)];
        self.add_role(role("viewer", &everywhere(Permissions::OPERATOR_READ)))?;
        self.add_role(role(
            "bridge",
            &everywhere(operator | Permissions::ADMIN_READ),
        ))?;
        let user = |account: Account, role: &str| {
            User::new(account.user, account.password, iterations, &[role])
        };
        self.add_user(User {
            full_name: "Administrator".to_owned(),
            ..user(ADMIN, "admin")
        })?;
        self.add_user(User {
            full_name: "AHU-1 operator".to_owned(),
            ..user(OPERATOR, "ahu1Operator")
        })?;
        self.add_user(User {
            full_name: "Viewer".to_owned(),
            ..user(VIEWER, "viewer")
        })?;
        self.add_user(User {
            full_name: "Service account".to_owned(),
            ..user(BRIDGE, "bridge")
        })?;
        self.add_user(User {
            full_name: "oBIX client".to_owned(),
            scheme: BASIC_SCHEME.to_owned(),
            ..user(OBIX, "viewer")
        })
    }

    /// Adds a category; returns its index (the first is 1).
    pub fn add_category(&mut self, name: &str) -> Result<u32, ModelError> {
        let index = self.users.insert_category(name);
        let service = self.service_named("baja:CategoryService")?;
        let category = self.add(service, Some(name), "baja:Category")?;
        self.set(
            category,
            "index",
            Value::Integer(i32::try_from(index).unwrap_or(i32::MAX)),
        )?;
        Ok(index)
    }

    /// Adds a role.
    pub fn add_role(&mut self, role: Role) -> Result<(), ModelError> {
        let service = self.service_named("baja:RoleService")?;
        let component = self.add(service, Some(&role.name), "baja:Role")?;
        self.set(component, "superUser", Value::Boolean(role.super_user))?;
        if let Some(ty) = super::registry::find("baja:PermissionsMap")
            && let Some(map) = Value::decode(ty, &role.encode())
        {
            self.set(component, "permissions", map)?;
        }
        self.users.insert_role(role);
        Ok(())
    }

    /// Adds a user.
    pub fn add_user(&mut self, user: User) -> Result<(), ModelError> {
        let service = self.service_named("baja:UserService")?;
        let component = self.add(
            service,
            Some(&super::slot_name::escape(&user.name)),
            "baja:User",
        )?;
        self.set(component, "fullName", Value::from(user.full_name.as_str()))?;
        self.set(component, "enabled", Value::Boolean(user.enabled))?;
        self.set(component, "roles", Value::from(user.roles.join(",")))?;
        self.set(
            component,
            "authenticationSchemeName",
            Value::from(user.scheme.as_str()),
        )?;
        self.set(
            component,
            "allowConcurrentSessions",
            Value::Boolean(user.allow_concurrent_sessions),
        )?;
        self.set(component, "language", Value::from(user.language.as_str()))?;
        self.set(
            component,
            "timeFormat",
            Value::from(user.time_format.as_str()),
        )?;
        self.users.insert_user(user);
        Ok(())
    }

    fn service_named(&self, spec: &str) -> Result<Handle, ModelError> {
        self.service(spec).ok_or_else(|| ModelError::Unresolvable {
            ord: format!("service:{spec}"),
            reason: "the station lacks this service".to_owned(),
        })
    }

    /// `Services` with the services every station has, and `Drivers` with the oBIX network.
    pub(super) fn add_standard_containers(&mut self) {
        let root = self.root();
        // Every type is in the registry and every name is free, so none of these can be refused.
        let mut put = |parent: Option<Handle>, name: &str, spec: &str| {
            parent.and_then(|parent| self.add(parent, Some(name), spec).ok())
        };
        let services = put(Some(root), "Services", "baja:ServiceContainer");
        for (name, spec) in [
            ("AlarmService", "alarm:AlarmService"),
            ("AuthenticationService", "baja:AuthenticationService"),
            ("BoxService", "box:BoxService"),
            ("CategoryService", "baja:CategoryService"),
            ("HistoryService", "history:HistoryService"),
            ("AuditHistory", "history:AuditHistoryService"),
            ("RoleService", "baja:RoleService"),
            ("UserService", "baja:UserService"),
            ("WebService", "web:WebService"),
            ("BackupService", "backup:BackupService"),
            ("PlatformServices", "platform:PlatformServiceContainer"),
        ] {
            put(services, name, spec);
        }
        let drivers = put(Some(root), "Drivers", "driver:DriverContainer");
        put(drivers, "ObixNetwork", "obix:ObixNetwork");
        let schemes = self
            .resolve_component("slot:/Services/AuthenticationService/authenticationSchemes")
            .ok();
        for (name, spec) in [
            ("DigestScheme", "baja:DigestScheme"),
            ("HTTPBasicScheme", "baja:HTTPBasicScheme"),
        ] {
            if let Some(schemes) = schemes {
                let _ = self.add(schemes, Some(name), spec);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use chrono::{TimeZone, Utc};

    fn station() -> Station {
        sample::station(Utc.with_ymd_and_hms(2026, 3, 10, 10, 7, 30).unwrap()).unwrap()
    }

    fn letters(station: &Station, account: Account, path: &str) -> String {
        let user = station.users.get(account.user).unwrap();
        station
            .permissions(user, station.resolve_component(path).unwrap())
            .encode()
    }

    #[test]
    fn each_account_has_its_rights_where_it_should() {
        let station = station();
        let ahu = "slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTempSp";
        let logic = "slot:/Logic/Sum";
        assert_eq!(letters(&station, ADMIN, logic), "irwIRW");
        assert_eq!(letters(&station, OPERATOR, ahu), "irw");
        assert_eq!(letters(&station, OPERATOR, logic), "");
        assert_eq!(letters(&station, VIEWER, ahu), "r");
        assert_eq!(letters(&station, VIEWER, logic), "r");
        assert_eq!(letters(&station, BRIDGE, logic), "irwR");
        assert_eq!(letters(&station, OBIX, ahu), "r");
    }

    #[test]
    fn the_way_down_to_a_readable_component_can_be_read() {
        let station = station();
        for path in ["slot:/", "slot:/Drivers", "slot:/Drivers/BacnetNetwork"] {
            assert_eq!(letters(&station, OPERATOR, path), "r", "{path}");
        }
        assert_eq!(letters(&station, OPERATOR, "slot:/Services"), "");
        assert_eq!(
            letters(&station, OPERATOR, "slot:/Drivers/ModbusTcpNetwork"),
            ""
        );
    }

    #[test]
    fn moving_the_category_moves_the_way_down() {
        let mut station = station();
        let device = station
            .resolve_component("slot:/Drivers/BacnetNetwork/AHU_1")
            .unwrap();
        let mask = station.users.category_mask(AHU1_CATEGORY);
        station.set_categories(device, None).unwrap();
        assert_eq!(letters(&station, OPERATOR, "slot:/Drivers"), "");
        let logic = station.resolve_component("slot:/Logic").unwrap();
        station.set_categories(logic, mask).unwrap();
        assert_eq!(letters(&station, OPERATOR, "slot:/Logic/Sum"), "irw");
        assert_eq!(letters(&station, OPERATOR, "slot:/"), "r");
    }

    #[test]
    fn accounts_show_in_the_user_service_without_their_passwords() {
        let station = station();
        let user = station
            .resolve_component("slot:/Services/UserService/obix")
            .unwrap();
        assert_eq!(
            station.value(user, "authenticationSchemeName"),
            Some(Value::from("HTTPBasicScheme"))
        );
        assert_eq!(
            station.value(user, "authenticator/password"),
            Some(Value::Password)
        );
        for account in ALL {
            let user = station.users.get(account.user).unwrap();
            assert!(user.password.verify(account.password) && !user.password.verify("wrong"));
        }
    }
}
