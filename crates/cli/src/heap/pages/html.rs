//! Pages without script. Text from the dump stays text.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use sha2::{Digest, Sha256};

use super::Links;

const STYLE: &str = include_str!("style.css");

/// The most characters of a text that are shown.
const LONGEST: usize = 1200;

/// A part of a page.
#[derive(Debug, Default)]
pub struct Html(String);

impl Html {
    /// Adds markup, which must be the program's own.
    pub fn markup(&mut self, markup: &'static str) -> &mut Html {
        self.0.push_str(markup);
        self
    }

    /// Adds a text that anyone may have chosen, up to [`LONGEST`].
    pub fn text(&mut self, text: &str) -> &mut Html {
        for (count, character) in text.chars().enumerate() {
            if count == LONGEST {
                self.0.push('…');
                break;
            }
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                character => self.0.push(character),
            }
        }
        self
    }

    /// Adds a number.
    pub fn number(&mut self, number: impl Into<f64>) -> &mut Html {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{:.1}", number.into());
        self
    }

    /// Adds another part.
    pub fn part(&mut self, part: &Html) -> &mut Html {
        self.0.push_str(&part.0);
        self
    }

    /// Returns the markup.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Converts it into the markup.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// Returns the content security policy of a page without script: only this style may be applied. Pages with links have a
/// form, which may only ask their own server.
pub fn policy(links: Links<'_>) -> String {
    let form_action = match links {
        Links::None => "'none'",
        Links::Under(_) => "'self'",
    };
    let hash = BASE64.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; img-src data:; style-src 'sha256-{hash}'; base-uri 'none'; form-action {form_action}"
    )
}

/// Creates a complete page, with its style. If it loads nothing, it can be sent with [`policy`] as a header too.
pub fn page(title: &str, content: &Html, links: Links<'_>) -> Html {
    let mut page = Html::default();
    page.markup(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"",
    );
    page.text(&policy(links));
    page.markup(
        "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<link rel=\"icon\" href=\"data:,\">\n<title>",
    );
    page.text(title).markup(" · HPROF</title>\n<style>");
    page.markup(STYLE)
        .markup("</style>\n</head>\n<body class=\"heap\">\n");
    page.part(content).markup("</body>\n</html>\n");
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_never_markup() {
        let mut html = Html::default();
        html.text("</p><script>alert('1')</script>&\"");
        assert_eq!(
            html.as_str(),
            "&lt;/p&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;"
        );
    }
}
