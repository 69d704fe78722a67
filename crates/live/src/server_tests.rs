//! Threads that share a drive, at every pace; and sessions as the plugin holds them.

use std::fs;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use flashloom_device::Reason;
use flashloom_units::{MS, Prng, US};

use crate::frames::SECTOR;
use crate::server::DATA_INSIDE_BYTES;
use crate::tests::{DRIVE, Folder, catalog, engine, experiment, live, read, refusal, served_engine, write};
use crate::{Command, Fault, LiveDrive, Memory, Options, Pace, Server, Session};

const PACES: [Pace; 4] = [
    Pace::Fast { gathers: false },
    Pace::Fast { gathers: true },
    Pace::Real { speed: 20.0 },
    Pace::Real { speed: 1.0 },
];

fn server(keys: &str, pace: Pace) -> Server {
    Server::new(live(engine(&experiment(keys))), pace)
}

#[expect(clippy::disallowed_methods, reason = "What is tested here is the wall clock.")]
fn now() -> Instant {
    Instant::now()
}

/// Writes and reads in a part of the drive that is this thread's own.
fn use_part(server: &Server, part: u64, commands: u32) {
    let mut prng = Prng::new(part);
    let mut bytes = vec![0_u8; 200 * SECTOR];
    for _ in 0..commands {
        let (first, count) = (prng.below(190), 1 + prng.below(10));
        let lba = part * 200 + first;
        let own = &mut bytes[first as usize * SECTOR..(first + count) as usize * SECTOR];
        if prng.chance(0.5) {
            own.fill(prng.below(256) as u8);
            server.execute(Command::Write { lba, data: own, fua: prng.chance(0.1) }, &mut []).expect("it is written");
        } else {
            let mut found = vec![1; own.len()];
            server.execute(Command::Read { lba, sectors: count as u32 }, &mut found).expect("it is read");
            assert!(found == own, "sectors {lba} to {} of thread {part}", lba + count);
        }
    }
}

/// More threads than the drive takes commands.
#[test]
fn threads_find_their_own_data_at_every_pace() {
    for pace in PACES {
        let server = &server("", pace);
        thread::scope(|scope| {
            let attendant = scope.spawn(|| server.attend());
            let clients = (0..12).map(|part| scope.spawn(move || use_part(server, part, 150)));
            let clients: Vec<_> = clients.collect();
            clients.into_iter().for_each(|client| client.join().expect("it finds its data"));
            let counts = server.end(|drive, counts| {
                drive.engine().check().expect("everything adds up");
                counts
            });
            assert_eq!(counts.expect("it works").commands, 12 * 150 + 1, "{pace:?}: and a flush");
            attendant.join().expect("it ends with the server");
        });
    }
}

/// What was inside when the end came is on flash, too, so that the drive can be switched off.
#[test]
fn a_drive_whose_clients_stay_holds_nothing_back_at_its_end() {
    let mappings = [
        "ftl.mapping=page",
        "ftl.mapping=fast ftl.fast.log_blocks=4",
        "ftl.mapping=kast ftl.kast.log_blocks=6",
        "ftl.mapping=page buffer.capacity=0B",
    ];
    for (pace, keys) in PACES.into_iter().flat_map(|pace| mappings.map(|keys| (pace, keys))) {
        let server = &Server::new(live(served_engine(&experiment(keys))), pace);
        let switched_off = thread::scope(|scope| {
            scope.spawn(|| server.attend());
            for part in 0..16 {
                scope.spawn(move || {
                    let data = [part as u8; 8 * SECTOR];
                    let end = (0..).find_map(|at| write(server, 8 * ((part + 61 * at) % 240), &data).err());
                    assert_eq!(end, Some(Fault::Broken));
                });
            }
            while server.look(|_, counts| counts.commands < 500) {
                thread::yield_now();
            }
            server.end(|drive, _| drive.parts().0.switch_off().map(drop).map_err(|error| error.to_string()))
        });
        assert_eq!(switched_off, Ok(Ok(())), "{pace:?}, {keys}");
    }
}

/// What is inside takes memory, which clients do not decide on.
#[test]
fn data_of_commands_that_are_inside_is_bounded() {
    const BYTES: usize = 2 << 20;
    let server = &server("device.blocks=128 host.nr_requests=96", Pace::Real { speed: 0.001 });
    let most = server.look(|drive, _| drive.engine().nand().geometry().raw_bytes()) + DATA_INSIDE_BYTES + (64 << 10);
    thread::scope(|scope| {
        for part in 0..96 {
            scope.spawn(move || write(server, part % 3 * 8, &vec![part as u8; BYTES]).is_ok());
        }
        while server.look(|_, counts| counts.inside) < 96 {
            thread::yield_now();
        }
        let (memory, file) = server.look(|drive, _| drive.data_bytes());
        server.end(|drive, _| drive.engine().check().expect("everything adds up")).expect("it works");
        assert!(memory + file <= most && memory + file > DATA_INSIDE_BYTES / 2, "{memory} + {file} bytes");
    });
}

/// Threads that wait for room are woken for other things too, and must not be taken for two. All of them have a command
/// inside before any has another, so that nobody comes by who would wake a thread that sleeps.
#[test]
fn a_drive_with_room_for_one_command_leaves_nobody_asleep() {
    const THREADS: u64 = 8;
    for (pace, rounds) in [(PACES[0], 1_000), (PACES[1], 5_000), (PACES[2], 50)] {
        let server = Arc::new(server("host.nr_requests=1 host.queue_depth=1 buffer.capacity=0B", pace));
        let together = Arc::new(Barrier::new(THREADS as usize));
        let (done, all_done) = mpsc::channel();
        for part in 0..THREADS {
            let (server, together, done) = (Arc::clone(&server), Arc::clone(&together), done.clone());
            thread::spawn(move || {
                for _ in 0..rounds {
                    together.wait();
                    use_part(&server, part, 1);
                }
                done.send(()).expect("somebody waits");
            });
        }
        for _ in 0..THREADS {
            all_done.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| panic!("{pace:?}: a thread sleeps"));
        }
    }
}

#[test]
fn commands_that_are_inside_together_overlap_in_the_models_time() {
    let server = &server("buffer.capacity=0B", Pace::Fast { gathers: true });
    thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                (0..500).for_each(|at| read(server, 8 * ((37 * at + thread) % 300)).expect("it is read"));
            });
        }
    });
    let (latency_ns, now_ns) =
        server.look(|drive, _| (drive.engine().host_report().latency_sum_ns(), drive.engine().now_ns()));
    assert!(latency_ns > u128::from(now_ns) * 3 / 2, "{latency_ns} ns of latency in {now_ns} ns");
}

#[test]
fn at_a_real_pace_a_command_takes_as_long_as_the_model_says() {
    for speed in [1.0, 0.1] {
        let server = server("device.read_time=3ms run.fill=1", Pace::Real { speed });
        let read = || {
            let before = now();
            read(&server, 0).expect("it is read");
            before.elapsed()
        };
        read();
        let least = Duration::from_nanos((3.0 * MS as f64 / speed) as u64);
        assert!(read() >= least && read() >= least);
        let model_ns = server.look(|drive, _| drive.engine().host_report().read_latency.max());
        assert!((3 * MS..3 * MS + 500 * US).contains(&model_ns), "the model knows nothing of it: {model_ns} ns");
    }
}

/// The end does not wait for the wall clock: what takes the model a second takes a thousand of those at this pace.
#[test]
fn at_a_slow_pace_the_end_jumps_and_so_do_commands_that_are_inside() {
    let server = server("device.read_time=100ms run.fill=1", Pace::Real { speed: 0.001 });
    let before = now();
    thread::scope(|scope| {
        let reader = scope.spawn(|| read(&server, 0));
        let attendant = scope.spawn(|| server.attend());
        while server.look(|_, counts| counts.inside) == 0 {
            thread::yield_now();
        }
        let writer = scope.spawn(|| {
            server.execute(Command::Write { lba: 8, data: &[7; 8 * SECTOR], fua: true }, &mut []).map(|()| now())
        });
        while server.look(|_, counts| counts.inside) == 1 {
            thread::yield_now();
        }
        let model_ns = server.end(|drive, _| {
            drive.engine().check().expect("everything adds up");
            drive.engine().now_ns()
        });
        assert!(model_ns.expect("it works") >= 100 * MS);
        reader.join().expect("it ends").expect("it is read");
        writer.join().expect("it ends").expect("it is written");
        attendant.join().expect("it ends with the server");
    });
    assert!(before.elapsed() < Duration::from_secs(30));
    assert_eq!(server.execute(Command::Flush, &mut []), Err(Fault::Broken));
}

#[test]
fn time_stands_still_without_commands_only_at_a_fast_pace() {
    for (pace, passes) in [(PACES[0], false), (PACES[3], true)] {
        let server = server("", pace);
        server.execute(Command::Flush, &mut []).expect("it is done");
        let time = || server.look(|drive, _| drive.engine().now_ns());
        let before = time();
        thread::sleep(Duration::from_millis(5));
        assert_eq!(time() >= before + 5 * MS, passes, "{pace:?}");
    }
}

#[test]
fn a_command_beyond_the_drive_is_refused_and_a_worn_out_drive_says_so() {
    let server = server("device.program_failures=0.02 buffer.capacity=0B", PACES[0]);
    let end = server.look(|drive, _| drive.capacity_sectors());
    let beyond = Command::Read { lba: end - 1, sectors: 2 };
    assert_eq!(server.execute(beyond, &mut [0; 2 * SECTOR]), Err(Fault::Invalid));
    let faults = (0..20_000).filter_map(|at| write(&server, 8 * (at % 100), &[7; 8 * SECTOR]).err());
    let first: Vec<Fault> = faults.take(2).collect();
    assert_eq!(first, [Fault::Failed(Reason::EndOfLife), Fault::Failed(Reason::ReadOnly)]);
    read(&server, 0).expect("it can be read");
}

/// A file for data that cannot be made breaks the server for everybody, and for good.
#[test]
fn a_server_that_cannot_keep_data_breaks() {
    let memory = Memory { limit_bytes: 0, folder: "/nowhere/at/all".into() };
    let drive = LiveDrive::new(engine(&experiment("")), memory).expect("events are kept");
    let server = Server::new(drive, PACES[0]);
    let _ = write(&server, 0, &[7; SECTOR]);
    assert_eq!(server.execute(Command::Flush, &mut []), Err(Fault::Broken));
    let reason = server.end(|_, _| ()).expect_err("it broke");
    assert!(reason.starts_with("the file for data beyond the limit of memory"), "{reason}");
}

/// A panic in the middle of a command becomes an error of all others.
#[test]
fn a_server_that_panics_serves_nobody_any_more() {
    let server = server("", PACES[0]);
    let panics = thread::scope(|scope| {
        let reader = scope.spawn(|| server.execute(Command::Read { lba: 0, sectors: 8 }, &mut [0; SECTOR]));
        reader.join().is_err()
    });
    assert!(panics, "the memory of the read is too short");
    assert_eq!(server.execute(Command::Flush, &mut []), Err(Fault::Broken));
}

#[test]
fn a_session_serves_an_experiment_and_leaves_log_and_result() {
    let folder = Folder::new();
    let session = folder.session("log=log.csv result=result.json", "ftl.mapping=dftl").expect("it ages");
    assert_eq!((session.page_bytes(), session.queue_depth()), (4_096, 8));
    write(session.server(), 4, &[9; 24 * SECTOR]).expect("done");
    session.write_zeros(5, 22, true, true).expect("done");
    let mut found = vec![1; 24 * SECTOR];
    session.server().execute(Command::Read { lba: 4, sectors: 24 }, &mut found).expect("done");
    let marks: Vec<u8> = found.chunks(SECTOR).map(|sector| sector[0]).collect();
    assert_eq!((marks[0], marks[23], &marks[1..23]), (9, 9, &[0; 22][..]));
    session.end().expect("everything adds up");
    let result = folder.read("result.json");
    assert!(result.contains("\"mapping\":\"dftl\"") && result.contains("\"discards\":1"), "{result}");
    let log = folder.read("log.csv");
    let ops: Vec<&str> = log.lines().skip(1).map(|line| line.split(',').nth(1).expect("a row has cells")).collect();
    assert_eq!(ops, ["W", "W", "W", "D", "F", "R", "F"]);
}

/// A drive that breaks has a log all the same: of what was served before.
#[test]
fn a_session_without_a_result_leaves_its_log() {
    let folder = Folder::new();
    let mut options = folder.options("log=log.csv result=result.json", "");
    options.memory = Memory { limit_bytes: 0, folder: "/nowhere/at/all".into() };
    let session = Session::new(&catalog(), &options).expect("it ages");
    let _ = write(session.server(), 0, &[7; SECTOR]);
    let reason = session.end().expect_err("its data cannot be kept");
    assert!(reason.starts_with("the file for data beyond the limit of memory"), "{reason}");
    assert!(folder.read("log.csv").starts_with("timestamp_ns,op,"));
    let told = folder.read("result.failure");
    assert!(told.contains(&reason) && !folder.has("result.json"), "{told}");
}

/// The program that waits for a result learns of the end, and the caller of the reason.
#[test]
fn a_session_whose_result_cannot_be_written_leaves_an_empty_file_beside_it() {
    let folder = Folder::new();
    let session = folder.session("result=result.json", "").expect("it ages");
    fs::create_dir(folder.path("result.json")).expect("there is room");
    let reason = session.end().expect_err("a folder is there");
    assert!(reason.contains("result.json cannot be written"), "{reason}");
    assert_eq!(folder.read("result.failure"), "");
}

#[test]
fn what_a_session_writes_replaces_neither_its_experiment_nor_each_other() {
    let folder = Folder::new();
    for (outputs, found) in [
        ("log=drive.toml result=result.json", "this is read"),
        ("log=both image=both", "something else is written to it"),
    ] {
        let refused = refusal(folder.session(outputs, ""));
        assert!(refused.contains(found), "{refused}");
    }
    assert_eq!(folder.read("drive.toml"), DRIVE);
}

#[test]
fn options_that_make_no_sense_are_named() {
    let mut options = Options::default();
    for (name, value, expected) in [
        ("pace", "slow", "expected fast or real"),
        ("speed", "2", "expected pace=real before it"),
        ("memory", "7", "a size with a unit"),
        ("colour", "red", "unknown option colour: expected experiment=FILE.toml"),
        ("gather", "maybe", "expected true"),
        ("log", "", "expected the name of a file"),
    ] {
        let message = options.set(name, value).expect_err("it makes no sense");
        assert!(message.contains(expected), "{message}");
    }
    options.set("pace", "real").expect("an option");
    assert!(options.set("speed", "0").expect_err("it is too small").contains("from 0.001 to 1000"));
    options.set("speed", "0.5").expect("a speed");
    assert_eq!(options.pace, Pace::Real { speed: 0.5 });
    assert!(refusal(Session::new(&catalog(), &options)).contains("no experiment"));
    options.set("experiment", "/nowhere.toml").expect("an option");
    assert!(refusal(Session::new(&catalog(), &options)).contains("/nowhere.toml"));
}
