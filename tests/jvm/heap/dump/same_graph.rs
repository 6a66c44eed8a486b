//! The dumpers describe the same graph.
//!
//! Each dumps one program, in runs of its own, at the same point. Starting at the static fields of the program's classes,
//! two graphs are compared step by step: every name, type, value, element and reference. All classes that both
//! dumps have are compared by their declarations. The dumps may differ in:
//!
//! - The fields of classes that are loaded but not linked, which JVMTI does not reveal. They have no instances.
//! - `Throwable.backtrace`, which is hidden from JVMTI.
//! - NaN values, which the VM's dumper writes as a single one.
//! - The VM's data in addition to the static fields, under names that no field has (`<resolved_references>`).
//! - Fields that the garbage collector writes at any time (of references), and those that hold a time.

use std::collections::{BTreeSet, HashMap};
use std::fs;

use hprof_format::{BasicType, Value};

use super::heap::{Class, Dump, File, Thing, id};
use super::{DUMP, dump, program, read};
use crate::cells::Cell;
use crate::harness::Jvm;

/// Fields in which two runs need not agree.
const UNSTEADY: [(&str, &str); 6] = [
    ("java.lang.Throwable", "backtrace"),
    ("java.lang.ref.Reference", "discovered"),
    ("java.lang.ref.Reference", "next"),
    ("java.lang.ref.Reference", "queue"),
    ("java.lang.ref.SoftReference", "clock"),
    ("java.lang.ref.SoftReference", "timestamp"),
];

/// Returns a program's first dump.
fn first_dump(jvm: &Jvm, vm_options: &[&str], name: &str, dumper: &str) -> Dump {
    let options = format!("{DUMP},dumper={dumper},doe=n");
    let run = program(jvm, &options, vm_options, name).start();
    run.wait_for_output("ready");
    dump(&run, 1);
    fs::write(run.path("go"), "").expect("a file");
    let run = run.wait();
    assert!(run.status.success(), "{}", run.stderr);
    // Other tests check whether the VM's dump is complete.
    assert_eq!(
        run.stderr
            .contains("(by JVMTI in a forked child: asked for;"),
        dumper == "fork" && !vm_options.contains(&"-XX:+UseZGC"),
        "{}",
        run.stderr
    );
    let mut file = match dumper {
        "fork" if vm_options.contains(&"-XX:+UseZGC") => File::read(&run.path("x.hprof")),
        "vm" => File::read(&run.path("x.hprof")),
        _ => read(&run),
    };
    assert_eq!(file.dumps.len(), 1, "{}", run.stderr);
    file.dumps.remove(0)
}

/// Two dumps, and the correspondence of their objects.
struct Pair<'d> {
    vm: &'d Dump,
    walk: &'d Dump,
    /// By the name of the program.
    program: &'d str,
    same: HashMap<u64, u64>,
    back: HashMap<u64, u64>,
    waiting: Vec<(u64, u64, String)>,
    differences: BTreeSet<String>,
}

impl<'d> Pair<'d> {
    fn compare(vm: &'d Dump, walk: &'d Dump, program: &'d str) -> Self {
        let mut pair = Self {
            vm,
            walk,
            program,
            same: HashMap::new(),
            back: HashMap::new(),
            waiting: Vec::new(),
            differences: BTreeSet::new(),
        };
        pair.declarations();
        let ours = vm
            .classes
            .values()
            .filter(|class| is_ours(&class.name, program));
        for class in ours {
            // Classes of lambdas have different names in every run.
            if steady(&class.name) == class.name {
                pair.reference(class.id, walk.class(&class.name).id, &class.name);
            }
        }
        while let Some((left, right, why)) = pair.waiting.pop() {
            pair.objects(left, right, &why);
        }
        pair
    }

    fn differ(&mut self, difference: String) {
        self.differences.insert(difference);
    }

    /// Compares the declarations of all classes that both dumps have.
    fn declarations(&mut self) {
        let mut by_name: HashMap<&str, Vec<&Class>> = HashMap::new();
        for class in self.walk.classes.values() {
            by_name.entry(&class.name).or_default().push(class);
        }
        for left in self.vm.classes.values() {
            // Two loaders may have classes of the same name.
            let Some(&[right]) = by_name.get(&*left.name).map(Vec::as_slice) else {
                continue;
            };
            if declares_nothing(right) && !declares_nothing(left) {
                let instances = self.walk.instances(&right.name).len();
                if instances > 0 {
                    self.differ(format!(
                        "{instances} of {}, which is not described",
                        right.name
                    ));
                }
                continue;
            }
            self.declaration(left, right);
        }
    }

    fn declaration(&mut self, left: &Class, right: &Class) {
        let name = &left.name;
        let fields = |class: &Class| {
            let mut fields = class.fields.clone();
            fields.sort_by(|left, right| left.0.cmp(&right.0));
            // Hidden from JVMTI.
            fields.retain(|field| (&*class.name, &*field.0) != UNSTEADY[0]);
            fields
        };
        let statics = |class: &Class| {
            let statics = class.statics.iter();
            let mut statics: Vec<(String, BasicType)> = statics
                .filter(|(name, _)| !name.starts_with('<'))
                .map(|(name, value)| (name.clone(), value.basic_type()))
                .collect();
            statics.sort_by(|left, right| left.0.cmp(&right.0));
            statics
        };
        let above = |dump: &Dump, class: &Class| {
            dump.classes
                .get(&class.super_class)
                .map(|class| class.name.clone())
        };
        if fields(left) != fields(right) {
            self.differ(format!(
                "{name} declares {:?} and {:?}",
                left.fields, right.fields
            ));
        }
        if statics(left) != statics(right) {
            self.differ(format!(
                "{name} declares {:?} and {:?}",
                statics(left),
                statics(right)
            ));
        }
        if above(self.vm, left) != above(self.walk, right) {
            self.differ(format!("{name} has another superclass"));
        }
        if (left.loader == 0) != (right.loader == 0) {
            self.differ(format!("{name} has another loader"));
        }
    }

    fn reference(&mut self, left: u64, right: u64, why: &str) {
        if left == 0 || right == 0 {
            if left != right {
                self.differ(format!("{why} is null in one"));
            }
            return;
        }
        let known = (self.same.get(&left), self.back.get(&right));
        match known {
            (None, None) => {
                self.same.insert(left, right);
                self.back.insert(right, left);
                self.waiting.push((left, right, why.to_owned()));
            }
            (Some(&known), _) if known == right => {}
            _ => self.differ(format!("{why} leads elsewhere")),
        }
    }

    fn value(&mut self, left: Value, right: Value, why: &str) {
        match (left, right) {
            (Value::Object(left), Value::Object(right)) => self.reference(left.0, right.0, why),
            (left, right) if bits(left) == bits(right) => {}
            (left, right) => self.differ(format!("{why} is {left:?} and {right:?}")),
        }
    }

    fn objects(&mut self, left: u64, right: u64, why: &str) {
        let names = [(self.vm, left), (self.walk, right)].map(|(dump, object)| {
            let class = dump.classes.get(&object);
            class.map_or_else(
                || steady(&dump.class_name(object)).to_owned(),
                |class| format!("class {}", steady(&class.name)),
            )
        });
        if names[0] != names[1] {
            self.differ(format!("{why} is a {} and a {}", names[0], names[1]));
            return;
        }
        let (vm, walk) = (self.vm, self.walk);
        if let (Some(left), Some(right)) = (vm.classes.get(&left), walk.classes.get(&right)) {
            self.classes(left, right);
            return;
        }
        match (&vm.objects[&left], &walk.objects[&right]) {
            (Thing::Instance { .. }, Thing::Instance { .. }) => {
                // The class of a primitive type, whose fields the VM may have set differently in another run.
                if names[0] != "java.lang.Class" {
                    self.instances(left, right);
                }
            }
            (
                Thing::Objects { elements: left, .. },
                Thing::Objects {
                    elements: right, ..
                },
            ) => {
                if left.len() != right.len() {
                    self.differ(format!("{why} has other lengths"));
                }
                for (&left, &right) in left.iter().zip(right) {
                    self.reference(left, right, &format!("an element of {why}"));
                }
            }
            (
                Thing::Primitives {
                    element: kind,
                    elements: left,
                    ..
                },
                Thing::Primitives {
                    element: other,
                    elements: right,
                    ..
                },
            ) if kind == other && left == right => {}
            _ => self.differ(format!("{why} has other elements")),
        }
    }

    fn classes(&mut self, left: &Class, right: &Class) {
        if !is_ours(&left.name, self.program) {
            return;
        }
        for (name, value) in left
            .statics
            .iter()
            .filter(|(name, _)| !name.starts_with('<'))
        {
            let other = right.statics.iter().find(|(other, _)| other == name);
            if let Some(&(_, other)) = other {
                self.value(*value, other, &format!("{}.{name}", left.name));
            }
        }
    }

    fn instances(&mut self, left: u64, right: u64) {
        let (left, right) = (self.vm.fields(left), self.walk.fields(right));
        for (class, name, value) in left {
            if UNSTEADY.contains(&(class, name)) {
                continue;
            }
            let other = right
                .iter()
                .find(|(other, field, _)| (steady(other), *field) == (steady(class), name));
            match other {
                Some(&(_, _, other)) => self.value(value, other, &format!("{class}.{name}")),
                None => self.differ(format!("{class}.{name} is missing")),
            }
        }
    }
}

fn declares_nothing(class: &Class) -> bool {
    let statics = class.statics.iter();
    class.fields.is_empty() && statics.filter(|(name, _)| !name.starts_with('<')).count() == 0
}

fn is_ours(class: &str, program: &str) -> bool {
    let rest = class.strip_prefix(program);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('$'))
}

/// Returns a class's name without the parts that change from run to run.
fn steady(name: &str) -> &str {
    name.find("$$Lambda").map_or(name, |end| &name[..end + 8])
}

/// Returns a value's bytes in the file; all NaN values are equal.
fn bits(value: Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    let value = match value {
        Value::Float(float) if float.is_nan() => Value::Float(f32::NAN),
        Value::Double(double) if double.is_nan() => Value::Double(f64::NAN),
        value => value,
    };
    value.write(&mut bytes);
    bytes
}

/// Compares the dumps of a program; returns the number of objects and classes compared.
fn compare(jvm: &Jvm, vm_options: &[&str], name: &str) -> (Dump, usize) {
    let vm = first_dump(jvm, vm_options, name, "vm");
    let walk = first_dump(jvm, vm_options, name, "jvmti");
    let fork = first_dump(jvm, vm_options, name, "fork");
    let counts = [&walk, &fork].map(|walk| {
        let pair = Pair::compare(&vm, walk, name);
        let differences = &pair.differences;
        assert!(differences.is_empty(), "{vm_options:?}: {differences:#?}");
        pair.same.len()
    });
    assert_eq!(counts[0], counts[1], "{vm_options:?}");
    (walk, counts[0])
}

on_paired_cells!(all_dumpers_describe_the_same_graph, row 9);

fn all_dumpers_describe_the_same_graph(cell: &Cell) {
    let (walk, count) = compare(cell.jvm, &cell.vm_options(), "Shapes");
    assert!(count > 45_000, "{cell}: {count}");
    assert_eq!(walk.instances("Shapes$Node").len(), 20_000, "{cell}");
    assert_eq!(
        walk.elements(id(walk.stat("Shapes", "nodes"))).len(),
        20_000
    );
    let (_, count) = compare(cell.jvm, &cell.vm_options(), "Graph");
    assert!(count > 40, "{cell}: {count}");
}
