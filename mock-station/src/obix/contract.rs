//! Contract lists (`is`, `in`, `out`) of station types (oBIX specification §5.1, §6.2, §11.1).

use crate::model::TypeDef;

/// `/obix/def/control:NumericWritable`.
pub fn of_type(spec: &str) -> String {
    format!("/obix/def/{spec}")
}

/// The `is` list of a component: points name their ancestry up to the kind of point, alarm classes that they are subjects.
pub fn of_component(ty: &'static TypeDef) -> String {
    let mut contracts: Vec<String> = Vec::new();
    if ty.point_kind().is_some() {
        for ancestor in ty.ancestry() {
            if ancestor.spec() == "control:ControlPoint" {
                break;
            }
            contracts.push(of_type(ancestor.spec()));
        }
        contracts.push("obix:Point".to_owned());
    } else {
        contracts.push(of_type(ty.spec()));
        if is_alarm_subject(ty) {
            contracts.push("obix:AlarmSubject".to_owned());
        }
    }
    contracts.join(" ")
}

/// Whether alarms can be asked for at a component of this type.
pub fn is_alarm_subject(ty: &TypeDef) -> bool {
    ty.is("alarm:AlarmService") || ty.is("alarm:AlarmClass")
}

/// The contract of an action's argument or result.
pub fn of_parameter(ty: &'static TypeDef) -> String {
    match ty.spec() {
        "baja:Double" | "baja:Float" => "obix:real".to_owned(),
        "baja:Integer" | "baja:Long" => "obix:int".to_owned(),
        "baja:Boolean" => "obix:bool".to_owned(),
        "baja:RelTime" => "obix:reltime".to_owned(),
        "baja:AbsTime" => "obix:abstime".to_owned(),
        _ if ty.is("baja:Enum") => "obix:enum".to_owned(),
        _ if ty.is_struct() => {
            let line: Vec<String> = ty
                .ancestry()
                .into_iter()
                .take_while(|ancestor| ancestor.spec() != "baja:Struct")
                .map(|ancestor| of_type(ancestor.spec()))
                .collect();
            line.join(" ")
        }
        spec => of_type(spec),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::registry;

    #[test]
    fn contracts_are_those_of_the_specification() {
        let ty = |spec| registry::find(spec).unwrap();
        assert_eq!(
            of_component(ty("control:BooleanWritable")),
            "/obix/def/control:BooleanWritable /obix/def/control:BooleanPoint obix:Point"
        );
        assert_eq!(
            of_component(ty("kitControl:Ramp")),
            "/obix/def/kitControl:Ramp /obix/def/control:NumericPoint obix:Point"
        );
        assert_eq!(
            of_component(ty("alarm:AlarmService")),
            "/obix/def/alarm:AlarmService obix:AlarmSubject"
        );
        assert_eq!(of_component(ty("baja:Folder")), "/obix/def/baja:Folder");
        assert_eq!(
            of_parameter(ty("control:NumericOverride")),
            "/obix/def/control:NumericOverride /obix/def/control:Override"
        );
        assert_eq!(of_parameter(ty("baja:String")), "/obix/def/baja:String");
        assert_eq!(of_parameter(ty("baja:DynamicEnum")), "obix:enum");
    }
}
