//! What waits for the reader of an event stream, bounded by number and by bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Bytes;
use tokio::sync::mpsc;

/// Bytes that may wait for one slow reader.
pub const WAITING_BYTES: usize = 8 * 1024 * 1024;

/// The queue is full, or its reader has left.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reader of the stream is too slow or gone")]
pub struct Overflow;

/// The writing end of a queue.
pub struct FrameSender {
    frames: mpsc::Sender<Bytes>,
    waiting: Arc<AtomicUsize>,
    most_bytes: usize,
}

/// The reading end of a queue.
pub struct FrameReceiver {
    frames: mpsc::Receiver<Bytes>,
    waiting: Arc<AtomicUsize>,
}

/// A queue of at most `most_frames` frames that have `most_bytes` together; a single larger frame passes when nothing
/// else waits.
pub fn queue(most_frames: usize, most_bytes: usize) -> (FrameSender, FrameReceiver) {
    let (sender, receiver) = mpsc::channel(most_frames);
    let waiting = Arc::<AtomicUsize>::default();
    let sender = FrameSender {
        frames: sender,
        waiting: waiting.clone(),
        most_bytes,
    };
    let receiver = FrameReceiver {
        frames: receiver,
        waiting,
    };
    (sender, receiver)
}

impl FrameSender {
    /// Adds a frame that has to fit at once.
    ///
    /// # Errors
    /// Too many frames or bytes wait already, or the reader has left.
    pub fn try_send(&self, frame: Bytes) -> Result<(), Overflow> {
        let length = frame.len();
        let before = self.waiting.fetch_add(length, Ordering::Relaxed);
        let fits = before == 0 || before.saturating_add(length) <= self.most_bytes;
        if fits && self.frames.try_send(frame).is_ok() {
            return Ok(());
        }
        self.waiting.fetch_sub(length, Ordering::Relaxed);
        Err(Overflow)
    }

    /// Adds the last frame of a stream, whatever its size, as soon as a place is free.
    ///
    /// # Errors
    /// The reader has left.
    pub async fn finish(self, frame: Bytes) -> Result<(), Overflow> {
        self.waiting.fetch_add(frame.len(), Ordering::Relaxed);
        self.frames.send(frame).await.map_err(|_| Overflow)
    }

    /// Waits until the reader has left.
    pub async fn closed(&self) {
        self.frames.closed().await;
    }
}

impl FrameReceiver {
    /// The next frame; none at the end of the stream.
    pub async fn recv(&mut self) -> Option<Bytes> {
        let frame = self.frames.recv().await?;
        self.waiting.fetch_sub(frame.len(), Ordering::Relaxed);
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(length: usize) -> Bytes {
        Bytes::from(vec![b'x'; length])
    }

    #[tokio::test]
    async fn bytes_overflow_before_frames_and_make_room_when_read() {
        let (sender, mut receiver) = queue(10, 100);
        assert_eq!(sender.try_send(frame(60)), Ok(()));
        assert_eq!(sender.try_send(frame(41)), Err(Overflow));
        assert_eq!(sender.try_send(frame(40)), Ok(()));
        assert_eq!(receiver.recv().await.map(|read| read.len()), Some(60));
        assert_eq!(sender.try_send(frame(60)), Ok(()));
    }

    #[tokio::test]
    async fn frames_overflow_by_number_and_leave_the_bytes_right() {
        let (sender, mut receiver) = queue(2, 100);
        assert_eq!(sender.try_send(frame(1)), Ok(()));
        assert_eq!(sender.try_send(frame(1)), Ok(()));
        assert_eq!(sender.try_send(frame(90)), Err(Overflow));
        assert!(receiver.recv().await.is_some());
        assert_eq!(sender.try_send(frame(90)), Ok(()));
    }

    #[tokio::test]
    async fn one_large_answer_passes_and_the_last_frame_always_does() {
        let (sender, mut receiver) = queue(2, 100);
        assert_eq!(sender.try_send(frame(500)), Ok(()));
        assert_eq!(sender.try_send(frame(1)), Err(Overflow));
        assert_eq!(sender.finish(frame(300)).await, Ok(()));
        assert_eq!(receiver.recv().await.map(|read| read.len()), Some(500));
        assert_eq!(receiver.recv().await.map(|read| read.len()), Some(300));
        assert_eq!(receiver.recv().await, None);
    }

    #[tokio::test]
    async fn nothing_is_kept_for_a_reader_who_left() {
        let (sender, receiver) = queue(2, 100);
        drop(receiver);
        sender.closed().await;
        assert_eq!(sender.try_send(frame(1)), Err(Overflow));
    }
}
