//! Bodies that leave whole, in part, or drop by drop.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame};
use tokio::time::Sleep;

/// What the listener sends.
pub(crate) type ReplyBody = BoxBody<Bytes, io::Error>;

/// How a body leaves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delivery {
    cut: Option<usize>,
    pub drip: Option<Drip>,
}

/// Portions and pauses of a slow body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drip {
    pub portion: usize,
    pub pause: Duration,
}

impl Delivery {
    /// Breaks the connection after `bytes`, or earlier if it already breaks earlier.
    pub(crate) fn cut_at(&mut self, bytes: usize) {
        self.cut = Some(self.cut.map_or(bytes, |cut| cut.min(bytes)));
    }

    /// The body as it leaves; a body shorter than the cut leaves whole.
    pub(crate) fn body(self, whole: Bytes) -> ReplyBody {
        let cut = self.cut.filter(|cut| *cut < whole.len());
        if cut.is_none() && self.drip.is_none() {
            return Full::new(whole)
                .map_err(|never: Infallible| match never {})
                .boxed();
        }
        DamagedBody {
            rest: cut.map_or_else(|| whole.clone(), |cut| whole.slice(..cut)),
            breaks: cut.is_some(),
            flushed: false,
            drip: self.drip,
            pause: None,
            first: true,
        }
        .boxed()
    }
}

struct DamagedBody {
    rest: Bytes,
    /// Whether the connection breaks when the rest is sent.
    breaks: bool,
    flushed: bool,
    drip: Option<Drip>,
    pause: Option<Pin<Box<Sleep>>>,
    first: bool,
}

impl Body for DamagedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if !self.rest.is_empty() {
            let Some(drip) = self.drip else {
                return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.rest)))));
            };
            if !self.first {
                let pause = self
                    .pause
                    .get_or_insert_with(|| Box::pin(tokio::time::sleep(drip.pause)));
                ready!(pause.as_mut().poll(context));
                self.pause = None;
            }
            self.first = false;
            let portion = drip.portion.min(self.rest.len());
            return Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(portion)))));
        }
        if !self.breaks {
            return Poll::Ready(None);
        }
        if !self.flushed {
            // The server flushes what it has when a body makes it wait.
            self.flushed = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(io::Error::new(
            io::ErrorKind::ConnectionReset,
            "body cut by a fault",
        ))))
    }
}
