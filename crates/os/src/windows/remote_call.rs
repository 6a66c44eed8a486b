//! A call in another program.

use std::ffi::CStr;
use std::io;
use std::mem::offset_of;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::Path;
use std::ptr;
use std::time::Duration;

use windows_sys::Win32::Foundation::{FreeLibrary, WAIT_OBJECT_0};
use windows_sys::Win32::System::Diagnostics::Debug::{FlushInstructionCache, WriteProcessMemory};
use windows_sys::Win32::System::LibraryLoader::{
    DONT_RESOLVE_DLL_REFERENCES, GetProcAddress, LoadLibraryExW,
};
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_EXECUTE_READ, PAGE_READWRITE, VirtualAllocEx,
    VirtualFreeEx, VirtualProtectEx,
};
use windows_sys::Win32::System::Threading::{
    CreateRemoteThread, GetExitCodeThread, LPTHREAD_START_ROUTINE, WaitForSingleObject,
};

use super::files;
use super::programs::Program;

/// What the code is given: addresses in the other program.
#[repr(C)]
#[derive(Clone, Copy)]
struct Arguments {
    function: usize,
    texts: [usize; 5],
}

/// Calls a function with five arguments, as Windows passes them on x86_64: `rcx` has the address of [`Arguments`].
const CODE: [u8; 32] = [
    0x48, 0x83, 0xEC, 0x38, // sub rsp, 0x38: room for the arguments, and the stack aligned
    0x48, 0x89, 0xC8, // mov rax, rcx
    0x48, 0x8B, 0x48, 0x08, // mov rcx, [rax + 8]
    0x48, 0x8B, 0x50, 0x10, // mov rdx, [rax + 0x10]
    0x4C, 0x8B, 0x40, 0x18, // mov r8, [rax + 0x18]
    0x4C, 0x8B, 0x48, 0x20, // mov r9, [rax + 0x20]
    0x4C, 0x8B, 0x50, 0x28, // mov r10, [rax + 0x28]
    0x4C, 0x89, 0x54, 0x24, 0x20, // mov [rsp + 0x20], r10
];
/// Its end.
const CALL_AND_RETURN: [u8; 7] = [
    0xFF, 0x10, // call [rax]
    0x48, 0x83, 0xC4, 0x38, // add rsp, 0x38
    0xC3, // ret
];
const _: () = assert!(offset_of!(Arguments, function) == 0 && offset_of!(Arguments, texts) == 8);

/// A call that a thread of another program makes.
pub struct Call<'a> {
    thread: OwnedHandle,
    /// Given back once the thread has ended.
    memory: Option<[Memory<'a>; 2]>,
}

impl<'a> Call<'a> {
    /// Begins to call a function of one of a program's libraries, in a thread of its own, with five texts.
    ///
    /// # Errors
    /// If it has not loaded the library, if that has no such function, and if the system refuses the thread.
    pub fn begin(
        program: &'a Program,
        library: &Path,
        function: &CStr,
        texts: [&CStr; 5],
    ) -> io::Result<Call<'a>> {
        if !cfg!(target_arch = "x86_64") {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let base = program.address_of(library).ok_or(io::ErrorKind::NotFound)?;
        let function = base + offset_in(library, function)?;
        let mut at = size_of::<Arguments>();
        let places = texts.map(|text| {
            let place = at;
            at += text.to_bytes_with_nul().len();
            place
        });
        let data = Memory::allocate(program, at)?;
        let arguments = Arguments {
            function,
            texts: places.map(|place| data.address + place),
        };
        let mut words = Vec::from(arguments.function.to_le_bytes());
        words.extend(arguments.texts.iter().flat_map(|text| text.to_le_bytes()));
        texts
            .iter()
            .for_each(|text| words.extend(text.to_bytes_with_nul()));
        data.write(&words)?;
        let code = Memory::allocate(program, CODE.len() + CALL_AND_RETURN.len())?;
        code.write(&[&CODE[..], &CALL_AND_RETURN].concat())?;
        code.make_executable()?;
        // SAFETY: only the address counts, and what is there, in the other program, was written just now for this: it takes the
        // address of `Arguments`, and returns a number in eax.
        let start: LPTHREAD_START_ROUTINE = unsafe { std::mem::transmute(code.address) };
        // SAFETY: the handle is open; the code and the data stay there until the thread has ended.
        let thread = unsafe {
            CreateRemoteThread(
                program.handle(),
                ptr::null(),
                0,
                start,
                data.address as *const _,
                0,
                ptr::null_mut(),
            )
        };
        if thread.is_null() {
            return Err(io::Error::last_os_error());
        }
        Ok(Call {
            // SAFETY: the handle was just opened, and nothing else closes it.
            thread: unsafe { OwnedHandle::from_raw_handle(thread) },
            memory: Some([data, code]),
        })
    }

    /// Waits so long for its end; returns what the function returned, `None` if it has not ended.
    pub fn wait(&self, longest: Duration) -> Option<u32> {
        let longest = u32::try_from(longest.as_millis()).unwrap_or(u32::MAX - 1);
        let mut code = 0;
        // SAFETY: the handle is open, and the place is that of a number.
        let has_ended = unsafe {
            WaitForSingleObject(self.thread.as_raw_handle(), longest) == WAIT_OBJECT_0
                && GetExitCodeThread(self.thread.as_raw_handle(), &raw mut code) != 0
        };
        has_ended.then_some(code)
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if self.wait(Duration::ZERO).is_none() {
            // The thread still runs there.
            for memory in self.memory.take().into_iter().flatten() {
                memory.leave();
            }
        }
    }
}

/// Returns where a library has a function, from the library's beginning on.
fn offset_in(library: &Path, function: &CStr) -> io::Result<usize> {
    // SAFETY: the path ends with 0. The library is only mapped: none of its code runs, and so it need not be one that can.
    unsafe {
        let path = files::wide(library);
        let module = LoadLibraryExW(path.as_ptr(), ptr::null_mut(), DONT_RESOLVE_DLL_REFERENCES);
        if module.is_null() {
            return Err(io::Error::last_os_error());
        }
        let address = GetProcAddress(module, function.as_ptr().cast());
        let offset = address.map(|address| address as usize - module as usize);
        let error = io::Error::last_os_error();
        FreeLibrary(module);
        offset.ok_or(error)
    }
}

/// Memory of another program, which is given back on drop.
struct Memory<'a> {
    program: &'a Program,
    address: usize,
    length: usize,
}

impl<'a> Memory<'a> {
    fn allocate(program: &'a Program, length: usize) -> io::Result<Memory<'a>> {
        // SAFETY: the handle is open; the system chooses the place.
        let address = unsafe {
            VirtualAllocEx(
                program.handle(),
                ptr::null(),
                length,
                MEM_COMMIT | MEM_RESERVE,
                PAGE_READWRITE,
            )
        };
        match address.is_null() {
            true => Err(io::Error::last_os_error()),
            false => Ok(Memory {
                program,
                address: address as usize,
                length,
            }),
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let length = bytes.len().min(self.length);
        // SAFETY: the memory there is ours and has that length, and `bytes` has it, too.
        let written = unsafe {
            let (to, from) = (self.address as *const _, bytes.as_ptr().cast());
            WriteProcessMemory(self.program.handle(), to, from, length, ptr::null_mut())
        };
        match written {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// It cannot be written to any more.
    fn make_executable(&self) -> io::Result<()> {
        let mut before = 0;
        // SAFETY: the memory there is ours; the place is that of a number.
        let made = unsafe {
            let address = self.address as *const _;
            VirtualProtectEx(
                self.program.handle(),
                address,
                self.length,
                PAGE_EXECUTE_READ,
                &raw mut before,
            ) != 0
                && FlushInstructionCache(self.program.handle(), address, self.length) != 0
        };
        match made {
            true => Ok(()),
            false => Err(io::Error::last_os_error()),
        }
    }

    /// It stays as long as the program runs.
    fn leave(self) {
        std::mem::forget(self);
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        // SAFETY: the memory is ours, and no thread uses it. That the program has ended is an error without an effect.
        unsafe {
            VirtualFreeEx(
                self.program.handle(),
                self.address as *mut _,
                0,
                MEM_RELEASE,
            )
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_a_library_lacks_is_an_error() {
        let library = system_library();
        assert!(offset_in(&library, c"NoSuchFunctionAtAll").is_err());
        assert!(offset_in(&library, c"GetCurrentProcessId").is_ok());
    }

    #[test]
    fn a_thread_of_the_program_makes_the_call_and_tells_its_outcome() {
        let program = Program::open(std::process::id()).expect("this program");
        let texts = [c"a", c"b", c"c", c"d", c"e"];
        let call = Call::begin(&program, &system_library(), c"GetCurrentProcessId", texts);
        let call = call.expect("a thread");
        assert_eq!(call.wait(Duration::from_secs(60)), Some(std::process::id()));
        // The first text is an argument that arrives: strlen in another register would not.
        let library = library("msvcrt.dll");
        let call = Call::begin(&program, &library, c"strlen", [c"four", c"", c"", c"", c""]);
        assert_eq!(
            call.expect("a thread").wait(Duration::from_secs(60)),
            Some(4)
        );
    }

    fn system_library() -> std::path::PathBuf {
        library("kernel32.dll")
    }

    fn library(name: &str) -> std::path::PathBuf {
        let program = Program::open(std::process::id()).expect("this program");
        let mut libraries = program.libraries().into_iter();
        let found = libraries.find(|path| {
            path.file_name()
                .is_some_and(|file| file.eq_ignore_ascii_case(name))
        });
        found.expect("every program has it")
    }
}
