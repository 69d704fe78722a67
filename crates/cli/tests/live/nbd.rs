//! A client of the protocol that waits for each command: by <https://github.com/NetworkBlockDevice/nbd>, `proto.md`.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

const OPTION_MAGIC: &[u8; 8] = b"IHAVEOPT";
const REQUEST_MAGIC: u32 = 0x2560_9513;
const REPLY_MAGIC: u32 = 0x6744_6698;
/// Flags of the handshake: fixed newstyle, and no zeros after it.
const FLAGS: u32 = 3;
const EXPORT_NAME: u32 = 1;

/// Types of commands.
const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;
/// Flag of a command whose data is durable when it has ended.
const FUA: u16 = 1;

/// A connection to a drive.
pub struct Nbd(UnixStream);

impl Nbd {
    pub fn connect(socket: &Path) -> io::Result<Self> {
        let mut stream = UnixStream::connect(socket)?;
        // NBDMAGIC, IHAVEOPT, and two bytes of flags.
        stream.read_exact(&mut [0; 18])?;
        let option = [&FLAGS.to_be_bytes()[..], OPTION_MAGIC, &EXPORT_NAME.to_be_bytes(), &0_u32.to_be_bytes()];
        stream.write_all(&option.concat())?;
        // Size and flags of the export.
        stream.read_exact(&mut [0; 10])?;
        Ok(Self(stream))
    }

    pub fn read(&mut self, offset: u64, to: &mut [u8]) -> io::Result<()> {
        self.command(READ, 0, offset, to.len() as u32, &[])?;
        self.0.read_exact(to)
    }

    pub fn write(&mut self, offset: u64, data: &[u8], fua: bool) -> io::Result<()> {
        self.command(WRITE, if fua { FUA } else { 0 }, offset, data.len() as u32, data)
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.command(FLUSH, 0, 0, 0, &[])
    }

    fn command(&mut self, kind: u16, flags: u16, offset: u64, length: u32, data: &[u8]) -> io::Result<()> {
        let mut request = REQUEST_MAGIC.to_be_bytes().to_vec();
        request.extend([flags.to_be_bytes(), kind.to_be_bytes()].concat());
        request.extend([[0; 8], offset.to_be_bytes()].concat());
        request.extend(length.to_be_bytes());
        request.extend(data);
        self.0.write_all(&request)?;
        let mut reply = [0; 16];
        self.0.read_exact(&mut reply)?;
        let word = |at: usize| u32::from_be_bytes(reply[at..at + 4].try_into().expect("four bytes"));
        match (word(0), word(4)) {
            (REPLY_MAGIC, 0) => Ok(()),
            (REPLY_MAGIC, error) => Err(io::Error::from_raw_os_error(error as i32)),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}
