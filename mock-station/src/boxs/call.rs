//! One message on its way through a channel: who asks, what, and with which body.

use serde_json::{Map, Value};

use super::error::BoxError;
use super::frame::Message;
use crate::model::{Station, User};
use crate::server::{AuthenticatedUser, ServerContext};
use crate::switches::Switches;

/// Everything a channel needs to answer one message.
pub struct Call<'a> {
    pub context: &'a ServerContext,
    pub user: &'a AuthenticatedUser,
    /// The switches as they stood when the frame came in.
    pub switches: &'a Switches,
    /// `id` of the frame.
    pub frame_session: Option<&'a str>,
    pub channel: &'a str,
    pub key: &'a str,
    pub body: &'a Value,
}

impl<'a> Call<'a> {
    pub fn new(
        context: &'a ServerContext,
        user: &'a AuthenticatedUser,
        switches: &'a Switches,
        frame_session: Option<&'a str>,
        message: &'a Message,
    ) -> Self {
        Self {
            context,
            user,
            switches,
            frame_session,
            channel: &message.channel,
            key: &message.key,
            body: &message.body,
        }
    }

    /// The account of the user, which may have been removed since the login.
    ///
    /// # Errors
    /// When the station no longer knows the user.
    pub fn account<'s>(&self, station: &'s Station) -> Result<&'s User, BoxError> {
        Ok(station.users.require(&self.user.name)?)
    }

    pub fn unknown_key(&self) -> BoxError {
        BoxError::UnknownKey {
            channel: self.channel.to_owned(),
            key: self.key.to_owned(),
        }
    }

    pub fn bad_body(&self, wanted: &str) -> BoxError {
        bad_body(self.key, wanted)
    }

    pub fn object(&self) -> Result<Argument<'a>, BoxError> {
        Argument::read(self.key, self.body)
    }

    pub fn text(&self, wanted: &str) -> Result<&'a str, BoxError> {
        self.body.as_str().ok_or_else(|| self.bad_body(wanted))
    }
}

pub fn bad_body(key: &str, wanted: &str) -> BoxError {
    BoxError::BadBody {
        key: key.to_owned(),
        wanted: wanted.to_owned(),
    }
}

/// An argument object whose members are read by name.
#[derive(Clone, Copy)]
pub struct Argument<'a> {
    key: &'a str,
    members: &'a Map<String, Value>,
}

impl<'a> Argument<'a> {
    pub fn read(key: &'a str, value: &'a Value) -> Result<Self, BoxError> {
        match value {
            Value::Object(members) => Ok(Self { key, members }),
            _ => Err(bad_body(key, "an object is wanted")),
        }
    }

    pub fn get(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name)
    }

    pub fn text(&self, name: &str) -> Result<&'a str, BoxError> {
        self.optional_text(name)
            .ok_or_else(|| bad_body(self.key, &format!("member '{name}' must be a text")))
    }

    pub fn optional_text(&self, name: &str) -> Option<&'a str> {
        self.get(name).and_then(Value::as_str)
    }

    /// A non-negative whole number; absent or null gives `default`. Numbers sent as `2.0` count.
    pub fn count(&self, name: &str, default: usize) -> Result<usize, BoxError> {
        let value = match self.get(name) {
            None | Some(Value::Null) => return Ok(default),
            Some(value) => value,
        };
        whole_number(value).ok_or_else(|| {
            bad_body(
                self.key,
                &format!("member '{name}' must be a whole number of 0 or more, not {value}"),
            )
        })
    }
}

fn whole_number(value: &Value) -> Option<usize> {
    let number = match value.as_u64() {
        Some(number) => number,
        None => {
            let number = value.as_f64()?;
            if number.fract() != 0.0 || !(0.0..=f64::from(u32::MAX)).contains(&number) {
                return None;
            }
            number as u64
        }
    };
    usize::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn members_are_read_with_their_place_named_on_failure() {
        let value = json!({"o": "slot:/", "d": 2.0, "e": -1, "f": null});
        let argument = Argument::read("loadSlots", &value).unwrap();
        assert_eq!(argument.text("o").unwrap(), "slot:/");
        assert_eq!(argument.count("d", 0).unwrap(), 2);
        assert_eq!(argument.count("f", 7).unwrap(), 7);
        assert_eq!(argument.count("absent", 3).unwrap(), 3);
        let negative = argument.count("e", 0).unwrap_err().to_string();
        assert!(negative.contains("'loadSlots'") && negative.contains("-1"));
        assert!(argument.text("x").unwrap_err().to_string().contains("'x'"));
        assert!(Argument::read("k", &json!([])).is_err());
    }
}
