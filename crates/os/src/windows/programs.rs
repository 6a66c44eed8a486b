//! Other programs of this user.

use std::ffi::OsString;
use std::io;
use std::os::windows::ffi::OsStringExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::{Path, PathBuf};

use windows_sys::Win32::Foundation::{HANDLE, HMODULE, WAIT_OBJECT_0};
use windows_sys::Win32::System::ProcessStatus::{
    K32EnumProcessModules, K32EnumProcesses, K32GetModuleFileNameExW,
};
use windows_sys::Win32::System::Threading::{
    OpenProcess, PROCESS_CREATE_THREAD, PROCESS_QUERY_INFORMATION, PROCESS_SYNCHRONIZE,
    PROCESS_VM_OPERATION, PROCESS_VM_READ, PROCESS_VM_WRITE, WaitForSingleObject,
};

/// The most programs, and the most libraries of one, that are looked at.
const MOST: usize = 4096;
/// The most letters of a path.
const LONGEST_PATH: usize = 32 << 10;

/// Returns the numbers of all processes, in order.
#[must_use]
pub fn ids() -> Vec<u32> {
    let mut ids = vec![0_u32; MOST];
    let mut bytes = 0;
    // SAFETY: there is room for as many bytes as the call is told.
    let listed = unsafe {
        K32EnumProcesses(
            ids.as_mut_ptr(),
            size_of_val(&ids[..]) as u32,
            &raw mut bytes,
        )
    };
    ids.truncate(if listed == 0 {
        0
    } else {
        bytes as usize / size_of::<u32>()
    });
    ids.sort_unstable();
    ids
}

/// A program that this user may look at and attach to.
pub struct Program(OwnedHandle);

impl Program {
    /// Opens it.
    ///
    /// # Errors
    /// If there is none of this number, or it is another user's.
    pub fn open(id: u32) -> io::Result<Program> {
        let rights = PROCESS_CREATE_THREAD
            | PROCESS_QUERY_INFORMATION
            | PROCESS_SYNCHRONIZE
            | PROCESS_VM_OPERATION
            | PROCESS_VM_READ
            | PROCESS_VM_WRITE;
        // SAFETY: takes numbers.
        let handle = unsafe { OpenProcess(rights, 0, id) };
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the handle was just opened, and nothing else closes it.
        Ok(Program(unsafe { OwnedHandle::from_raw_handle(handle) }))
    }

    pub(super) fn handle(&self) -> HANDLE {
        self.0.as_raw_handle()
    }

    /// Returns `true` if it has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        // SAFETY: the handle is open.
        unsafe { WaitForSingleObject(self.handle(), 0) == WAIT_OBJECT_0 }
    }

    /// Returns the files that it is made of: its executable, and the libraries that it has loaded.
    #[must_use]
    pub fn libraries(&self) -> Vec<PathBuf> {
        let modules = self.modules().into_iter();
        modules.filter_map(|module| self.path_of(module)).collect()
    }

    fn modules(&self) -> Vec<HMODULE> {
        let mut modules: Vec<HMODULE> = vec![std::ptr::null_mut(); MOST];
        let mut bytes = 0;
        // SAFETY: the handle is open, and there is room for as many bytes as the call is told.
        let listed = unsafe {
            K32EnumProcessModules(
                self.handle(),
                modules.as_mut_ptr(),
                size_of_val(&modules[..]) as u32,
                &raw mut bytes,
            )
        };
        let count = if listed == 0 {
            0
        } else {
            bytes as usize / size_of::<HMODULE>()
        };
        modules.truncate(count);
        modules
    }

    fn path_of(&self, module: HMODULE) -> Option<PathBuf> {
        let mut path = vec![0_u16; LONGEST_PATH];
        // SAFETY: the handle is open, and there is room for as many letters as the call is told.
        let length = unsafe {
            K32GetModuleFileNameExW(
                self.handle(),
                module,
                path.as_mut_ptr(),
                LONGEST_PATH as u32,
            )
        };
        path.truncate(length as usize);
        (length > 0).then(|| OsString::from_wide(&path).into())
    }

    /// Returns where it has loaded a library.
    pub(super) fn address_of(&self, library: &Path) -> Option<usize> {
        let mut modules = self.modules().into_iter();
        let module = modules.find(|&module| self.path_of(module).as_deref() == Some(library));
        module.map(|module| module as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_found_with_its_libraries() {
        let id = std::process::id();
        assert!(ids().contains(&id));
        let program = Program::open(id).expect("this program");
        assert!(!program.has_ended());
        let libraries = program.libraries();
        let this = std::env::current_exe().expect("a path");
        assert_eq!(
            libraries.first().and_then(|path| path.file_name()),
            this.file_name()
        );
        let is_system = |path: &PathBuf| {
            path.file_name()
                .is_some_and(|name| name.eq_ignore_ascii_case("kernel32.dll"))
        };
        assert!(libraries.iter().any(is_system), "{libraries:?}");
    }
}
