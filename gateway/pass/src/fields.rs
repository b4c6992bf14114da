//! Writes and reads the fields of cookies and codes. A field is a number, or a known count of
//! bytes.

/// The value ends before its fields do, or a number has more than 64 bits.
#[derive(Debug)]
pub(crate) struct BrokenField;

/// Appends a number as LEB128: 7 bits in each byte, the lowest bits first.
pub(crate) fn push_number(fields: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        fields.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    fields.push(number as u8);
}

/// Reads a number that [`push_number`] wrote.
pub(crate) fn take_number(rest: &mut &[u8]) -> Result<u64, BrokenField> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let [byte] = *take::<1>(rest)?;
        // Of the tenth byte, only one bit fits into the number.
        if shift == 63 && byte > 1 {
            return Err(BrokenField);
        }
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(BrokenField)
}

/// Reads the next `N` bytes.
pub(crate) fn take<'b, const N: usize>(rest: &mut &'b [u8]) -> Result<&'b [u8; N], BrokenField> {
    let (first, after) = rest.split_first_chunk().ok_or(BrokenField)?;
    *rest = after;
    Ok(first)
}
