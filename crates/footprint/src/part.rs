//! The parts of an account.

use std::ops::{Index, IndexMut};

/// A part of the process's memory. Each page belongs to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The Java heap.
    JavaHeap,
    /// The Java heap again: ZGC of up to JDK 23 maps it at three addresses, and the system counts a page at each that was used.
    HeapViews,
    /// Classes that compressed pointers refer to.
    ClassSpace,
    /// What else belongs to classes: methods, constant pools.
    Metaspace,
    /// Compiled code, and the interpreter.
    CodeCache,
    /// The archive of classes that JVMs share.
    ClassArchive,
    /// The stacks of threads.
    ThreadStacks,
    /// The collector's card table.
    CardTable,
    /// Direct buffers of `java.nio`.
    DirectBuffers,
    /// `malloc`, but for direct buffers and the agent: the VM's own and that of native libraries. Free memory that it keeps
    /// counts.
    Malloc,
    /// The agent.
    Agent,
    /// The code and the data of the VM and of native libraries.
    Libraries,
    /// Other files: those of the JDK, jars, mapped buffers.
    MappedFiles,
    /// Memory that is shared with other processes, or could be: files in tmpfs and the like.
    SharedMemory,
    /// Everything else.
    Rest,
}

/// The number of parts.
const COUNT: usize = Part::ALL.len();

impl Part {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Part; 15] = [
        Part::JavaHeap,
        Part::HeapViews,
        Part::ClassSpace,
        Part::Metaspace,
        Part::CodeCache,
        Part::ClassArchive,
        Part::ThreadStacks,
        Part::CardTable,
        Part::DirectBuffers,
        Part::Malloc,
        Part::Agent,
        Part::Libraries,
        Part::MappedFiles,
        Part::SharedMemory,
        Part::Rest,
    ];

    /// Returns the name for programs, which never changes.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Part::JavaHeap => "java_heap",
            Part::HeapViews => "heap_views",
            Part::ClassSpace => "class_space",
            Part::Metaspace => "metaspace",
            Part::CodeCache => "code_cache",
            Part::ClassArchive => "class_archive",
            Part::ThreadStacks => "thread_stacks",
            Part::CardTable => "card_table",
            Part::DirectBuffers => "direct_buffers",
            Part::Malloc => "malloc",
            Part::Agent => "agent",
            Part::Libraries => "libraries",
            Part::MappedFiles => "mapped_files",
            Part::SharedMemory => "shared_memory",
            Part::Rest => "rest",
        }
    }

    /// Returns the name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Part::JavaHeap => "Java heap",
            Part::HeapViews => "Java heap, counted again",
            Part::ClassSpace => "class space",
            Part::Metaspace => "metaspace",
            Part::CodeCache => "compiled code",
            Part::ClassArchive => "class archive",
            Part::ThreadStacks => "thread stacks",
            Part::CardTable => "card table",
            Part::DirectBuffers => "direct buffers",
            Part::Malloc => "malloc",
            Part::Agent => "the agent",
            Part::Libraries => "libraries",
            Part::MappedFiles => "mapped files",
            Part::SharedMemory => "shared memory",
            Part::Rest => "the rest",
        }
    }

    /// Returns how the part is known, or what is in it.
    #[must_use]
    pub fn basis(self) -> &'static str {
        match self {
            Part::JavaHeap => "the addresses that the VM has reserved for it",
            Part::HeapViews => "ZGC maps the heap several times, and the system counts each",
            Part::ClassSpace => "the addresses after the class archive",
            Part::Metaspace => "the blocks in which the loaded classes have their constants",
            Part::CodeCache => "the VM's code heaps",
            Part::ClassArchive => "mappings of the archive's file",
            Part::ThreadStacks => "the VM's threads, and the stack pointers of others",
            Part::CardTable => "the VM's collector",
            Part::DirectBuffers => "the count of java.nio, as far as it is in malloc",
            Part::Malloc => "the heads of malloc's arenas and chunks: the VM's own and libraries",
            Part::Agent => "its own count",
            Part::Libraries => "files that are mapped as code",
            Part::MappedFiles => "the JDK's files, jars, mapped buffers",
            Part::SharedMemory => "shared mappings without a file on a disk",
            Part::Rest => "what nothing names: the collector's tables, what libraries map",
        }
    }
}

/// A value for each part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts<T>([T; COUNT]);

impl<T> Parts<T> {
    /// Returns the parts with their values.
    pub fn iter(&self) -> impl Iterator<Item = (Part, &T)> {
        Part::ALL.into_iter().zip(&self.0)
    }
}

impl<T> Index<Part> for Parts<T> {
    type Output = T;

    fn index(&self, part: Part) -> &T {
        // `ALL` has them in the order of their numbers.
        &self.0[part as usize]
    }
}

impl<T> IndexMut<Part> for Parts<T> {
    fn index_mut(&mut self, part: Part) -> &mut T {
        &mut self.0[part as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_place_and_a_name_of_its_own() {
        for (place, part) in Part::ALL.into_iter().enumerate() {
            assert_eq!(part as usize, place);
            let same = Part::ALL
                .into_iter()
                .filter(|other| other.key() == part.key());
            assert_eq!(same.count(), 1, "{part:?}");
        }
    }
}
