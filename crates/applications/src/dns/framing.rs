//! Messages in a stream, each after its length (RFC 1035 section 4.2.2).

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The next message; absent where the stream ends before it.
pub async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 2];
    match stream.read(&mut length[..1]).await {
        Ok(0) => return Ok(None),
        // TLS that ends without saying so; the message before was whole.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Ok(_) => stream.read_exact(&mut length[1..]).await?,
        Err(error) => return Err(error),
    };
    let mut message = vec![0; u16::from_be_bytes(length).into()];
    stream.read_exact(&mut message).await?;
    Ok(Some(message))
}

/// Writes a message and its length at once (RFC 7766 section 8).
pub async fn write(stream: &mut (impl AsyncWrite + Unpin), message: &[u8]) -> io::Result<()> {
    let length = u16::try_from(message.len()).map_err(io::Error::other)?;
    let mut framed = length.to_be_bytes().to_vec();
    framed.extend_from_slice(message);
    stream.write_all(&framed).await?;
    stream.flush().await
}
