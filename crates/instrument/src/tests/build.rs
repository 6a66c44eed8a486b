//! Builds class files for tests, and parses the results.

use crate::pool::{Additions, Pool};
use crate::reader::Reader;

/// A class with one method.
pub(crate) struct ClassBuilder {
    pub(crate) major: u16,
    pub(crate) pool: Additions,
    this: u16,
    parent: u16,
    access: u16,
    name: u16,
    descriptor: u16,
    pub(crate) code: Vec<u8>,
    exceptions: Vec<[u16; 4]>,
    code_attributes: Vec<(u16, Vec<u8>)>,
    method_attributes: Vec<(u16, Vec<u8>)>,
}

const FULL: &str = "the pool has room";

impl ClassBuilder {
    pub(crate) fn new(name: &str, descriptor: &str, code: &[u8]) -> Self {
        let mut pool = Additions::after(1);
        let this = pool.class(b"C").expect(FULL);
        let parent = pool.class(b"P").expect(FULL);
        let name = pool.utf8(name.as_bytes()).expect(FULL);
        let descriptor = pool.utf8(descriptor.as_bytes()).expect(FULL);
        Self {
            major: 61,
            pool,
            this,
            parent,
            access: 0,
            name,
            descriptor,
            code: code.to_vec(),
            exceptions: Vec::new(),
            code_attributes: Vec::new(),
            method_attributes: Vec::new(),
        }
    }

    pub(crate) fn major(mut self, major: u16) -> Self {
        self.major = major;
        self
    }

    pub(crate) fn access(mut self, access: u16) -> Self {
        self.access = access;
        self
    }

    /// Makes it `java/lang/Object`, without a superclass.
    pub(crate) fn without_parent(mut self) -> Self {
        self.parent = 0;
        self
    }

    /// Adds a row of the exception table: start, end, handler, class.
    pub(crate) fn handler(mut self, row: [u16; 4]) -> Self {
        self.exceptions.push(row);
        self
    }

    pub(crate) fn code_attribute(mut self, name: &str, contents: &[u8]) -> Self {
        let name = self.pool.utf8(name.as_bytes()).expect(FULL);
        self.code_attributes.push((name, contents.to_vec()));
        self
    }

    /// Adds an annotation without values.
    pub(crate) fn annotation(mut self, descriptor: &str) -> Self {
        let name = self.pool.utf8(b"RuntimeVisibleAnnotations").expect(FULL);
        let [high, low] = self
            .pool
            .utf8(descriptor.as_bytes())
            .expect(FULL)
            .to_be_bytes();
        let contents = vec![0, 1, high, low, 0, 0];
        self.method_attributes.push((name, contents));
        self
    }

    /// Returns the index of a method, to put into the code.
    pub(crate) fn method(&mut self, class: &str, name: &str, descriptor: &str) -> [u8; 2] {
        let class = self.pool.class(class.as_bytes()).expect(FULL);
        let descriptor = self.pool.utf8(descriptor.as_bytes()).expect(FULL);
        let method = self.pool.method(class, name.as_bytes(), descriptor);
        method.expect(FULL).to_be_bytes()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut pool_end = Additions::after(usize::from(self.pool.count()));
        let code_name = pool_end.utf8(b"Code").expect(FULL);
        let mut bytes = 0xCAFE_BABE_u32.to_be_bytes().to_vec();
        let head = [0, self.major, pool_end.count()];
        push(&mut bytes, &head);
        bytes.extend_from_slice(&self.pool.bytes);
        bytes.extend_from_slice(&pool_end.bytes);
        // Flags, names, no interfaces, no fields, one method.
        push(&mut bytes, &[0x21, self.this, self.parent, 0, 0, 1]);
        push(&mut bytes, &[self.access, self.name, self.descriptor]);
        let mut attributes = self.method_attributes.clone();
        if !self.code.is_empty() {
            attributes.push((code_name, self.code_contents()));
        }
        push_attributes(&mut bytes, &attributes);
        push(&mut bytes, &[0]);
        bytes
    }

    fn code_contents(&self) -> Vec<u8> {
        let mut contents = Vec::new();
        push(&mut contents, &[3, 4]);
        contents.extend_from_slice(&(self.code.len() as u32).to_be_bytes());
        contents.extend_from_slice(&self.code);
        push(&mut contents, &[self.exceptions.len() as u16]);
        for row in &self.exceptions {
            push(&mut contents, row);
        }
        push_attributes(&mut contents, &self.code_attributes);
        contents
    }
}

fn push(bytes: &mut Vec<u8>, numbers: &[u16]) {
    for number in numbers {
        bytes.extend_from_slice(&number.to_be_bytes());
    }
}

fn push_attributes(bytes: &mut Vec<u8>, attributes: &[(u16, Vec<u8>)]) {
    push(bytes, &[attributes.len() as u16]);
    for (name, contents) in attributes {
        push(bytes, &[*name]);
        bytes.extend_from_slice(&(contents.len() as u32).to_be_bytes());
        bytes.extend_from_slice(contents);
    }
}

/// The method of a class from a `ClassBuilder`, after instrumentation.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) max_stack: u16,
    pub(crate) code: Vec<u8>,
    pub(crate) exceptions: Vec<[u16; 4]>,
    attributes: Vec<(String, Vec<u8>)>,
    /// The indexes of the calls in the pool: entry, exit, exception_exit; then the class of all exceptions.
    pub(crate) calls: [[u8; 2]; 3],
    pub(crate) throwable: [u8; 2],
    /// The index of the call in handlers of the program.
    pub(crate) caught: [u8; 2],
    /// The index of the exit of leaves.
    pub(crate) leaf_exit: [u8; 2],
    /// The index of the class `A`.
    pub(crate) argument: [u8; 2],
}

impl Parsed {
    pub(crate) fn method(class: &[u8]) -> Self {
        let pool = Pool::parse(class, 8).expect("a pool");
        let mut reader = Reader::at(class, pool.end);
        reader.take(2 * 6 + 6).expect("the head");
        let mut code = None;
        for (name, contents) in attributes(&mut reader, &pool) {
            if name == "Code" {
                code = Some(contents);
            }
        }
        let code = code.expect("code");
        let mut reader = Reader::new(&code);
        let max_stack = reader.u16().expect("the stack");
        reader.u16().expect("the locals");
        let bytes = reader.sized().expect("the code").to_vec();
        let count = reader.u16().expect("the handlers");
        let exceptions = (0..count)
            .map(|_| [0; 4].map(|_: u16| reader.u16().expect("a row")))
            .collect();
        let indices = 1..u16::try_from(pool.count()).expect("a count");
        let find = |wanted: &[u8]| {
            let found = indices.clone().find(|&index| {
                pool.member(index).is_ok_and(|(name, _)| name == wanted)
                    || pool.class_name(index) == Ok(wanted)
            });
            found.unwrap_or(0).to_be_bytes()
        };
        Self {
            max_stack,
            code: bytes,
            exceptions,
            attributes: attributes(&mut reader, &pool),
            calls: [find(b"in"), find(b"out"), find(b"up")],
            caught: find(b"caught"),
            leaf_exit: find(b"leafOut"),
            argument: find(b"A"),
            throwable: find(b"java/lang/Throwable"),
        }
    }

    /// Returns the contents of an attribute of the code.
    pub(crate) fn attribute(&self, name: &str) -> Option<&[u8]> {
        let found = self.attributes.iter().find(|(found, _)| found == name);
        found.map(|(_, contents)| &contents[..])
    }

    /// Returns `iconst_1; invokestatic` of one of the calls.
    fn call(&self, which: usize) -> [u8; 4] {
        let [high, low] = self.calls[which];
        [4, 184, high, low]
    }

    pub(crate) fn entry(&self) -> [u8; 4] {
        self.call(0)
    }

    pub(crate) fn exit(&self) -> [u8; 4] {
        self.call(1)
    }

    /// Returns a handler: the call and `athrow`.
    pub(crate) fn exception_exit(&self) -> Vec<u8> {
        [&self.call(2)[..], &[191]].concat()
    }

    /// Checks the code, given in pieces.
    pub(crate) fn assert_code(&self, pieces: &[&[u8]]) {
        assert_eq!(self.code, pieces.concat());
    }
}

fn attributes(reader: &mut Reader, pool: &Pool) -> Vec<(String, Vec<u8>)> {
    let count = reader.u16().expect("a count");
    (0..count)
        .map(|_| {
            let name = pool.utf8(reader.u16().expect("a name")).expect("a name");
            let contents = reader.sized().expect("contents").to_vec();
            (String::from_utf8_lossy(name).into_owned(), contents)
        })
        .collect()
}
