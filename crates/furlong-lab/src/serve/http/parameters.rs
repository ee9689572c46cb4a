//! Parameters after the `?` of an address.

use std::collections::BTreeMap;

use crate::serve::refusal::Refusal;

/// The parameters of a request. Each is known and occurs once.
pub(in crate::serve) struct Parameters(BTreeMap<String, String>);

impl Parameters {
    /// Parses a query.
    ///
    /// # Errors
    ///
    /// A parameter occurs twice or is not in `known`.
    pub(in crate::serve) fn of(query: &str, known: &[&str]) -> Result<Parameters, Refusal> {
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
                return Err(Refusal::Parameter(format!("“{name}” is given twice.")));
            }
        }
        Ok(Parameters(found))
    }

    /// The parameter's value, which may be empty.
    pub(in crate::serve) fn any(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    /// The parameter's value, unless it is empty, like a form's unused field.
    pub(in crate::serve) fn some(&mut self, name: &str) -> Option<String> {
        self.any(name).filter(|value| !value.is_empty())
    }

    /// The value of a required parameter.
    pub(in crate::serve) fn need(&mut self, name: &str) -> Result<String, Refusal> {
        let missing = || Refusal::Parameter(format!("The parameter “{name}” is missing."));
        self.any(name).ok_or_else(missing)
    }
}

/// Parameters in the form of an address, with `?` first; empty if there are none.
pub(in crate::serve) fn query<'a>(
    pairs: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
) -> String {
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
