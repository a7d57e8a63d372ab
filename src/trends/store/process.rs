//! Who this process is, and whether another one still lives: marks of dead writers bind nobody (Core §8.2).

/// The name of this machine, as other programs that share a store see it.
pub fn host() -> String {
    #[cfg(unix)]
    {
        rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned()
    }
    #[cfg(not(unix))]
    {
        std::env::var("COMPUTERNAME").unwrap_or_else(|_| "unknown".to_owned())
    }
}

/// What is known about a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    /// It runs; when it was started, as the system counts that, so that a reused id shows.
    Started(String),
    /// No process has this id.
    Gone,
    /// The system does not tell.
    Unknown,
}

/// Whether a process of this machine lives.
#[cfg(target_os = "linux")]
pub fn life(pid: u32) -> Life {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => started(&stat).map_or(Life::Unknown, Life::Started),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Life::Gone,
        // The process ended between opening and reading.
        Err(error) if error.raw_os_error() == Some(ESRCH) => Life::Gone,
        Err(_) => Life::Unknown,
    }
}

#[cfg(target_os = "linux")]
const ESRCH: i32 = 3;

/// State and start time from a line of `/proc/PID/stat`: fields 3 and 22; the name before them may hold anything.
#[cfg(target_os = "linux")]
fn started(stat: &str) -> Option<String> {
    let (_, fields) = stat.rsplit_once(')')?;
    // A zombie runs no more, but its id is not free yet.
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let ticks = fields.nth(18)?;
    Some(if state == "Z" {
        format!("{ticks} ended")
    } else {
        ticks.to_owned()
    })
}

/// Whether a process of this machine lives; Unix systems other than Linux only tell whether the id is in use.
#[cfg(all(unix, not(target_os = "linux")))]
pub fn life(pid: u32) -> Life {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    match pid.map(rustix::process::test_kill_process) {
        None => Life::Gone,
        Some(Err(rustix::io::Errno::SRCH)) => Life::Gone,
        Some(_) => Life::Unknown,
    }
}

/// Windows tells nothing without rights; the lock decides there.
#[cfg(not(unix))]
pub fn life(_pid: u32) -> Life {
    Life::Unknown
}

/// When this process was started, as [`life`] tells it of others; none where the system does not.
pub fn own_start() -> Option<String> {
    match life(std::process::id()) {
        Life::Started(when) => Some(when),
        Life::Gone | Life::Unknown => None,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn living_and_dead_processes_are_told_apart() {
        let own = own_start().unwrap();
        assert_eq!(life(std::process::id()), Life::Started(own));
        // Ids end at 2^22.
        assert_eq!(life(u32::MAX), Life::Gone);
        assert!(!host().is_empty());
    }

    #[test]
    fn the_start_time_is_found_behind_any_name() {
        let fields = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20";
        assert_eq!(
            started(&format!("7 (a ) b (c)) {fields}")).as_deref(),
            Some("4242")
        );
        assert_eq!(
            started(&format!("7 (x) {}", fields.replace('S', "Z"))).as_deref(),
            Some("4242 ended")
        );
        assert_eq!(started("7 (x) S 1"), None);
    }
}
