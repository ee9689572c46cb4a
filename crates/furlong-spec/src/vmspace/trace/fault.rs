//! Faults of traces, and their messages.

use std::io;

use crate::fault::{Located, faults};

/// The reason that the rest of a file has no events.
pub type TraceError = Located<Fault>;

faults! {
    /// A fault of a file.
    #[derive(Debug)]
    pub enum Fault {
        /// The file cannot be opened or read.
        Open(error: io::Error) => "cannot be read: {error}";
        /// The file is a directory.
        Directory => "is a directory; name a trace";
        /// The file is compressed, and the rest cannot be decompressed.
        Unpack(error: io::Error) => "cannot be unpacked any further: {error}";
        /// The file has too many lines.
        Large {
            /// The maximum number of lines.
            lines: u32,
        } => "there are more than {lines} lines; cut the trace";
        /// The first line is not that of a trace.
        Heading {
            /// Beginning of the first line.
            found: String,
        } => "`{found}`: a trace begins with `# vmtrace 1`";
        /// The file has no events.
        Empty => "holds no event";
        /// The file is not text.
        NotText => "is no text; a trace is text, or text packed with zstd";
        /// The last line has no end, because the file was cut off.
        CutOff => "the line has no end; the file was cut off here";
        /// An operation is unknown.
        Unknown {
            /// Beginning of the word.
            word: String,
        } => "`{word}` is no operation; they are x i m u p b r f c e";
        /// A field is missing.
        Missing {
            /// Name of the field.
            field: &'static str,
        } => "the {field} is missing";
        /// A line continues after its last field.
        More {
            /// Beginning of the first extra word.
            word: String,
        } => "`{word}` is behind the last field";
        /// A word is not valid in its field.
        Field {
            /// Name of the field.
            field: &'static str,
            /// Beginning of the word.
            word: String,
        } => "`{word}` is no {field}";
        /// An event is earlier than the one before it.
        Order {
            /// Its time.
            at_us: u64,
            /// Time of the event before it.
            before_us: u64,
        } => "{at_us} us is earlier than {before_us} us in the line before; keep the order of \
            time";
    }
}
