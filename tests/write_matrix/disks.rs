//! Every tool × an audit that cannot be written: refused, and nothing reaches the station.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mock_station::model::accounts::ADMIN;
use niagara_bridge::audit::{AppendFile, AuditOptions, on_disk};
use serde_json::json;

use crate::calls::{call, tools};
use crate::office::{Office, failure_of};
use crate::place::{OUTSIDE, Place};

/// A disk that fills while the switch is on.
struct Disk {
    file: Box<dyn AppendFile>,
    full: Arc<AtomicBool>,
}

impl AppendFile for Disk {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.full.load(Ordering::SeqCst) {
            true => Err(ErrorKind::StorageFull.into()),
            false => self.file.append(bytes),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }
}

async fn refuses_every_tool(office: &Office) {
    for tool in &tools(office) {
        let place = Place::new(&office.site, OUTSIDE);
        let (arguments, _) = office.prepared(ADMIN, tool, call(tool, &place)).await;
        let audited = office.audited_by_station(ADMIN.user);
        office.site.frozen.station.clear_logs();
        let answer = office.call_by(ADMIN.user, tool, arguments).await;
        let (code, data) = failure_of(&answer.expect("answered"));
        assert_eq!(
            (code, &data["kind"]),
            (-32603, &json!("audit")),
            "{tool}: {data}"
        );
        assert_eq!(office.sent(), 0, "{tool}");
        assert_eq!(office.audited_by_station(ADMIN.user), audited, "{tool}");
        assert!(!place.is_acknowledged(&office.site), "{tool}");
    }
}

#[tokio::test]
async fn a_full_disk_stops_every_tool_until_it_has_space_again() {
    let full = Arc::new(AtomicBool::new(true));
    let (switch, open) = (full.clone(), on_disk());
    let options = AuditOptions {
        open: Arc::new(move |path: &Path| {
            let (file, full) = (open(path)?, switch.clone());
            Ok(Box::new(Disk { file, full }) as Box<dyn AppendFile>)
        }),
        ..AuditOptions::default()
    };
    let office = Office::with(json!({}), options).await;
    refuses_every_tool(&office).await;
    assert_eq!(office.log().len(), 0);

    full.store(false, Ordering::SeqCst);
    for (number, tool) in tools(&office).iter().enumerate() {
        let place = Place::new(&office.site, OUTSIDE);
        let (arguments, _) = office.prepared(ADMIN, tool, call(tool, &place)).await;
        let answer = office.call_as(ADMIN, tool, arguments).await;
        assert_eq!(answer["isError"], json!(false), "{tool}: {answer}");
        assert_eq!(office.records("intent").len(), number + 1, "{tool}");
    }
    niagara_bridge::audit::verify(office.folder()).expect("sound");
}

#[tokio::test]
async fn a_read_only_disk_stops_every_tool() {
    let options = AuditOptions {
        open: Arc::new(|_: &Path| Err(ErrorKind::ReadOnlyFilesystem.into())),
        ..AuditOptions::default()
    };
    let office = Office::with(json!({}), options).await;
    refuses_every_tool(&office).await;
    assert!(office.trail.failure().is_some());
}
