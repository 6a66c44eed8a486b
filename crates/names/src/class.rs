//! Classes, by name and loader. An unloaded class keeps its entry, because traces go on naming it.

use std::sync::atomic::{AtomicBool, Ordering};

use memory::{Map, OrStop};

use super::intern::table_ids;
use super::loader::LoaderId;
use super::numbered::Numbered;
use super::object::ObjectId;
use super::string::StringId;
use locks::{Mutex, rank};

table_ids! {
    /// The id of a class.
    ClassId
}

/// A class.
pub struct Class {
    /// The name as in Java source.
    pub name: StringId,
    /// The id of its `java.lang.Class` object.
    pub object: ObjectId,
    unloaded: AtomicBool,
}

impl Class {
    /// Returns `true` if the VM has unloaded the class.
    pub fn is_unloaded(&self) -> bool {
        self.unloaded.load(Ordering::Relaxed)
    }
}

/// The class table.
#[derive(Default)]
pub struct Classes {
    loaded: Mutex<Map<(LoaderId, StringId), ClassId>, rank::LoadedClasses>,
    classes: Numbered<Class>,
}

impl Interned {
    /// Returns the class's id, new or known.
    pub fn id(&self) -> ClassId {
        let (Self::Known(id) | Self::New(id)) = *self;
        id
    }
}

/// The result of [`Classes::intern`].
pub enum Interned {
    /// The class was known.
    Known(ClassId),
    /// The class is new: the caller should watch for its unloading.
    New(ClassId),
}

impl Classes {
    /// Returns the class of that name which the loader currently has.
    pub fn intern(
        &self,
        loader: LoaderId,
        name: StringId,
        object: impl FnOnce() -> ObjectId,
    ) -> Interned {
        let mut loaded = self.loaded.lock();
        if let Some(&id) = loaded.get(&(loader, name)) {
            return Interned::Known(id);
        }
        let make = || Class {
            name,
            object: object(),
            unloaded: AtomicBool::new(false),
        };
        let index = self.classes.push(make).or_stop();
        loaded.insert((loader, name), ClassId(index)).or_stop();
        Interned::New(ClassId(index))
    }

    /// Records that a class was unloaded: its name now belongs to the next class that the loader defines under it.
    pub fn unload(&self, id: ClassId) {
        self.get(id).unloaded.store(true, Ordering::Relaxed);
        self.loaded.lock().retain(|_, loaded| *loaded != id);
    }

    /// Returns the class with this id.
    pub fn get(&self, id: ClassId) -> &Class {
        self.classes.get(id.0)
    }
}

/// Turns `Ljava/lang/String;` into `java.lang.String` and `[[I` into `int[][]`. Anything that is not a signature is
/// returned unchanged.
pub fn name_of_signature(signature: &str) -> String {
    let element = signature.trim_start_matches('[');
    let dimensions = signature.len() - element.len();
    let mut name = match element {
        "Z" => "boolean".to_owned(),
        "B" => "byte".to_owned(),
        "C" => "char".to_owned(),
        "S" => "short".to_owned(),
        "I" => "int".to_owned(),
        "J" => "long".to_owned(),
        "F" => "float".to_owned(),
        "D" => "double".to_owned(),
        _ => element
            .strip_prefix('L')
            .and_then(|class| class.strip_suffix(';'))
            .unwrap_or(element)
            .replace('/', "."),
    };
    name.push_str(&"[]".repeat(dimensions));
    name
}

/// Turns `java.lang.String` into `java/lang/String` and `int[][]` into `[[I`: the form of class names in class files
/// and binary profiles.
pub fn internal_name(name: &str) -> String {
    let element = name.trim_end_matches("[]");
    let dimensions = (name.len() - element.len()) / 2;
    if dimensions == 0 {
        return name.replace('.', "/");
    }
    let element = match element {
        "boolean" => "Z".to_owned(),
        "byte" => "B".to_owned(),
        "char" => "C".to_owned(),
        "short" => "S".to_owned(),
        "int" => "I".to_owned(),
        "long" => "J".to_owned(),
        "float" => "F".to_owned(),
        "double" => "D".to_owned(),
        class => format!("L{};", class.replace('.', "/")),
    };
    "[".repeat(dimensions) + &element
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_in_source() {
        let cases = [
            ("Ljava/lang/String;", "java.lang.String"),
            ("[Ljava/lang/String;", "java.lang.String[]"),
            ("[[I", "int[][]"),
            ("J", "long"),
            ("LFoo$Bar;", "Foo$Bar"),
            (
                "LFoo$$Lambda$14.0x0000000800c03000;",
                "Foo$$Lambda$14.0x0000000800c03000",
            ),
            ("L;", ""),
            ("", ""),
        ];
        for (signature, name) in cases {
            assert_eq!(name_of_signature(signature), name);
        }
    }

    #[test]
    fn binary_names_are_those_of_class_files() {
        let cases = [
            ("java.lang.Thread", "java/lang/Thread"),
            ("Foo$Bar", "Foo$Bar"),
            ("java.lang.Object[]", "[Ljava/lang/Object;"),
            ("int[]", "[I"),
            ("boolean[][]", "[[Z"),
            ("Foo$Bar[][]", "[[LFoo$Bar;"),
            ("", ""),
        ];
        for (source, name) in cases {
            assert_eq!(internal_name(source), name);
        }
    }

    #[test]
    fn a_class_that_comes_again_is_another_class() {
        let (classes, name) = (Classes::default(), StringId(7));
        let intern = |loader| classes.intern(LoaderId(loader), name, || ObjectId(1));
        let Interned::New(first) = intern(1) else {
            panic!("not seen before")
        };
        assert!(matches!(intern(1), Interned::Known(id) if id == first));
        assert!(
            matches!(intern(2), Interned::New(_)),
            "another loader's class"
        );
        classes.unload(first);
        assert!(classes.get(first).is_unloaded());
        assert_eq!(classes.get(first).name, name, "the name stays");
        let Interned::New(second) = intern(1) else {
            panic!("the first is gone")
        };
        assert!(second != first && !classes.get(second).is_unloaded());
    }
}
