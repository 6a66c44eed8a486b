//! The answers to the usual questions, kept for the index. Each takes a pass over all objects, and few bytes.

use std::io::{self, Write};

use crate::data::dominators::{Node, TOP};
use crate::data::numbers::{ClassIndex, ObjectNumber, SiteIndex};
use crate::data::objects::MOST_BYTES;
use crate::data::sections::{SectionReader, SectionWriter};
use crate::data::varint;

/// The groupings that have sums: by class, loader, package and site.
pub(crate) const GROUPINGS: usize = 4;

/// The paths to objects of each class that are kept; the default of `hprof heap paths` shows as many.
pub(crate) const USUAL_PATHS: usize = 10;

/// The most objects of each class that are kept, those that retain most: `hprof browse` shows as many on a page.
const CLASS_OBJECTS: usize = 100;
/// As many take so little that it does not matter how few objects there are.
const FEW_OBJECTS: usize = 1 << 16;
/// At most one in so many objects is kept, beyond these. A dump that has a class for every few objects has few objects, which
/// soon are looked through.
const SHARE: usize = 32;

/// Returns how many objects of each class are kept.
pub(crate) fn objects_of_each_class(classes: usize, objects: usize) -> usize {
    let most = FEW_OBJECTS.max(objects / SHARE);
    CLASS_OBJECTS.min(most / classes.max(1))
}

/// The answers to the usual questions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usual {
    /// The sums of each grouping, in the order of its groups.
    pub(crate) groups: [Vec<GroupSum>; GROUPINGS],
    /// The shallow size of all objects, whether roots reach them or not.
    pub(crate) bytes: u64,
    /// The objects that retain most, those first.
    pub(crate) largest: Vec<ObjectNumber>,
    /// The threads, those that retain most first.
    pub(crate) threads: Vec<ObjectNumber>,
    /// The objects of each class that retain most, in the order of the classes.
    pub(crate) of_classes: Vec<ClassObjects>,
    pub(crate) suspects: Vec<UsualSuspect>,
    /// The areas of the whole tree.
    pub(crate) areas: Vec<UsualArea>,
    /// The paths to objects of classes that have live objects, in the order of the classes.
    pub(crate) paths: Vec<ClassPaths>,
}

/// The live objects of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupSum {
    pub(crate) objects: u64,
    pub(crate) shallow: u64,
    /// Without those that are below another one of the group.
    pub(crate) retained: u64,
}

/// A suspect, with all that takes a walk over what it keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UsualSuspect {
    /// The object, or the largest one.
    pub(crate) node: Node,
    /// 1, or the number of objects.
    pub(crate) objects: u64,
    /// `true` if a stack has allocated several objects, `false` if they are those of a class.
    pub(crate) is_site: bool,
    /// The retained size without the suspects below.
    pub(crate) own: u64,
    pub(crate) retained: u64,
    /// The objects that it keeps alive, by site: their number and their bytes.
    pub(crate) sites: Vec<(SiteIndex, u64, u64)>,
}

/// An area of the dominator tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UsualArea {
    /// The area it is in: 0 for the top, then the others from 1 in their order.
    pub(crate) above: usize,
    pub(crate) of: AreaOf,
    /// 1, or the number of objects of the class.
    pub(crate) objects: u64,
    pub(crate) retained: u64,
}

/// The objects of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AreaOf {
    Node(Node),
    Class(ClassIndex),
}

/// The objects of a class that retain most, those first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassObjects {
    pub(crate) class: ClassIndex,
    pub(crate) objects: Vec<ObjectNumber>,
}

/// The first of the objects of a class to which paths over the same classes lead, and the number of the others; those
/// that are closest to a root first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassPaths {
    pub(crate) class: ClassIndex,
    pub(crate) paths: Vec<UsualPath>,
    /// How many there are, of which these are the first.
    pub(crate) all: u64,
}

/// The first of the objects to which paths over the same classes lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UsualPath {
    /// The number of objects on the path.
    pub(crate) distance: u32,
    pub(crate) object: ObjectNumber,
    /// The number of the others.
    pub(crate) alike: u64,
}

/// What the numbers in an index must be below.
pub(crate) struct Bounds {
    pub(crate) nodes: u32,
    pub(crate) objects: u32,
    pub(crate) classes: usize,
    pub(crate) sites: usize,
}

/// Numbers that are written one after the other.
#[derive(Default)]
struct Written(Vec<u8>);

impl Written {
    fn put<const N: usize>(&mut self, numbers: [u64; N]) {
        for number in numbers {
            varint::write(number, &mut self.0);
        }
    }

    fn list<T>(&mut self, list: &[T], mut put: impl FnMut(&mut Written, &T)) {
        self.put([list.len() as u64]);
        list.iter().for_each(|entry| put(self, entry));
    }
}

impl Usual {
    /// Writes them as a section of an index.
    pub(crate) fn save(&self, out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        let mut bytes = Written::default();
        for groups in &self.groups {
            bytes.list(groups, |bytes, group| {
                bytes.put([group.objects, group.shallow, group.retained]);
            });
        }
        bytes.put([self.bytes]);
        for objects in [&self.largest, &self.threads] {
            bytes.list(objects, |bytes, &object| bytes.put([object.0.into()]));
        }
        bytes.list(&self.of_classes, |bytes, class| {
            bytes.put([class.class.0.into()]);
            bytes.list(&class.objects, |bytes, &object| {
                bytes.put([object.0.into()])
            });
        });
        bytes.list(&self.suspects, |bytes, suspect| {
            let UsualSuspect { node, objects, .. } = *suspect;
            bytes.put([node.0.into(), objects, suspect.is_site.into()]);
            bytes.put([suspect.own, suspect.retained]);
            bytes.list(&suspect.sites, |bytes, &(site, objects, shallow)| {
                bytes.put([site.0.into(), objects, shallow]);
            });
        });
        bytes.list(&self.areas, |bytes, area| {
            let (kind, of) = match area.of {
                AreaOf::Node(Node(node)) => (0, node),
                AreaOf::Class(ClassIndex(class)) => (1, class),
            };
            bytes.put([area.above as u64, kind, of.into()]);
            bytes.put([area.objects, area.retained]);
        });
        bytes.list(&self.paths, |bytes, class| {
            bytes.put([class.class.0.into(), class.all]);
            bytes.list(&class.paths, |bytes, path| {
                bytes.put([path.distance.into(), path.object.0.into(), path.alike]);
            });
        });
        out.table(&bytes.0)
    }

    /// Reads them; `None` if they are damaged.
    pub(crate) fn load(index: &mut SectionReader, bounds: &Bounds) -> Option<Usual> {
        let bytes = index.table()?;
        let mut bytes = Read {
            bytes: &bytes,
            at: 0,
        };
        let Bounds {
            nodes,
            objects,
            classes,
            ..
        } = *bounds;
        let class = |bytes: &mut Read<'_>| bytes.below(classes as u64).map(ClassIndex);
        let node = |bytes: &mut Read<'_>| bytes.node(nodes);
        let object = |bytes: &mut Read<'_>| bytes.below(objects.into()).map(ObjectNumber);
        let mut groups = <[Vec<GroupSum>; GROUPINGS]>::default();
        for groups in &mut groups {
            *groups = bytes.list(Read::group)?;
            let sums = groups.iter().map(|group| [group.objects, group.shallow]);
            are_possible(sums)?;
        }
        Some(Usual {
            groups,
            bytes: bytes.sum()?,
            largest: bytes.list(object)?,
            threads: bytes.list(object)?,
            of_classes: bytes.list(|bytes| {
                Some(ClassObjects {
                    class: class(bytes)?,
                    objects: bytes.list(object)?,
                })
            })?,
            suspects: bytes.list(|bytes| bytes.suspect(bounds))?,
            areas: {
                let mut known = 0;
                bytes.list(|bytes| {
                    known += 1;
                    Some(UsualArea {
                        // Those above an area come before it.
                        above: bytes.below(known)? as usize,
                        of: match bytes.next()? {
                            0 => AreaOf::Node(node(bytes)?),
                            _ => AreaOf::Class(class(bytes)?),
                        },
                        objects: bytes.sum()?,
                        retained: bytes.sum()?,
                    })
                })?
            },
            paths: bytes.list(|bytes| {
                Some(ClassPaths {
                    class: class(bytes)?,
                    all: bytes.sum()?,
                    paths: bytes.list(|bytes| {
                        Some(UsualPath {
                            distance: bytes.below(u64::from(u32::MAX))?,
                            object: object(bytes)?,
                            alike: bytes.sum()?,
                        })
                    })?,
                })
            })?,
        })
    }
}

/// Returns `None` if the sums of numbers are greater than those of any dump.
fn are_possible(numbers: impl Iterator<Item = [u64; 2]>) -> Option<()> {
    let mut all = [0_u64; 2];
    for numbers in numbers {
        for (all, number) in all.iter_mut().zip(numbers) {
            *all = all.checked_add(number).filter(|&all| all <= MOST_BYTES)?;
        }
    }
    Some(())
}

/// Numbers of an index, which may be damaged.
struct Read<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Read<'_> {
    fn next(&mut self) -> Option<u64> {
        (self.at < self.bytes.len()).then(|| varint::read(self.bytes, &mut self.at))
    }

    /// Reads a number of objects or bytes.
    fn sum(&mut self) -> Option<u64> {
        self.next().filter(|&sum| sum <= MOST_BYTES)
    }

    fn below(&mut self, end: u64) -> Option<u32> {
        let number = self.next().filter(|&number| number < end)?;
        u32::try_from(number).ok()
    }

    fn between(&mut self, first: u32, end: u32) -> Option<u32> {
        self.below(end.into()).filter(|&number| number >= first)
    }

    /// Reads a node that has an object.
    fn node(&mut self, end: u32) -> Option<Node> {
        self.between(TOP.0 + 1, end).map(Node)
    }

    fn list<T>(&mut self, mut entry: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.next()?;
        (0..length).map(|_| entry(self)).collect()
    }

    fn group(&mut self) -> Option<GroupSum> {
        Some(GroupSum {
            objects: self.sum()?,
            shallow: self.sum()?,
            retained: self.sum()?,
        })
    }

    fn suspect(&mut self, bounds: &Bounds) -> Option<UsualSuspect> {
        let suspect = UsualSuspect {
            node: self.node(bounds.nodes)?,
            objects: self.sum()?,
            is_site: self.next()? != 0,
            own: self.sum()?,
            retained: self.sum()?,
            sites: self.list(|bytes| {
                let site = bytes.between(1, u32::try_from(bounds.sites).ok()?)?;
                Some((SiteIndex(site), bytes.sum()?, bytes.sum()?))
            })?,
        };
        let sites = suspect.sites.iter();
        are_possible(sites.map(|&(_, objects, shallow)| [objects, shallow]))?;
        Some(suspect)
    }
}
