//! The owner of a file, and who may do what with it.

use std::fs::File;
use std::io;
use std::os::windows::io::AsRawHandle;
use std::ptr;

use windows_sys::Win32::Foundation::{
    CloseHandle, ERROR_INVALID_FUNCTION, ERROR_NOT_SUPPORTED, ERROR_SUCCESS, HANDLE, LocalFree,
};
use windows_sys::Win32::Security::Authorization::{
    ConvertSidToStringSidW, ConvertStringSecurityDescriptorToSecurityDescriptorW, GetSecurityInfo,
    SDDL_REVISION_1, SE_FILE_OBJECT, SetSecurityInfo,
};
use windows_sys::Win32::Security::{
    ACL, DACL_SECURITY_INFORMATION, EqualSid, GetSecurityDescriptorDacl, GetTokenInformation,
    OWNER_SECURITY_INFORMATION, PROTECTED_DACL_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, PSID,
    SECURITY_ATTRIBUTES, TOKEN_INFORMATION_CLASS, TOKEN_OWNER, TOKEN_QUERY, TOKEN_USER, TokenOwner,
    TokenUser,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

/// Memory that the system has allocated.
struct Allocated(*mut core::ffi::c_void);

impl Drop for Allocated {
    fn drop(&mut self) {
        // SAFETY: the function that allocated it requires LocalFree, and nothing else frees it.
        unsafe { LocalFree(self.0) };
    }
}

/// What the system knows of this process's user, in words of its own so that what they point to stays in place.
struct Known(Vec<u64>);

impl Known {
    /// Asks for it.
    fn of(what: TOKEN_INFORMATION_CLASS) -> io::Result<Known> {
        let mut token: HANDLE = ptr::null_mut();
        // SAFETY: the place is that of a handle.
        if unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) } == 0 {
            return Err(io::Error::last_os_error());
        }
        // A name of a user has at most 68 bytes, after a pointer to it.
        let mut words = vec![0_u64; 32];
        let mut length = 0;
        // SAFETY: the token is open, and `words` has as many bytes as the call is told; the token is closed once.
        let known = unsafe {
            let room = u32::try_from(words.len() * 8).unwrap_or_default();
            let place = words.as_mut_ptr().cast();
            let known = GetTokenInformation(token, what, place, room, &raw mut length);
            CloseHandle(token);
            known
        };
        match known {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(Known(words)),
        }
    }

    /// The user.
    fn user(&self) -> PSID {
        // SAFETY: what was asked for begins with a `TOKEN_USER`, and the words are aligned for it.
        unsafe { (*self.0.as_ptr().cast::<TOKEN_USER>()).User.Sid }
    }

    /// The owner of new files.
    fn owner(&self) -> PSID {
        // SAFETY: as above, with a `TOKEN_OWNER`.
        unsafe { (*self.0.as_ptr().cast::<TOKEN_OWNER>()).Owner }
    }
}

/// Rights on a file that are this user's alone, and are not inherited from its folder.
pub(super) struct OwnerAlone {
    descriptor: Allocated,
}

impl OwnerAlone {
    pub(super) fn new() -> io::Result<OwnerAlone> {
        let known = Known::of(TokenUser)?;
        let mut name: *mut u16 = ptr::null_mut();
        // SAFETY: the user is that of `known`, which lives until the end of this function.
        if unsafe { ConvertSidToStringSidW(known.user(), &raw mut name) } == 0 {
            return Err(io::Error::last_os_error());
        }
        let user = Allocated(name.cast());
        // Protected, and all rights to one, which files in a folder inherit.
        let mut rights: Vec<u16> = "D:P(A;OICI;FA;;;".encode_utf16().collect();
        let mut letter = user.0.cast::<u16>().cast_const();
        // SAFETY: the system's text ends with 0.
        unsafe {
            while *letter != 0 {
                rights.push(*letter);
                letter = letter.add(1);
            }
        }
        rights.extend([u16::from(b')'), 0]);
        let mut descriptor: PSECURITY_DESCRIPTOR = ptr::null_mut();
        // SAFETY: the text ends with 0, and the place is that of a pointer.
        let made = unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                rights.as_ptr(),
                SDDL_REVISION_1,
                &raw mut descriptor,
                ptr::null_mut(),
            )
        };
        match made {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(OwnerAlone {
                descriptor: Allocated(descriptor),
            }),
        }
    }

    /// Returns the rights for what creates a file or a folder, which is done while they live.
    pub(super) fn attributes(&self) -> SECURITY_ATTRIBUTES {
        SECURITY_ATTRIBUTES {
            nLength: u32::try_from(size_of::<SECURITY_ATTRIBUTES>()).unwrap_or_default(),
            lpSecurityDescriptor: self.descriptor.0,
            bInheritHandle: 0,
        }
    }
}

/// Gives all rights on a file to this user alone. File systems without rights, as those of memory sticks, stay as they are.
pub(super) fn make_private(file: &File) -> io::Result<()> {
    let rights = OwnerAlone::new()?;
    let (mut is_there, mut is_default) = (0, 0);
    let mut list: *mut ACL = ptr::null_mut();
    // SAFETY: the descriptor is a whole one, and lives until the end of this function, as does the list in it; the handle
    // is open.
    let refused = unsafe {
        GetSecurityDescriptorDacl(
            rights.descriptor.0,
            &raw mut is_there,
            &raw mut list,
            &raw mut is_default,
        );
        SetSecurityInfo(
            file.as_raw_handle(),
            SE_FILE_OBJECT,
            DACL_SECURITY_INFORMATION | PROTECTED_DACL_SECURITY_INFORMATION,
            ptr::null_mut(),
            ptr::null_mut(),
            list,
            ptr::null(),
        )
    };
    match refused {
        ERROR_SUCCESS | ERROR_NOT_SUPPORTED | ERROR_INVALID_FUNCTION => Ok(()),
        error => Err(io::Error::from_raw_os_error(error.cast_signed())),
    }
}

/// Returns `true` if a file belongs to this user, or to the group that new files of an administrator belong to. What is on a
/// file system without owners belongs to everybody.
pub(super) fn is_own(file: &File) -> io::Result<bool> {
    let mut owner: PSID = ptr::null_mut();
    let mut descriptor: PSECURITY_DESCRIPTOR = ptr::null_mut();
    // SAFETY: the handle is open, and the places are those of pointers.
    let refused = unsafe {
        GetSecurityInfo(
            file.as_raw_handle(),
            SE_FILE_OBJECT,
            OWNER_SECURITY_INFORMATION,
            &raw mut owner,
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut descriptor,
        )
    };
    let _descriptor = match refused {
        ERROR_SUCCESS => Allocated(descriptor),
        ERROR_NOT_SUPPORTED | ERROR_INVALID_FUNCTION => return Ok(true),
        error => return Err(io::Error::from_raw_os_error(error.cast_signed())),
    };
    if owner.is_null() {
        return Ok(true);
    }
    let (user, owns) = (Known::of(TokenUser)?, Known::of(TokenOwner)?);
    // SAFETY: all three are whole, and live until the end of this function.
    Ok(unsafe { EqualSid(owner, user.user()) != 0 || EqualSid(owner, owns.owner()) != 0 })
}
