//! Reads a server's WebSocket frames from a stream of bytes. A server does not mask its frames.

/// The kinds of frames that fans distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FanFrame<'a> {
    /// A `line` frame, with its text.
    Line(&'a str),
    /// A picture of the seats, or changes of a picture.
    Seats,
    /// A ping, with what the answer must repeat.
    Ping(&'a [u8]),
    /// The server closes the socket, for this reason.
    Close(&'a str),
    /// Any other frame.
    Other,
}

/// Takes the first whole frame off `bytes`. Returns `None` and leaves `bytes` as they are if there
/// is no whole frame.
pub fn next_frame<'a>(bytes: &mut &'a [u8]) -> Option<FanFrame<'a>> {
    let (head, rest) = bytes.split_first_chunk::<2>()?;
    let (len, rest) = match head[1] {
        126 => {
            let (len, rest) = rest.split_first_chunk::<2>()?;
            (usize::from(u16::from_be_bytes(*len)), rest)
        }
        127 => {
            let (len, rest) = rest.split_first_chunk::<8>()?;
            (usize::try_from(u64::from_be_bytes(*len)).ok()?, rest)
        }
        len => (usize::from(len), rest),
    };
    let (payload, rest) = rest.split_at_checked(len)?;
    *bytes = rest;
    Some(match head[0] & 0x0f {
        1 => match std::str::from_utf8(payload) {
            Ok(text) if text.starts_with(r#"{"type":"line""#) => FanFrame::Line(text),
            _ => FanFrame::Other,
        },
        2 => FanFrame::Seats,
        8 => {
            let reason = payload.get(2..).unwrap_or_default();
            FanFrame::Close(std::str::from_utf8(reason).unwrap_or_default())
        }
        9 => FanFrame::Ping(payload),
        _ => FanFrame::Other,
    })
}

/// Builds a client's frame. Its mask is zero, which the standard allows.
pub fn client_frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let len = u8::try_from(payload.len()).expect("fans send short frames");
    assert!(len < 126, "fans send short frames");
    let head = [0x80 | opcode, 0x80 | len, 0, 0, 0, 0];
    [&head[..], payload].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_one_after_the_other_and_a_part_waits() {
        let line = r#"{"type":"line","joined":1}"#;
        let mut bytes = vec![0x81, 26];
        bytes.extend(line.as_bytes());
        bytes.extend([0x89, 2, 7, 8, 0x82, 126, 0, 200]);
        bytes.extend([1; 200]);
        bytes.extend([0x88, 2, 3]);
        let mut rest = bytes.as_slice();
        assert_eq!(next_frame(&mut rest), Some(FanFrame::Line(line)));
        assert_eq!(next_frame(&mut rest), Some(FanFrame::Ping(&[7, 8])));
        assert_eq!(next_frame(&mut rest), Some(FanFrame::Seats));
        assert_eq!((next_frame(&mut rest), rest.len()), (None, 3));
        assert_eq!(client_frame(10, &[7]), [0x8a, 0x81, 0, 0, 0, 0, 7]);
    }
}
