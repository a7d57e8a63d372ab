//! One hello out, one hello in (Fox specification §4, §8 step 3–5).

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};

use super::frame::{Field, Frame, MAX_FRAME, Malformed, Parsed, parse};
use super::hello::{CLIENT_HELLO, FoxIdentity};
use super::probe::FoxFailure;

/// Frames of no meaning before the hello that are borne (Fox specification §11).
const MOST_IDLE_FRAMES: usize = 4;
/// Octets read at a time.
const PIECE: usize = 4 * 1024;
/// Most of an error frame's text that is kept.
const MAX_ERROR_TEXT: usize = 300;

/// What a connection gave.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub identity: Option<FoxIdentity>,
    pub is_fox: bool,
    pub failure: Option<FoxFailure>,
    pub round_trip: Option<Duration>,
    /// The frame was not complete when the connection or the time ended.
    pub truncated: bool,
}

impl Heard {
    fn failed(failure: FoxFailure) -> Self {
        Self {
            failure: Some(failure),
            ..Self::default()
        }
    }
}

/// Says hello and reads, for so long, until one frame tells what is there; what follows stays unread.
pub(super) async fn greet<S>(mut stream: S, patience: Duration) -> Heard
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let begin = Instant::now();
    let deadline = begin + patience;
    let said = async {
        stream.write_all(CLIENT_HELLO).await?;
        stream.flush().await
    };
    match timeout_at(deadline, said).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Heard::failed(broken(&error, true)),
        Err(_) => return Heard::failed(FoxFailure::Silent),
    }
    let mut heard = Vec::new();
    let mut idle_frames = 0;
    loop {
        let mut piece = [0; PIECE];
        let room = piece
            .len()
            .min(MAX_FRAME.saturating_sub(heard.len()).max(1));
        let read = stream.read(piece.get_mut(..room).unwrap_or_default());
        let count = match timeout_at(deadline, read).await {
            Err(_) if heard.is_empty() => return Heard::failed(FoxFailure::Silent),
            Err(_) => return unfinished(&heard, FoxFailure::TooSlow),
            Ok(Ok(0)) if heard.is_empty() => {
                return Heard::failed(FoxFailure::ClosedWithoutAnswer);
            }
            Ok(Ok(0)) => return unfinished(&heard, FoxFailure::CutOff),
            Ok(Err(error)) if heard.is_empty() => return Heard::failed(broken(&error, true)),
            Ok(Err(error)) => return unfinished(&heard, broken(&error, false)),
            Ok(Ok(count)) => count,
        };
        let fresh = piece.get(..count).unwrap_or_default();
        heard.extend_from_slice(fresh);
        // A frame, or its being none, shows at one of these; so slow octets cost no parsing each.
        if !heard_enough(&heard, fresh) {
            continue;
        }
        match next_frame(&mut heard, &mut idle_frames) {
            Some(Ok(frame)) => return judge(&frame, begin.elapsed()),
            Some(Err(failure)) => {
                return Heard {
                    is_fox: matches!(failure, FoxFailure::Malformed { .. })
                        && looks_like_hello(&heard),
                    ..Heard::failed(failure)
                };
            }
            None => {}
        }
    }
}

fn heard_enough(heard: &[u8], fresh: &[u8]) -> bool {
    heard.len() <= 4
        || heard.len() >= MAX_FRAME
        || fresh
            .iter()
            .any(|octet| matches!(octet, b'\n' | b';' | b'[' | b'='))
        || (!heard.starts_with(b"fox "))
        || heard.len() % PIECE < fresh.len()
}

/// The first frame that means something, or why there will be none.
fn next_frame(heard: &mut Vec<u8>, idle_frames: &mut usize) -> Option<Result<Frame, FoxFailure>> {
    loop {
        match parse(heard) {
            Ok(Parsed::Incomplete) => return None,
            Ok(Parsed::Frame(frame, length)) => {
                if !matches!(frame.header.kind, 'k' | 'n') {
                    return Some(Ok(*frame));
                }
                *idle_frames += 1;
                if *idle_frames > MOST_IDLE_FRAMES {
                    return Some(Err(FoxFailure::NotFox {
                        found: "keep-alive frames without end".to_owned(),
                    }));
                }
                heard.drain(..length.min(heard.len()));
            }
            Err(Malformed::NotFox) => {
                return Some(Err(match heard.as_slice() {
                    // A TLS record: alert or handshake, of any version.
                    [0x15 | 0x16, 0x03, ..] => FoxFailure::SpeaksTls,
                    _ => FoxFailure::NotFox {
                        found: "octets of another protocol".to_owned(),
                    },
                }));
            }
            Err(reason) => {
                return Some(Err(FoxFailure::Malformed {
                    reason: reason.to_string(),
                }));
            }
        }
    }
}

fn judge(frame: &Frame, elapsed: Duration) -> Heard {
    let header = &frame.header;
    let is_hello = header.kind == 'a' && header.channel == "fox" && header.command == "hello";
    match (header.kind, header.sequence) {
        (_, 0) if is_hello => Heard {
            identity: Some(FoxIdentity::read(frame)),
            is_fox: true,
            round_trip: Some(elapsed),
            ..Heard::default()
        },
        (_, 1) if is_hello => Heard::failed(FoxFailure::Echo),
        ('e', _) => Heard {
            is_fox: true,
            round_trip: Some(elapsed),
            ..Heard::failed(FoxFailure::ErrorFrame {
                channel: shorten(&header.channel),
                command: shorten(&header.command),
                text: error_text(frame),
            })
        },
        _ => Heard::failed(FoxFailure::NotFox {
            found: "a frame that is no hello".to_owned(),
        }),
    }
}

fn error_text(frame: &Frame) -> String {
    let texts: Vec<&str> = frame.fields.iter().filter_map(Field::text).collect();
    shorten(&texts.join("; "))
}

fn shorten(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .take(MAX_ERROR_TEXT)
        .collect()
}

fn unfinished(heard: &[u8], failure: FoxFailure) -> Heard {
    Heard {
        is_fox: looks_like_hello(heard),
        truncated: true,
        ..Heard::failed(failure)
    }
}

/// The mark by which every public tool knows a station (Fox specification §2).
fn looks_like_hello(heard: &[u8]) -> bool {
    heard.starts_with(b"fox a 0 ") && heard.contains(&b'{')
}

fn broken(error: &io::Error, was_silent: bool) -> FoxFailure {
    let is_close = matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
    );
    match (is_close, was_silent) {
        (true, true) => FoxFailure::ClosedWithoutAnswer,
        (true, false) => FoxFailure::CutOff,
        _ => FoxFailure::Unreachable {
            cause: error.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::duplex;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(5);
    const N4: &[u8] = b"fox a 0 -1 fox hello\n{\nfox.version=s:1.0.2\nhostName=s:st2\nhostAddress=s:192.0.2.20\napp.name=s:Station\n};;\n";
    const KEEP_ALIVE: &[u8] = b"fox k 0 -1 fox ka\n{\n};;\n";

    /// A station that says these pieces one after the other and then closes.
    async fn greeted(pieces: &[&[u8]]) -> (Heard, Vec<u8>) {
        let (ours, mut theirs) = duplex(1 << 20);
        let pieces: Vec<Vec<u8>> = pieces.iter().map(|piece| piece.to_vec()).collect();
        let station = tokio::spawn(async move {
            let mut hello = [0; 52];
            theirs.read_exact(&mut hello).await.expect("a hello");
            for piece in pieces {
                theirs.write_all(&piece).await.expect("room");
            }
            theirs.shutdown().await.expect("closing");
            let mut more = Vec::new();
            theirs.read_to_end(&mut more).await.expect("the rest");
            more
        });
        let heard = greet(ours, PATIENCE).await;
        (heard, station.await.expect("no panic"))
    }

    #[tokio::test]
    async fn idle_frames_are_passed_over_and_what_follows_the_hello_is_not_read() {
        let four = [
            KEEP_ALIVE,
            KEEP_ALIVE,
            KEEP_ALIVE,
            KEEP_ALIVE,
            N4,
            b"fox a 1 -1 fox challenge\n{\nnonce=b:9[",
        ];
        let (heard, sent_after) = greeted(&four).await;
        assert_eq!(
            heard
                .identity
                .and_then(|identity| identity.host_name)
                .as_deref(),
            Some("st2")
        );
        assert!(heard.is_fox && heard.round_trip.is_some());
        assert!(
            sent_after.is_empty(),
            "nothing but the hello is ever written"
        );
        let (heard, _) = greeted(&[KEEP_ALIVE; 5]).await;
        assert!(matches!(heard.failure, Some(FoxFailure::NotFox { .. })));
    }

    #[tokio::test]
    async fn whatever_is_no_hello_has_a_name() {
        let failure = async |octets: &'static [u8]| {
            let (heard, _) = greeted(&[octets]).await;
            (heard.failure, heard.is_fox, heard.truncated)
        };
        assert_eq!(
            failure(CLIENT_HELLO).await,
            (Some(FoxFailure::Echo), false, false)
        );
        assert_eq!(
            failure(b"\x15\x03\x01\0\x02").await,
            (Some(FoxFailure::SpeaksTls), false, false)
        );
        assert_eq!(
            failure(b"").await,
            (Some(FoxFailure::ClosedWithoutAnswer), false, false)
        );
        assert_eq!(
            failure(N4.get(..60).unwrap_or_default()).await,
            (Some(FoxFailure::CutOff), true, true)
        );
        assert!(matches!(
            failure(b"SSH-2.0-x").await,
            (Some(FoxFailure::NotFox { .. }), false, _)
        ));
        let error = failure(b"fox e 0 -1 fox hello\n{\nmsg=s:no \x07 more\n};;\n").await;
        assert_eq!(
            error,
            (
                Some(FoxFailure::ErrorFrame {
                    channel: "fox".into(),
                    command: "hello".into(),
                    text: "no   more".into()
                }),
                true,
                false
            )
        );
        let huge = failure(b"fox a 0 -1 fox hello\n{\nx=b:2147483648[").await;
        assert!(
            matches!(huge, (Some(FoxFailure::Malformed { .. }), true, _)),
            "{huge:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn silence_and_slowness_end_with_the_time() {
        let (ours, _theirs) = duplex(1024);
        assert_eq!(
            greet(ours, PATIENCE).await.failure,
            Some(FoxFailure::Silent)
        );
        let (ours, mut theirs) = duplex(1024);
        theirs
            .write_all(b"fox a 0 -1 fox hello\n{")
            .await
            .expect("room");
        let heard = greet(ours, PATIENCE).await;
        assert_eq!(
            (heard.failure, heard.truncated),
            (Some(FoxFailure::TooSlow), true)
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn a_hello_is_the_same_however_it_is_cut(cuts in proptest::collection::vec(0..N4.len(), 0..5)) {
            let mut cuts = cuts;
            cuts.extend([0, N4.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).filter_map(|pair| N4.get(pair[0]..pair[1])).collect();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            let (heard, _) = runtime.block_on(greeted(&pieces));
            let name = heard.identity.and_then(|identity| identity.app_name);
            prop_assert_eq!(name.as_deref(), Some("Station"));
        }
    }
}
