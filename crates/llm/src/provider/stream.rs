//! Server-sent events: the lines in which providers stream their answers, read from any reader with limits.

use std::io::{BufRead, ErrorKind, Read};

/// Bytes of a line, and of a whole stream, at most.
const LONGEST_LINE: usize = 1 << 20;
const LONGEST_STREAM: usize = 8 << 20;

/// How reading a stream failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Nothing came for too long.
    Silent,
    /// The connection ended badly.
    Reset,
    /// More than any answer has.
    TooLong,
}

/// The data of the events of a stream, one after the other.
pub struct Events<R> {
    reader: R,
    read: usize,
}

impl<R: BufRead> Events<R> {
    /// The events that a reader holds.
    pub fn new(reader: R) -> Events<R> {
        Events { reader, read: 0 }
    }

    /// The data of the next event; none at the end.
    pub fn next_data(&mut self) -> Result<Option<String>, Broken> {
        loop {
            let mut line = Vec::new();
            let mut limited = self.reader.by_ref().take(LONGEST_LINE as u64 + 1);
            let count = limited
                .read_until(b'\n', &mut line)
                .map_err(|error| broken(&error))?;
            if count == 0 {
                return Ok(None);
            }
            self.read += count;
            if count > LONGEST_LINE || self.read > LONGEST_STREAM {
                return Err(Broken::TooLong);
            }
            let line = String::from_utf8_lossy(&line);
            if let Some(data) = line.trim_end().strip_prefix("data:") {
                return Ok(Some(data.trim_start().to_owned()));
            }
        }
    }
}

/// Everything a reader holds, up to the limit of a stream.
pub fn whole(reader: &mut dyn Read) -> Result<Vec<u8>, Broken> {
    let mut bytes = Vec::new();
    let limited = reader
        .take(LONGEST_STREAM as u64 + 1)
        .read_to_end(&mut bytes);
    limited.map_err(|error| broken(&error))?;
    match bytes.len() > LONGEST_STREAM {
        true => Err(Broken::TooLong),
        false => Ok(bytes),
    }
}

fn broken(error: &std::io::Error) -> Broken {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Broken::Silent,
        // Clients wrap their own timeouts.
        _ if error.to_string().contains("timeout") => Broken::Silent,
        _ => Broken::Reset,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_between_comments_and_names() {
        let text = ": hello\nevent: delta\ndata: {\"a\":1}\n\ndata:{\"b\":2}\r\n\r\ndata: [DONE]";
        let mut events = Events::new(text.as_bytes());
        let mut all = Vec::new();
        while let Some(data) = events.next_data().unwrap() {
            all.push(data);
        }
        assert_eq!(all, ["{\"a\":1}", "{\"b\":2}", "[DONE]"]);
    }

    #[test]
    fn a_line_without_end_is_given_up() {
        let endless = std::io::BufReader::new(std::io::repeat(b'x'));
        assert_eq!(Events::new(endless).next_data(), Err(Broken::TooLong));
        assert_eq!(whole(&mut std::io::repeat(b'x')), Err(Broken::TooLong));
    }
}
