//! The lines of the protocol, each a message: one that is none is answered here, because the SDK passes over it.

use std::io;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader,
    DuplexStream, duplex,
};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// The most bytes of a line.
const LONGEST: usize = 4 << 20;
/// The bytes that are on their way to the SDK, and from it.
const BUFFER: usize = 64 << 10;
/// The errors of JSON-RPC.
const NO_JSON: i32 = -32_700;
const NO_MESSAGE: i32 = -32_600;

/// The ends that the SDK reads from and writes to.
pub struct Lines {
    pub incoming: DuplexStream,
    pub outgoing: DuplexStream,
    /// Ends when all that the SDK has written is with the client.
    pub written: JoinHandle<io::Result<()>>,
}

/// The client's end; a line is written whole.
type Client<W> = Arc<Mutex<W>>;

impl Lines {
    /// Starts to pass lines on, on tasks of this runtime.
    pub fn between<R, W>(input: R, output: W) -> Lines
    where
        R: AsyncReadExt + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let client = Arc::new(Mutex::new(output));
        let (to_sdk, incoming) = duplex(BUFFER);
        let (outgoing, from_sdk) = duplex(BUFFER);
        tokio::spawn(pass_in(BufReader::new(input), to_sdk, Arc::clone(&client)));
        let written = tokio::spawn(pass_out(BufReader::new(from_sdk), client));
        Lines {
            incoming,
            outgoing,
            written,
        }
    }
}

/// Passes the messages on to the SDK; answers other lines.
async fn pass_in<R, W>(mut input: R, mut to_sdk: DuplexStream, client: Client<W>) -> io::Result<()>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut line = Vec::new();
    while let Some(is_whole) = next_line(&mut input, &mut line).await? {
        match refusal(&line, is_whole) {
            None => to_sdk.write_all(&line).await?,
            Some(answer) => write_line(&client, answer.to_string().as_bytes()).await?,
        }
    }
    Ok(())
}

async fn pass_out<R, W>(mut from_sdk: R, client: Client<W>) -> io::Result<()>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut line = Vec::new();
    while from_sdk.read_until(b'\n', &mut line).await? > 0 {
        write_line(&client, line.trim_ascii_end()).await?;
        line.clear();
    }
    Ok(())
}

/// Reads the next line with its end; returns `false` for one that is too long, of which only the beginning is taken, and
/// `None` at the end.
async fn next_line<R: AsyncBufRead + Unpin>(
    input: &mut R,
    line: &mut Vec<u8>,
) -> io::Result<Option<bool>> {
    line.clear();
    let most = LONGEST as u64;
    if (&mut *input).take(most).read_until(b'\n', line).await? == 0 {
        return Ok(None);
    }
    if line.ends_with(b"\n") || line.len() < LONGEST {
        return Ok(Some(true));
    }
    let mut rest = Vec::new();
    while !rest.ends_with(b"\n") {
        rest.clear();
        if (&mut *input)
            .take(most)
            .read_until(b'\n', &mut rest)
            .await?
            == 0
        {
            break;
        }
    }
    Ok(Some(false))
}

/// Returns the answer to a line that is no message of JSON-RPC.
fn refusal(line: &[u8], is_whole: bool) -> Option<Value> {
    let (code, message) = if !is_whole {
        (
            NO_JSON,
            format!("Parse error: a line has at most {LONGEST} bytes"),
        )
    } else if line.trim_ascii().is_empty() {
        return None;
    } else {
        match serde_json::from_slice::<Value>(line) {
            Err(error) => (NO_JSON, format!("Parse error: {error}")),
            Ok(message) if is_message(&message) => return None,
            Ok(_) => (NO_MESSAGE, "Invalid Request".to_owned()),
        }
    };
    Some(json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}}))
}

fn is_message(value: &Value) -> bool {
    let is_answer = || value.get("result").is_some() || value.get("error").is_some();
    value["jsonrpc"] == "2.0" && (value["method"].is_string() || is_answer())
}

async fn write_line<W: AsyncWrite + Unpin>(client: &Client<W>, line: &[u8]) -> io::Result<()> {
    let mut client = client.lock().await;
    client.write_all(line).await?;
    client.write_all(b"\n").await?;
    client.flush().await
}
