//! Numbers as LEB128, as parameters carry lists of them.

/// Takes an unsigned number of at most 64 bits from the front. Fails in words.
pub fn take(rest: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first().ok_or("ends in the middle of a number")?;
        *rest = after;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            break;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("has a number of more than 64 bits".to_owned())
}
