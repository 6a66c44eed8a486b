//! Names of C++ functions, from what the Itanium ABI makes of them (section 5.1, "External Names").
//!
//! Only the name is wanted, not the types of the parameters: the parser stops after it. `cpp_demangle`, which knows the whole grammar, has
//! 235 KB in place of 28. What only expressions in templates have is not known, and such a name stays as it is.

mod codes;
mod types;

use codes::operator;

/// The longest text that comes of any part: a short name can stand for a very long one.
const LONGEST: usize = 4_096;

/// The deepest that types are nested in each other.
const DEEPEST: usize = 64;

/// The most parts that a name may refer back to.
const MOST_PARTS: usize = 512;

/// Returns the name that `_Z...` stands for, without parameters; `None` if it is none, or one that is not known.
pub(super) fn cpp_name(mangled: &str) -> Option<String> {
    let mut parser = Parser {
        rest: mangled.strip_prefix("_Z")?,
        parts: Vec::new(),
        arguments: Vec::new(),
        depth: 0,
    };
    parser.encoding()
}

struct Parser<'name> {
    rest: &'name str,
    /// The parts that `S_`, `S0_` and so on refer to.
    parts: Vec<String>,
    /// The arguments of the last template, which `T_`, `T0_` and so on refer to.
    arguments: Vec<String>,
    depth: usize,
}

impl Parser<'_> {
    /// A function's name; its type may follow.
    fn encoding(&mut self) -> Option<String> {
        if self.takes("Th") || self.takes("Tv") {
            // A piece of code that corrects `this` on the way to the function.
            let end = self
                .rest
                .find(|letter: char| !"n_0123456789".contains(letter))?;
            self.rest = &self.rest[end..];
            return self.encoding();
        }
        self.name()
    }

    fn name(&mut self) -> Option<String> {
        self.nested(|parser| match parser.peek()? {
            b'N' => parser.nested_name(),
            b'Z' => parser.local_name(),
            _ => parser.unscoped_name(),
        })
    }

    /// A name outside of classes, in `std` or no namespace, perhaps of a template.
    fn unscoped_name(&mut self) -> Option<String> {
        let name = if self.takes("St") {
            format!("std::{}", self.unqualified_name("std")?)
        } else if self.peek()? == b'S' {
            let name = self.substitution()?;
            return Some(name + &self.template_arguments()?);
        } else {
            self.unqualified_name("")?
        };
        if self.peek() != Some(b'I') {
            return Some(name);
        }
        self.remember(&name)?;
        Some(name + &self.template_arguments()?)
    }

    /// `N`, qualifiers of `this`, the parts of the name, and `E`.
    fn nested_name(&mut self) -> Option<String> {
        self.expect("N")?;
        self.rest = self.rest.trim_start_matches(['r', 'V', 'K', 'R', 'O']);
        let mut name = String::new();
        while !self.takes("E") {
            let is_new = match self.peek()? {
                b'S' if self.takes("St") => {
                    name.push_str("std");
                    false
                }
                b'S' if name.is_empty() => {
                    name = self.substitution()?;
                    false
                }
                b'T' if name.is_empty() => {
                    name = self.template_parameter()?;
                    true
                }
                b'I' => {
                    name.push_str(&self.template_arguments()?);
                    true
                }
                _ => {
                    let part = self.unqualified_name(&name)?;
                    if !name.is_empty() {
                        name.push_str("::");
                    }
                    name.push_str(&part);
                    true
                }
            };
            if is_new && self.peek() != Some(b'E') {
                self.remember(&name)?;
            }
        }
        (!name.is_empty() && name.len() <= LONGEST).then_some(name)
    }

    /// `Z`, a function, `E`, and something inside of it.
    fn local_name(&mut self) -> Option<String> {
        self.expect("Z")?;
        let function = self.encoding()?;
        while !self.takes("E") {
            self.a_type()?;
        }
        if self.takes("s") {
            return Some(function);
        }
        if self.takes("d") {
            self.number();
            self.expect("_")?;
        }
        let entity = self.name()?;
        if self.takes("__") {
            self.number();
            self.expect("_")?;
        } else if self.takes("_") {
            self.number()?;
        }
        within(function, "::", &entity)
    }

    /// The last part of a name within a scope.
    fn unqualified_name(&mut self, scope: &str) -> Option<String> {
        self.takes("L");
        let mut name = match self.peek()? {
            b'0'..=b'9' => self.source_name()?.to_owned(),
            b'C' if !scope.is_empty() => {
                self.skip(2)?;
                last_part(scope).to_owned()
            }
            b'D' if !scope.is_empty() && matches!(self.rest.as_bytes().get(1)?, b'0'..=b'5') => {
                self.skip(2)?;
                format!("~{}", last_part(scope))
            }
            b'U' => self.unnamed()?,
            b'a'..=b'z' => self.operator()?,
            _ => return None,
        };
        while self.takes("B") {
            let tag = self.source_name()?;
            name = within(name, "[abi:", tag)? + "]";
        }
        Some(name)
    }

    /// A length and so many letters.
    fn source_name(&mut self) -> Option<&str> {
        let length = self.number()?;
        let name = self.rest.get(..length)?;
        self.rest = &self.rest[length..];
        Some(match name.starts_with("_GLOBAL__N") {
            true => "(anonymous namespace)",
            false => name,
        })
    }

    /// A lambda or a type without a name.
    fn unnamed(&mut self) -> Option<String> {
        let what = if self.takes("Ul") {
            while !self.takes("E") {
                self.a_type()?;
            }
            "lambda"
        } else {
            self.expect("Ut")?;
            "unnamed"
        };
        let number = self.number().map_or(1, |number| number.saturating_add(2));
        self.expect("_")?;
        Some(format!("{{{what}#{number}}}"))
    }

    fn operator(&mut self) -> Option<String> {
        if self.takes("cv") {
            return Some(format!("operator {}", self.a_type()?));
        }
        if self.takes("li") {
            return Some(format!("operator\"\"{}", self.source_name()?));
        }
        let code = self.rest.get(..2)?;
        let name = operator(code)?;
        self.skip(2)?;
        Some(format!("operator{name}"))
    }

    fn template_arguments(&mut self) -> Option<String> {
        self.expect("I")?;
        let arguments = self.arguments()?;
        let text = format!("<{}>", arguments.join(", "));
        self.arguments = arguments;
        (text.len() <= LONGEST).then_some(text)
    }

    /// Arguments of a template up to `E`.
    fn arguments(&mut self) -> Option<Vec<String>> {
        let mut arguments = Vec::new();
        while !self.takes("E") {
            if self.takes("J") {
                let pack = self.nested(Self::arguments)?;
                arguments.extend(pack);
                continue;
            }
            let argument = match self.peek()? {
                b'L' => self.literal()?,
                b'X' => self.address_of()?,
                _ => self.a_type()?,
            };
            arguments.push(argument);
            if arguments.len() > MOST_PARTS {
                return None;
            }
        }
        Some(arguments)
    }

    /// The only expression that is common: the address of a function or a variable.
    fn address_of(&mut self) -> Option<String> {
        self.expect("Xad")?;
        let name = self.literal()?;
        self.expect("E")?;
        Some(format!("&{name}"))
    }

    /// `L`, a type, a number, and `E`; or a function or a variable.
    fn literal(&mut self) -> Option<String> {
        self.expect("L")?;
        if self.takes("_Z") {
            let name = self.nested(Self::encoding)?;
            while !self.takes("E") {
                self.a_type()?;
            }
            return Some(name);
        }
        let kind = self.a_type()?;
        let end = self.rest.find('E')?;
        let value = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Some(match (kind.as_str(), value) {
            ("bool", "0") => "false".to_owned(),
            ("bool", "1") => "true".to_owned(),
            (_, "") => kind,
            _ => value.replacen('n', "-", 1),
        })
    }

    /// `S_`, `S<number>_`, or a well-known name.
    fn substitution(&mut self) -> Option<String> {
        self.expect("S")?;
        for (code, name) in [
            ("a", "std::allocator"),
            ("b", "std::basic_string"),
            ("s", "std::string"),
            ("i", "std::istream"),
            ("o", "std::ostream"),
            ("d", "std::iostream"),
        ] {
            if self.takes(code) {
                return Some(name.to_owned());
            }
        }
        let end = self.rest.find('_')?;
        let digits = &self.rest[..end];
        let is_known = |letter: u8| letter.is_ascii_digit() || letter.is_ascii_uppercase();
        let at = match digits {
            "" => 0,
            _ if !digits.bytes().all(is_known) => return None,
            _ => usize::from_str_radix(digits, 36).ok()?.checked_add(1)?,
        };
        self.rest = &self.rest[end + 1..];
        self.parts.get(at).cloned()
    }

    /// Lets later parts refer to this one.
    fn remember(&mut self, part: &str) -> Option<()> {
        if self.parts.len() >= MOST_PARTS || part.len() > LONGEST {
            return None;
        }
        self.parts.push(part.to_owned());
        Some(())
    }

    /// Runs a parser that may come to run itself.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= DEEPEST {
            return None;
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn number(&mut self) -> Option<usize> {
        let is_other = |letter: char| !letter.is_ascii_digit();
        let end = self.rest.find(is_other).unwrap_or(self.rest.len());
        let number = self.rest[..end].parse().ok()?;
        self.rest = &self.rest[end..];
        Some(number)
    }

    fn peek(&self) -> Option<u8> {
        self.rest.bytes().next()
    }

    fn takes(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, text: &str) -> Option<()> {
        self.takes(text).then_some(())
    }

    fn skip(&mut self, letters: usize) -> Option<()> {
        self.rest = self.rest.get(letters..)?;
        Some(())
    }
}

/// Returns the three texts one after the other, unless they are too long.
fn within(mut name: String, between: &str, other: &str) -> Option<String> {
    name.push_str(between);
    name.push_str(other);
    (name.len() <= LONGEST).then_some(name)
}

/// Returns the name of the class that a scope ends with, without its template's arguments.
fn last_part(scope: &str) -> &str {
    let mut depth = 0_usize;
    let mut end = scope.len();
    for (at, letter) in scope.char_indices().rev() {
        match letter {
            '>' if depth == 0 && at + 1 < end => break,
            '>' => depth += 1,
            '<' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    end = at;
                }
            }
            ':' if depth == 0 => return &scope[at + 1..end],
            _ => {}
        }
    }
    &scope[..end]
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;

    #[test]
    fn names_are_those_of_the_source_without_parameters() {
        for (mangled, name) in [
            ("_Z4mainv", "main"),
            ("_ZL5thawsi", "thaws"),
            ("_ZNK5Klass12is_cloneableEv", "Klass::is_cloneable"),
            ("_ZN3FooC2Ei", "Foo::Foo"),
            ("_ZN1A3BarIiED0Ev", "A::Bar<int>::~Bar"),
            ("_ZThn32_N13VM_HeapDumper4workEj", "VM_HeapDumper::work"),
            (
                "_ZNSt6vectorIiSaIiEE9push_backERKi",
                "std::vector<int, std::allocator<int>>::push_back",
            ),
            ("_ZNSs4dataEv", "std::string::data"),
            ("_ZStlsRSoPKc", "std::operator<<"),
            ("_ZN5ArraycvbEv", "Array::operator bool"),
            ("_Z4swapIPKcEvT_S2_", "swap<char const*>"),
            (
                "_ZN7BarrierIPF8zaddressPVS0_EE3runEv",
                "Barrier<zaddress (zaddress volatile*)*>::run",
            ),
            (
                "_ZN8DispatchI3ScaLb1ELin7EE5TableI5ClassjEEvv",
                "Dispatch<Sca, true, -7>::Table<Class, unsigned int>",
            ),
            (
                "_ZN4ListI4SiteXadL_Z7compareRKS0_S2_EEE3addEPS0_",
                "List<Site, &compare>::add",
            ),
            (
                "_ZZN8peephole3runEPiENKUlvE_clEv",
                "peephole::run::{lambda#1}::operator()",
            ),
            ("_ZZ3addiE5Entry", "add::Entry"),
            ("_Z3runIJiA64_cM1CiEEvDpT_", "run<int, char[64], int C::*>"),
            (
                "_ZN12_GLOBAL__N_11fB5cxx11Ev",
                "(anonymous namespace)::f[abi:cxx11]",
            ),
        ] {
            assert_eq!(cpp_name(mangled).as_deref(), Some(name), "{mangled}");
        }
    }

    #[test]
    fn what_is_no_name_or_not_known_is_none() {
        for name in [
            "",
            "main",
            "_Z",
            "_Zwrong",
            "_ZN",
            "_ZNE",
            "_ZN3Fo",
            "_ZN99999999999999999999aE",
            "_ZS9_",
            "_ZTV3Foo",
            "_ZN1AIXE",
            "_ZDTE",
            "_ZC1",
            "_ZNS_1aE",
            "_ZN2\u{e9}",
            "_Z1\u{e9}",
        ] {
            assert_eq!(cpp_name(name), None, "{name}");
        }
        // Each part is twice as long as the one before.
        let long = format!("_Z1fI1aE{}", "1bIS_S_E".repeat(200));
        assert!(cpp_name(&long).is_none_or(|name| name.len() <= LONGEST));
        let deep = format!("_Z1fI{}", "P".repeat(100_000));
        assert_eq!(cpp_name(&deep), None);
    }

    proptest! {
        #[test]
        fn changed_names_come_to_some_end(changes in vec((any::<Index>(), any::<Index>()), 0..5)) {
            let whole = "_ZZN4ListI4SiteXadL_Z7compareRKS0_S2_EEE3addINS_1AEEEvPFS0_T_EENKUlvE_clEv";
            let mut name = whole.as_bytes().to_vec();
            for (at, from) in changes {
                let (at, from) = (at.index(name.len()), from.index(name.len()));
                name[at] = name[from];
            }
            let name = String::from_utf8(name).expect("ASCII");
            prop_assert!(cpp_name(&name).is_none_or(|name| name.len() <= LONGEST));
        }
    }
}
