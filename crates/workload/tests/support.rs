//! What tests of several files need: folders, records of binary formats, compression, requests as a list.

use std::io::Write;

use flashloom_workload::{Request, Source};

/// A temporary folder, with files by their names.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("a name in UTF-8").to_owned()
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), bytes).expect("a file can be written");
        self.path(name)
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a text is there")
    }
}

/// The requests of a source, all of them.
pub fn requests(source: &mut impl Source) -> Vec<Request> {
    std::iter::from_fn(|| source.next_request().unwrap_or_else(|problem| panic!("{problem}"))).collect()
}

/// A record of blktrace: time, sector, bytes, action, device, and what follows it.
pub fn blktrace(time_ns: u64, sector: u64, bytes: u32, action: u32, device: u32, payload: &[u8]) -> Vec<u8> {
    let mut record: Vec<u8> = [0x6561_7407, 1].into_iter().flat_map(u32::to_le_bytes).collect();
    record.extend([time_ns, sector].into_iter().flat_map(u64::to_le_bytes));
    record.extend([bytes, action, 42, device, 0].into_iter().flat_map(u32::to_le_bytes));
    record.extend([0, payload.len() as u16].into_iter().flat_map(u16::to_le_bytes));
    record.extend(payload);
    record
}

/// A record of vscsi of version 1: SCSI command, bytes, first block, time.
pub fn vscsi(command: u16, bytes: u32, block: u64, time_us: u64) -> Vec<u8> {
    let mut record: Vec<u8> = [1, bytes, 1].into_iter().flat_map(u32::to_le_bytes).collect();
    record.extend([command, 0x0100].into_iter().flat_map(u16::to_le_bytes));
    record.extend([block, time_us].into_iter().flat_map(u64::to_le_bytes));
    record
}

/// A record of vscsi of version 2: SCSI command, bytes, first block, time, response time.
pub fn vscsi_2(command: u16, bytes: u32, block: u64, time_us: u64, response_us: u64) -> Vec<u8> {
    let mut record: Vec<u8> = [command, 0x0200].into_iter().flat_map(u16::to_le_bytes).collect();
    record.extend([1, bytes, 1].into_iter().flat_map(u32::to_le_bytes));
    record.extend([block, time_us, response_us].into_iter().flat_map(u64::to_le_bytes));
    record
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("memory can be compressed");
    encoder.finish().expect("memory can be compressed")
}
