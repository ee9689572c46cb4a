//! What stands behind the `?` of an address.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use super::refusal::Refusal;

/// The parameters of a request, each once and each known.
pub(super) struct Parameters(BTreeMap<String, String>);

impl Parameters {
    /// Reads them.
    ///
    /// # Errors
    ///
    /// One is there twice, or is none of those that are known.
    pub(super) fn of(query: &str, known: &[&str]) -> Result<Parameters, Refusal> {
        let mut found = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if !known.contains(&&*name) {
                let known = match known {
                    [] => "none here".to_owned(),
                    some => some.join(", "),
                };
                return Err(Refusal::Parameter(format!(
                    "There is no parameter “{name}”; known: {known}."
                )));
            }
            if found.insert(name.to_string(), value.into_owned()).is_some() {
                return Err(Refusal::Parameter(format!("“{name}” is there twice.")));
            }
        }
        Ok(Parameters(found))
    }

    /// What was said, be it nothing.
    pub(super) fn any(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    /// What was said; a field of a form that was left empty says nothing.
    pub(super) fn some(&mut self, name: &str) -> Option<String> {
        self.any(name).filter(|value| !value.is_empty())
    }

    /// What has to be said.
    pub(super) fn need(&mut self, name: &str) -> Result<String, Refusal> {
        let missing = || Refusal::Parameter(format!("The parameter “{name}” is missing."));
        self.any(name).ok_or_else(missing)
    }
}

/// Parameters as an address has them, `?` first; nothing where there are none.
pub(super) fn query<'a>(pairs: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> String {
    let mut said = form_urlencoded::Serializer::new(String::new());
    for (name, value) in pairs {
        if let Some(value) = value {
            said.append_pair(name, value);
        }
    }
    let said = said.finish();
    match said.is_empty() {
        true => said,
        false => format!("?{said}"),
    }
}
