//! The class loaders of the program, by their class.

use hprof_footprint::LoaderKind;

use super::env::Env;
use super::error::JvmtiError;
use super::fields::ClassState;
use super::jni::{Jni, LocalRef};
use memory::{Map, OrStop};

/// The loaders and their classes, counted.
struct Counted<'a> {
    loader: LocalRef<'a>,
    classes: u64,
}

impl Env {
    /// Counts class loaders and classes by the class of the loader; most classes come first. Arrays are left out.
    pub fn loader_kinds(self, jni: Jni<'_>) -> Result<Vec<LoaderKind>, JvmtiError> {
        let mut boot = 0;
        let mut loaders = Map::<i32, Vec<Counted<'_>>>::default();
        for class in self.loaded_classes(jni)? {
            if matches!(self.class_state(class.object()), Ok(ClassState::Array)) {
                continue;
            }
            let Some(loader) = self.class_loader(jni, class.object())? else {
                boot += 1;
                continue;
            };
            let identity = self.identity_hash(loader.object())?;
            let alike = loaders.get_or_default(identity).or_stop();
            let mut same = alike.iter_mut();
            match same.find(|known| jni.is_same(known.loader.object(), loader.object())) {
                Some(known) => known.classes += 1,
                None => alike.push(Counted { loader, classes: 1 }),
            }
        }
        let mut kinds = Map::<String, LoaderKind>::default();
        for Counted { loader, classes } in loaders.into_iter().flat_map(|(_, alike)| alike) {
            let Some(class) = jni.class_of(loader.object()) else {
                continue;
            };
            let signature = self.class_signature(class.object())?;
            let kind = kinds.get_or_default(signature).or_stop();
            kind.loaders += 1;
            kind.classes += classes;
        }
        let named = kinds.into_iter().map(|(signature, kind)| LoaderKind {
            name: signature
                .trim_start_matches('L')
                .trim_end_matches(';')
                .replace('/', "."),
            ..kind
        });
        let of_boot = LoaderKind {
            loaders: 1,
            classes: boot,
            name: String::new(),
        };
        let mut all: Vec<LoaderKind> = named.chain([of_boot]).collect();
        memory::sort_by_numbers(&mut all, |kind| [!kind.classes, !kind.loaders]);
        Ok(all)
    }
}
