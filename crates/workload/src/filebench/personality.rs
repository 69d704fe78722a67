//! The four personalities: each thread's sequence of operations, and the parameters that Filebench 1.5 publishes.

use flashloom_units::{KIB, MIB, choice};

choice! {
    /// A published Filebench workload.
    pub enum Personality {
        /// Create and write a file, append to another, read a third, delete a fourth, look at a fifth.
        Fileserver = "fileserver",
        /// Read ten files, append to the log.
        Webserver = "webserver",
        /// Deliver a mail, read and extend another, read a third; every write is followed by an fsync.
        Varmail = "varmail",
        /// Readers of a database, its writers with O_DSYNC, and the writer of its log.
        Oltp = "oltp",
    }
}

/// Action of one flow operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Creates the next file that does not exist and holds it open.
    Create,
    /// Opens the next file that nobody holds.
    Open,
    /// Closes the file that is open.
    Close,
    /// Deletes the next file that nobody holds.
    Delete,
    /// Looks at the inode of the next file that nobody holds.
    Stat,
    /// Writes the open file to its planned size.
    WriteWhole,
    /// Reads the open file to its end.
    ReadWhole,
    /// Appends a random length, at most the append size, to the open file.
    Append,
    /// Appends a random length, at most the append size, to the log that all threads share.
    AppendLog,
    /// Makes the open file durable (fsync).
    Fsync,
    /// Reads at a random offset of a random data file.
    ReadRandom,
    /// Writes durably at a random offset of the thread's data file.
    WriteRandom,
    /// Writes 256 KiB durably at a random offset of the log.
    WriteLog,
    /// Computes, then counts one transaction for every writer of the database.
    Post,
    /// Waits for the other threads of its group, then until enough transactions have been counted for the group.
    Await,
}

/// One step of a thread: Filebench's name of the flow operation, and its action.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Name in the published personality.
    pub name: &'static str,
    /// Action of the operation.
    pub action: Action,
}

/// A program: each flow operation by its name, and what it does.
macro_rules! program {
    ($($name:literal: $action:ident,)*) => { &[$(Flow { name: $name, action: Action::$action }),*] };
}

/// Operations of a fileserver thread.
pub const FILESERVER: &[Flow] = program! {
    "createfile1": Create, "wrtfile1": WriteWhole, "closefile1": Close,
    "openfile1": Open, "appendfilerand1": Append, "closefile2": Close,
    "openfile2": Open, "readfile1": ReadWhole, "closefile3": Close,
    "deletefile1": Delete, "statfile1": Stat,
};

/// Operations of a webserver thread.
pub const WEBSERVER: &[Flow] = program! {
    "openfile1": Open, "readfile1": ReadWhole, "closefile1": Close,
    "openfile2": Open, "readfile2": ReadWhole, "closefile2": Close,
    "openfile3": Open, "readfile3": ReadWhole, "closefile3": Close,
    "openfile4": Open, "readfile4": ReadWhole, "closefile4": Close,
    "openfile5": Open, "readfile5": ReadWhole, "closefile5": Close,
    "openfile6": Open, "readfile6": ReadWhole, "closefile6": Close,
    "openfile7": Open, "readfile7": ReadWhole, "closefile7": Close,
    "openfile8": Open, "readfile8": ReadWhole, "closefile8": Close,
    "openfile9": Open, "readfile9": ReadWhole, "closefile9": Close,
    "openfile10": Open, "readfile10": ReadWhole, "closefile10": Close,
    "appendlog": AppendLog,
};

/// Operations of a mail server thread.
pub const VARMAIL: &[Flow] = program! {
    "deletefile1": Delete,
    "createfile2": Create, "appendfilerand2": Append, "fsyncfile2": Fsync, "closefile2": Close,
    "openfile3": Open, "readfile3": ReadWhole, "appendfilerand3": Append, "fsyncfile3": Fsync, "closefile3": Close,
    "openfile4": Open, "readfile4": ReadWhole, "closefile4": Close,
};

/// Operations of a reader of the database.
pub const SHADOW: &[Flow] = program! { "shadowread": ReadRandom, "shadow-post": Post, };
/// Operations of one of a database writer's asynchronous writes.
pub const DATABASE_WRITER: &[Flow] = program! { "dbwrite-a": WriteRandom, "dbwr-aiowait": Await, };
/// Operations of the writer of the database's log.
pub const LOG_WRITER: &[Flow] = program! { "lg-write": WriteLog, "lg-aiowait": Await, };

/// Asynchronous writes of a database writer between two waits.
pub const WRITES_A_ROUND: u32 = 100;
/// Transactions that a database writer waits for.
pub const TRANSACTIONS_A_ROUND: u64 = 1_000;
/// Transactions that the log writer waits for.
pub const TRANSACTIONS_A_LOG_WRITE: u64 = 3_200;
/// Bytes of a write to the log.
pub const LOG_WRITE_BYTES: u64 = 256 * KIB;

/// Parameters of a published personality.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Files of the file set.
    pub files: u32,
    /// Mean file size.
    pub file_bytes: u64,
    /// Shape of the gamma distribution of file sizes; 0 for all the same.
    pub shape: f64,
    /// Files per directory.
    pub directory_width: u32,
    /// Share of the files that exist at the start.
    pub preallocated: f64,
    /// Number of threads; for the database, of its readers.
    pub threads: u32,
    /// Bytes of a read or write call.
    pub io_bytes: u64,
    /// Size of the log, if the personality has one.
    pub log_bytes: Option<u64>,
}

impl Personality {
    /// The published defaults. A gamma shape of 1.5 is Filebench's own default.
    pub const fn figures(self) -> Figures {
        let ordinary = Figures {
            files: 1_000,
            file_bytes: 16 * KIB,
            shape: 1.5,
            directory_width: 20,
            preallocated: 0.8,
            threads: 16,
            io_bytes: MIB,
            log_bytes: None,
        };
        match self {
            Self::Fileserver => Figures { files: 10_000, file_bytes: 128 * KIB, threads: 50, ..ordinary },
            Self::Webserver => Figures { preallocated: 1.0, threads: 100, log_bytes: Some(16 * KIB), ..ordinary },
            Self::Varmail => Figures { directory_width: 1_000_000, ..ordinary },
            Self::Oltp => Figures {
                files: 10,
                file_bytes: 10 * MIB,
                shape: 0.0,
                directory_width: 1_024,
                preallocated: 1.0,
                threads: 200,
                io_bytes: 2 * KIB,
                log_bytes: Some(10 * MIB),
            },
        }
    }

    /// Operations of the personality's first kind of thread.
    pub const fn program(self) -> &'static [Flow] {
        match self {
            Self::Fileserver => FILESERVER,
            Self::Webserver => WEBSERVER,
            Self::Varmail => VARMAIL,
            Self::Oltp => SHADOW,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(flows: &[Flow]) -> String {
        flows.iter().map(|flow| flow.name.trim_end_matches(char::is_numeric)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_thread_does_what_the_published_personality_says_in_its_order() {
        assert_eq!(
            names(FILESERVER),
            "createfile wrtfile closefile openfile appendfilerand closefile openfile readfile closefile deletefile \
             statfile"
        );
        assert_eq!(names(WEBSERVER), "openfile readfile closefile ".repeat(10) + "appendlog");
        assert_eq!(
            names(VARMAIL),
            "deletefile createfile appendfilerand fsyncfile closefile openfile readfile appendfilerand fsyncfile \
             closefile openfile readfile closefile"
        );
        assert_eq!(names(SHADOW), "shadowread shadow-post");
        assert_eq!(names(DATABASE_WRITER), "dbwrite-a dbwr-aiowait");
        assert_eq!(names(LOG_WRITER), "lg-write lg-aiowait");
    }
}
