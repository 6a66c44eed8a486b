//! The names of types: they stand among the arguments of templates.

use super::codes::builtin_type;
use super::{Parser, within};

impl Parser<'_> {
    pub(super) fn a_type(&mut self) -> Option<String> {
        self.nested(Self::type_at_some_depth)
    }

    fn type_at_some_depth(&mut self) -> Option<String> {
        if let Some(name) = self.builtin() {
            return Some(name.to_owned());
        }
        let name = match self.peek()? {
            b'P' => self.suffixed("P", "*")?,
            b'R' => self.suffixed("R", "&")?,
            b'O' => self.suffixed("O", "&&")?,
            b'K' => self.suffixed("K", " const")?,
            b'V' => self.suffixed("V", " volatile")?,
            b'r' => self.suffixed("r", " restrict")?,
            b'D' => self.suffixed("Dp", "...")?,
            b'F' => self.function_type()?,
            b'A' => {
                self.skip(1)?;
                let length = self
                    .number()
                    .map_or(String::new(), |length| length.to_string());
                self.expect("_")?;
                within(self.a_type()?, "[", &length)? + "]"
            }
            b'M' => {
                self.skip(1)?;
                let class = self.a_type()?;
                within(self.a_type()?, " ", &class)? + "::*"
            }
            b'u' => {
                self.skip(1)?;
                self.source_name()?.to_owned()
            }
            b'T' => {
                let name = self.template_parameter()?;
                if self.peek() != Some(b'I') {
                    name
                } else {
                    self.remember(&name)?;
                    name + &self.template_arguments()?
                }
            }
            b'S' if !self.rest.starts_with("St") => {
                let name = self.substitution()?;
                if self.peek() != Some(b'I') {
                    return Some(name);
                }
                name + &self.template_arguments()?
            }
            _ => self.name()?,
        };
        self.remember(&name)?;
        Some(name)
    }

    fn suffixed(&mut self, prefix: &str, suffix: &str) -> Option<String> {
        self.expect(prefix)?;
        within(self.a_type()?, suffix, "")
    }

    /// `F`, what it returns, its parameters, and `E`.
    fn function_type(&mut self) -> Option<String> {
        self.expect("F")?;
        self.takes("Y");
        let returned = self.a_type()?;
        let mut parameters = Vec::new();
        while !["E", "RE", "OE"].iter().any(|end| self.takes(end)) {
            match self.a_type()?.as_str() {
                "void" => {}
                parameter => parameters.push(parameter.to_owned()),
            }
        }
        within(returned, " (", &parameters.join(", ")).map(|text| text + ")")
    }

    fn builtin(&mut self) -> Option<&'static str> {
        let length = if self.peek()? == b'D' { 2 } else { 1 };
        let code = self.rest.get(..length)?;
        let name = builtin_type(code)?;
        self.skip(length)?;
        Some(name)
    }

    /// `T_` or `T<number>_`.
    pub(super) fn template_parameter(&mut self) -> Option<String> {
        self.expect("T")?;
        let at = self.number().map_or(0, |number| number.saturating_add(1));
        self.expect("_")?;
        // One of a lambda's own parameters has no argument.
        let argument = self.arguments.get(at).cloned();
        Some(argument.unwrap_or_else(|| "auto".to_owned()))
    }
}
