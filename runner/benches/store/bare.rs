//! The least a durable log needs: one thread that writes what waits and syncs once for all of it.
//!
//! It decides nothing, keeps no index and never fills a segment, so no store can be faster that uses
//! the same calls.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::Path,
    sync::mpsc::{SyncSender, sync_channel},
    thread::JoinHandle,
};

use tokio::sync::oneshot;

/// Bytes of a frame's header: length, sequence, checksum, and what the store has besides.
const HEADER: usize = 20;
/// Bytes of the file, zero-filled ahead. It is gone through again from the start when it is full.
const FILE: usize = 16 << 20;
/// Wishes that may wait, as in the store.
const MAILBOX: usize = 4096;

struct Wish {
    payload: Vec<u8>,
    /// Records of this payload.
    records: usize,
    reply: oneshot::Sender<u64>,
}

/// The bare log.
pub(crate) struct BareLog {
    mailbox: Option<SyncSender<Wish>>,
    thread: Option<JoinHandle<()>>,
}

impl BareLog {
    /// A new file in `dir`, zero-filled and synced. `sync`: whether an answer waits for a sync.
    pub(crate) fn open(dir: &Path, sync: bool) -> std::io::Result<Self> {
        let file = File::create_new(dir.join("bare"))?;
        let zeros = vec![0; 1 << 20];
        for part in 0..FILE / zeros.len() {
            file.write_all_at(&zeros, (part * zeros.len()) as u64)?;
        }
        file.sync_all()?;
        let (mailbox, inbox) = sync_channel::<Wish>(MAILBOX);
        let thread = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let mut replies = Vec::new();
            let mut end = 0;
            let mut sequence = 0;
            while let Ok(first) = inbox.recv() {
                let mut next = Some(first);
                while let Some(wish) = next {
                    for _ in 0..wish.records {
                        sequence += 1;
                        frame(&mut bytes, sequence, &wish.payload);
                    }
                    replies.push((wish.reply, sequence));
                    next = inbox.try_recv().ok();
                }
                if end + bytes.len() > FILE {
                    end = 0;
                }
                file.write_all_at(&bytes, end as u64).expect("written");
                end += bytes.len();
                bytes.clear();
                if sync {
                    file.sync_data().expect("synced");
                }
                for (reply, sequence) in replies.drain(..) {
                    let _ = reply.send(sequence);
                }
            }
        });
        Ok(Self {
            mailbox: Some(mailbox),
            thread: Some(thread),
        })
    }

    /// Append a record; answered once it is durable.
    pub(crate) async fn append(&self, payload: Vec<u8>) -> u64 {
        self.tell(payload, 1).await.expect("the writer answers")
    }

    /// Append so many records of this payload; their answer comes once they are durable.
    pub(crate) fn tell(&self, payload: Vec<u8>, records: usize) -> oneshot::Receiver<u64> {
        let (reply, answer) = oneshot::channel();
        let mailbox = self.mailbox.as_ref().expect("open until dropped");
        let wish = Wish {
            payload,
            records,
            reply,
        };
        mailbox
            .try_send(wish)
            .unwrap_or_else(|_| panic!("the mailbox has room for every caller"));
        answer
    }
}

impl Drop for BareLog {
    fn drop(&mut self) {
        self.mailbox = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn frame(out: &mut Vec<u8>, sequence: u64, body: &[u8]) {
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(&(body.len() as u32).to_le_bytes());
    header[4..12].copy_from_slice(&sequence.to_le_bytes());
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header[..16]);
    hasher.update(body);
    header[16..].copy_from_slice(&hasher.finalize().to_le_bytes());
    out.extend_from_slice(&header);
    out.extend_from_slice(body);
}
