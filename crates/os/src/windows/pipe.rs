//! A pipe into which another program writes its answer.

use std::fs::File;
use std::io::{self, Read};
use std::os::windows::io::{AsRawHandle, FromRawHandle};
use std::path::Path;
use std::ptr;

use windows_sys::Win32::Foundation::{ERROR_NO_DATA, ERROR_PIPE_CONNECTED, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Storage::FileSystem::{FILE_FLAG_FIRST_PIPE_INSTANCE, PIPE_ACCESS_INBOUND};
use windows_sys::Win32::System::Pipes::{
    ConnectNamedPipe, CreateNamedPipeW, PIPE_READMODE_BYTE, PIPE_REJECT_REMOTE_CLIENTS,
    PIPE_TYPE_BYTE, PIPE_WAIT,
};

use super::{files, security};

/// The bytes that the system keeps for a reader.
const BUFFER: u32 = 4096;

/// A pipe that one program of this user, on this machine, may open for writing.
pub struct AnswerPipe(File);

impl AnswerPipe {
    /// Creates one.
    ///
    /// # Errors
    /// If there is one of this name, whoever made it.
    pub fn create(name: &str) -> io::Result<AnswerPipe> {
        let rights = security::OwnerAlone::new()?;
        let attributes = rights.attributes();
        // SAFETY: the name ends with 0, and the attributes and what they point to live until the call returns.
        let handle = unsafe {
            CreateNamedPipeW(
                files::wide(Path::new(name)).as_ptr(),
                PIPE_ACCESS_INBOUND | FILE_FLAG_FIRST_PIPE_INSTANCE,
                PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS,
                1,
                0,
                BUFFER,
                0,
                &raw const attributes,
            )
        };
        if handle == INVALID_HANDLE_VALUE {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the handle was just opened, and nothing else closes it.
        Ok(AnswerPipe(unsafe { File::from_raw_handle(handle) }))
    }

    /// Waits for the program, without a limit, and reads what it writes, up to so many bytes.
    ///
    /// # Errors
    /// If the connection breaks. That the program closes it is its end.
    pub fn read(mut self, longest: u64) -> io::Result<Vec<u8>> {
        // SAFETY: the handle is that of a pipe, and open; the call waits, so that it needs no place for its outcome.
        let connected = unsafe { ConnectNamedPipe(self.0.as_raw_handle(), ptr::null_mut()) };
        if connected == 0 {
            let error = io::Error::last_os_error();
            // The program has opened the pipe already, or has even written its answer and closed it.
            let is_there = [ERROR_PIPE_CONNECTED, ERROR_NO_DATA].map(u32::cast_signed);
            if !error
                .raw_os_error()
                .is_some_and(|code| is_there.contains(&code))
            {
                return Err(error);
            }
        }
        let mut said = Vec::new();
        (&mut self.0).take(longest).read_to_end(&mut said)?;
        Ok(said)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::thread;

    use super::*;

    #[test]
    fn what_is_written_is_read_up_to_the_most() {
        for (longest, expected) in [(100, "an answer"), (2, "an")] {
            let name = format!(r"\\.\pipe\hprof-test-{}-{longest}", std::process::id());
            let pipe = AnswerPipe::create(&name).expect("a pipe");
            assert!(AnswerPipe::create(&name).is_err(), "the name is taken");
            let reader = thread::spawn(move || pipe.read(longest));
            let mut writer = File::options().write(true).open(&name).expect("a pipe");
            writer.write_all(b"an answer").expect("room");
            drop(writer);
            let said = reader.join().expect("no panic").expect("an answer");
            assert_eq!(String::from_utf8_lossy(&said), expected);
        }
    }

    #[test]
    fn what_was_written_before_anybody_waited_is_read() {
        let name = format!(r"\\.\pipe\hprof-test-{}-early", std::process::id());
        let pipe = AnswerPipe::create(&name).expect("a pipe");
        let mut writer = File::options().write(true).open(&name).expect("a pipe");
        writer.write_all(b"an answer").expect("room");
        drop(writer);
        assert_eq!(pipe.read(100).expect("an answer"), b"an answer");
    }
}
