//! Every way in which a service ends, while clients write: what was durable is in the image, or the image is the old
//! one where docs/live-drive.md says so.
//!
//! One client writes numbers that grow, each durable before the next, and notes which; fio writes beside it, as many
//! requests at a time as there are threads. The next service reads the numbers back.

use std::fs;
use std::process::Child;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::control::ask;
use crate::nbd::Nbd;
use crate::service::{Ended, Service, has_ended, names, number, send};

/// Blocks for numbers, which lie before what fio writes.
const BLOCKS: usize = 64;
const BLOCK_BYTES: usize = 4_096;

/// What ends a service.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    /// A client of the control socket.
    Order,
    /// A signal to the program.
    Signal(&'static str),
    /// Its nbdkit is killed.
    KillOfNbdkit,
}

const ENDINGS: [Ending; 6] = [
    Ending::Order,
    Ending::Signal("INT"),
    Ending::Signal("TERM"),
    Ending::Signal("HUP"),
    Ending::Signal("KILL"),
    Ending::KillOfNbdkit,
];

const SETTINGS: [&[&str]; 6] = [
    &["--threads", "64"],
    &["--gather", "--threads", "64"],
    &["--pace", "real", "--threads", "64"],
    &["--threads", "1"],
    &["--gather", "--threads", "1"],
    &["--pace", "real", "--threads", "1"],
];

const MAPPINGS: [&[&str]; 3] = [
    &["--set", "ftl.mapping=page"],
    &["--set", "ftl.mapping=dftl"],
    &["--set", "ftl.mapping=fast", "--set", "ftl.fast.log_blocks=6"],
];

/// A drive that is served again and again.
struct Kept {
    folder: TempDir,
    mapping: &'static [&'static str],
    /// Numbers that are durable, by block, and the last one that was written.
    durable: [u64; BLOCKS],
    last: u64,
}

impl Kept {
    fn new(mapping: &'static [&'static str]) -> Self {
        Self { folder: tempfile::tempdir().expect("there is room"), mapping, durable: [0; BLOCKS], last: 0 }
    }

    fn image(&self) -> String {
        self.folder.path().join("image").display().to_string()
    }

    fn serve(&self, setting: &[&str]) -> Service {
        let image = self.image();
        Service::begin(&[self.mapping, setting, &["--control", "control", "--image", &image]].concat())
    }

    /// Reads the numbers back: each is that which was durable, or the one that was written when the end came.
    fn check(&mut self, server: &Service, what: &str) {
        let mut client = Nbd::connect(&server.path("socket")).expect("it listens");
        let last_block = self.last as usize % BLOCKS;
        for (block, durable) in self.durable.iter_mut().enumerate() {
            let mut bytes = [0; BLOCK_BYTES];
            client.read((block * BLOCK_BYTES) as u64, &mut bytes).expect("it is read");
            let number = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
            assert!(bytes.chunks(8).all(|word| word == number.to_le_bytes()), "{what}: block {block} is torn");
            let is_last = block == last_block && number == self.last;
            assert!(number == *durable || is_last, "{what}: block {block} has {number}, not {durable}");
            *durable = number;
        }
    }

    /// Serves the drive until it is ended so, and checks what the end says.
    fn end(&mut self, ending: Ending, setting: &[&str]) {
        let what = format!("{ending:?}, {setting:?}, {:?}", self.mapping);
        let server = self.serve(setting);
        self.check(&server, &what);
        let before = (fs::read(self.image()).expect("it is there"), self.durable);
        let mut fio = busy(&server);
        let client = Nbd::connect(&server.path("socket")).expect("it listens");
        let (durable, last) = (self.durable, self.last);
        let writer = thread::spawn(move || write_numbers(client, durable, last));
        while !is_busy(&server) {
            assert!(fio.try_wait().expect("it is a child").is_none(), "{what}: fio has ended");
            thread::sleep(Duration::from_millis(10));
        }
        let nbdkit = server.nbdkit();
        let ended = match ending {
            Ending::Order => {
                assert_eq!(ask(&server, r#"{"do": "end"}"#)["did"], "end", "{what}");
                server.wait()
            }
            Ending::Signal(signal) => server.end(signal),
            Ending::KillOfNbdkit => {
                send("KILL", nbdkit);
                server.wait()
            }
        };
        assert!((0..1_000).any(|_| has_ended(nbdkit)), "{what}: its nbdkit stays");
        (self.durable, self.last) = writer.join().expect("it ends with the service");
        // Its server has gone.
        let _ = fio.kill();
        fio.wait().expect("it ends");
        check_end(ending, &ended, &what);
        if ending == Ending::KillOfNbdkit {
            assert!(fs::read(self.image()).expect("it is there") == before.0, "{what}: the image is another");
            self.durable = before.1;
        }
    }
}

/// What the program says at its end.
fn check_end(ending: Ending, ended: &Ended, what: &str) {
    let Ended { code, result, said, .. } = ended;
    match ending {
        Ending::Signal("KILL") => assert_eq!(*code, None, "{what}: {said}"),
        Ending::KillOfNbdkit => {
            assert!(*code == Some(1) && said.contains("nbdkit has ended without a result"), "{what}: {said}");
        }
        _ => assert!(*code == Some(0) && result.is_object(), "{what}: {code:?}, {said}"),
    }
}

/// Has fio write at random behind the numbers, until it is killed or its server ends.
fn busy(server: &Service) -> Child {
    server.fio(
        "--thread --name=w --ioengine=nbd --rw=randwrite --bs=4k --iodepth=64 --offset=1m --size=40m \
         --buffer_pattern=0x55 --time_based --runtime=600",
    )
}

/// Whether both clients have come to write.
fn is_busy(server: &Service) -> bool {
    let status = server.status();
    let of = |name: &str| number(&status["requests"][name]);
    of("writes") > 400 && of("fua_writes") > 8
}

/// Writes one number after another until the service ends. Returns those that are durable, and the last one.
fn write_numbers(mut client: Nbd, mut durable: [u64; BLOCKS], mut last: u64) -> ([u64; BLOCKS], u64) {
    loop {
        last += 1;
        let (block, fua) = (last as usize % BLOCKS, last.is_multiple_of(2));
        let data = last.to_le_bytes().repeat(BLOCK_BYTES / 8);
        let written = client.write((block * BLOCK_BYTES) as u64, &data, fua);
        if written.and_then(|()| if fua { Ok(()) } else { client.flush() }).is_err() {
            return (durable, last);
        }
        durable[block] = last;
    }
}

/// Ends services in these ways, one after another, on one drive. Returns how many numbers were written.
fn end_all<'a>(mapping: &'static [&'static str], ways: impl Iterator<Item = (Ending, &'a [&'a str])>) -> u64 {
    let mut kept = Kept::new(mapping);
    kept.serve(&[]).finish();
    ways.for_each(|(ending, setting)| kept.end(ending, setting));
    let server = kept.serve(&[]);
    kept.check(&server, "the last one");
    server.finish();
    assert_eq!(names(kept.folder.path()), ["image"]);
    kept.last
}

#[test]
#[ignore = "needs nbdkit: make live"]
fn endings_leave_what_was_durable_in_the_image() {
    let ways = || ENDINGS.into_iter().zip(SETTINGS);
    thread::scope(|scope| {
        scope.spawn(|| end_all(MAPPINGS[2], ways().step_by(2)));
        scope.spawn(|| end_all(MAPPINGS[0], ways().skip(1).step_by(2)));
    });
}

/// 216 endings.
#[test]
#[ignore = "takes minutes: make test-live"]
fn long_every_ending_leaves_what_was_durable_in_the_image() {
    let ways = || (0..2).flat_map(|_| SETTINGS).flat_map(|setting| ENDINGS.map(|ending| (ending, setting)));
    thread::scope(|scope| {
        for mapping in MAPPINGS {
            scope.spawn(move || {
                let numbers = end_all(mapping, ways());
                println!("{mapping:?}: {} endings, {numbers} numbers", ways().count());
            });
        }
    });
}
