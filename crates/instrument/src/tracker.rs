//! The class whose methods the inserted code calls.

use crate::hooks::Hooks;
use crate::pool::Additions;

const MAGIC: u32 = 0xCAFE_BABE;
/// The version of Java 8, which every VM that the agent supports can read.
const VERSION: u16 = 52;
const PUBLIC_FINAL_SUPER_SYNTHETIC: u16 = 0x1031;
const PUBLIC_STATIC_NATIVE_SYNTHETIC: u16 = 0x1109;

/// Returns the bytes of the tracker: a public final class with only the hooks, as public static native methods that
/// take an int. It is for the boot loader, in the package of its name. Empty if a name is longer than a class file
/// allows.
pub fn tracker_class(hooks: &Hooks) -> Vec<u8> {
    build(hooks).unwrap_or_default()
}

fn build(hooks: &Hooks) -> Option<Vec<u8>> {
    let mut pool = Additions::after(1);
    let this = pool.class(hooks.tracker)?;
    let parent = pool.class(b"java/lang/Object")?;
    let descriptor = pool.utf8(b"(I)V")?;
    let mut names = vec![hooks.entry, hooks.exit, hooks.exception_exit];
    names.dedup();
    let names: Option<Vec<u16>> = names.into_iter().map(|name| pool.utf8(name)).collect();
    let names = names?;

    let mut class = MAGIC.to_be_bytes().to_vec();
    let mut push = |number: u16| class.extend_from_slice(&number.to_be_bytes());
    [0, VERSION, pool.count()].into_iter().for_each(&mut push);
    class.extend_from_slice(&pool.bytes);
    let mut push = |number: u16| class.extend_from_slice(&number.to_be_bytes());
    let no_members = [0, 0];
    [PUBLIC_FINAL_SUPER_SYNTHETIC, this, parent]
        .into_iter()
        .chain(no_members)
        .for_each(&mut push);
    push(u16::try_from(names.len()).ok()?);
    for name in names {
        let no_attributes = 0;
        [
            PUBLIC_STATIC_NATIVE_SYNTHETIC,
            name,
            descriptor,
            no_attributes,
        ]
        .into_iter()
        .for_each(&mut push);
    }
    let no_attributes = 0;
    push(no_attributes);
    Some(class)
}
