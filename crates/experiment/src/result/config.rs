//! The configuration in a result. Results of a comparison share the sections in which they do not differ, so that a
//! thousand of them hold the text of most keys once.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An effective configuration: an object with an object for each section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct ConfigResult(Vec<(String, Arc<Value>)>);

impl From<Map<String, Value>> for ConfigResult {
    fn from(sections: Map<String, Value>) -> Self {
        Self(sections.into_iter().map(|(name, section)| (name, Arc::new(section))).collect())
    }
}

impl From<ConfigResult> for Map<String, Value> {
    fn from(ConfigResult(sections): ConfigResult) -> Self {
        sections.into_iter().map(|(name, section)| (name, Arc::unwrap_or_clone(section))).collect()
    }
}

impl ConfigResult {
    /// The sections, in their order.
    pub fn sections(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, section)| (name.as_str(), &**section))
    }

    /// The configuration as JSON.
    pub fn to_json(&self) -> Value {
        Value::Object(self.clone().into())
    }

    /// Takes the sections that are equal to those of another configuration from it.
    pub(crate) fn share(&mut self, other: &Self) {
        for ((name, section), (of, others)) in self.0.iter_mut().zip(&other.0) {
            if name == of && section == others {
                *section = Arc::clone(others);
            }
        }
    }
}

/// A section; null if there is none of the name.
impl Index<&str> for ConfigResult {
    type Output = Value;

    fn index(&self, name: &str) -> &Value {
        self.sections().find(|(of, _)| *of == name).map_or(&Value::Null, |(_, section)| section)
    }
}

/// A section to be changed; it is added if there is none of the name.
impl IndexMut<&str> for ConfigResult {
    fn index_mut(&mut self, name: &str) -> &mut Value {
        let place = self.0.iter().position(|(of, _)| of == name).unwrap_or_else(|| {
            self.0.push((name.to_owned(), Arc::default()));
            self.0.len() - 1
        });
        Arc::make_mut(&mut self.0[place].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_configuration_that_shares_sections_is_what_it_was() {
        let first = json!({"run": {"seed": 1}, "device": {"channels": 8, "ways": [1, 2]}, "ftl": {}});
        let second = json!({"run": {"seed": 2}, "device": {"channels": 8, "ways": [1, 2]}, "ftl": {}});
        let [of_first, mut of_second]: [ConfigResult; 2] =
            [&first, &second].map(|json| serde_json::from_value(json.clone()).expect("an object"));
        of_second.share(&of_first);
        assert_eq!((of_first.to_json(), of_second.to_json()), (first.clone(), second.clone()));
        assert_eq!(serde_json::to_string(&of_second).expect("JSON"), second.to_string());
        let is_shared = |at: usize| Arc::ptr_eq(&of_first.0[at].1, &of_second.0[at].1);
        assert_eq!([0, 1, 2].map(is_shared), [false, true, true]);
        of_second["device"] = json!(4);
        assert_eq!((&of_first["device"]["channels"], &of_second["device"]), (&json!(8), &json!(4)));
        assert_eq!(of_first["host"], Value::Null);
    }
}
