//! `pollchgs`: changes of subscribed components and the loads that are due (Station web specification §4.4, §4.5.1).

use serde_json::{Value, json};

use super::operation;
use super::store::PendingLoad;
use super::subscriptions::{ComponentNews, View};
use super::with_session;
use crate::boxs::call::Call;
use crate::boxs::error::BoxError;
use crate::boxs::node::NodeWriter;

struct Due {
    space: String,
    news: Vec<ComponentNews>,
    loads: Vec<PendingLoad>,
}

/// Everything that is due in the session's spaces, as one list of synchronisation events per space.
///
/// Changes come before loads: a load has the state of this moment and includes them.
pub fn answer(call: &Call<'_>) -> Result<Value, BoxError> {
    let switches = &call.switches.boxs;
    let station = call.context.station.read();
    let user = call.account(&station)?;
    let writer = NodeWriter::new(&station, user, switches);
    let view = View {
        station: &station,
        user,
        writer: &writer,
    };
    let now = call.context.now();
    let due: Vec<Due> = with_session(call, |session| {
        let spaces = session.spaces().map(|(id, space)| Due {
            space: id.to_owned(),
            news: space
                .subscriptions
                .take_news(view, now, switches.change_gathering),
            loads: space.poll_loads(),
        });
        Ok(spaces.collect())
    })?;
    let events = due.iter().filter_map(|due| {
        let changes = due
            .news
            .iter()
            .flat_map(|news| operation::operations(view, news));
        // A component that went away or became unreadable since the load was asked for brings none.
        let loads = due
            .loads
            .iter()
            .filter(|load| station.can_read(user, load.handle))
            .filter_map(|load| operation::load(&writer, load.handle, load.depth));
        let operations: Vec<Value> = changes.chain(loads).collect();
        (!operations.is_empty()).then(|| {
            let mut event = json!({"scid": due.space, "evs": {"nm": "sync", "ver": "1.0"}});
            event["evs"]["ops"] = Value::Array(operations);
            event
        })
    });
    Ok(events.collect())
}
