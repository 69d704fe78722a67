//! The configuration in a result. Results of a comparison hold the configuration of one of them, and of their own only
//! the keys that differ, so that a thousand of them hold the text of most keys once.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An effective configuration as JSON: an object with an object for each section, in which each policy has one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Value", into = "Value")]
pub struct ConfigResult {
    /// That of another result, or its own.
    base: Arc<Value>,
    /// Keys with other values than there, by their JSON pointer (RFC 6901).
    changed: Vec<(String, Value)>,
}

impl From<Value> for ConfigResult {
    fn from(json: Value) -> Self {
        Self { base: Arc::new(json), changed: Vec::new() }
    }
}

impl From<ConfigResult> for Value {
    fn from(ConfigResult { base, changed }: ConfigResult) -> Self {
        let mut json = Arc::unwrap_or_clone(base);
        for (pointer, value) in changed {
            *json.pointer_mut(&pointer).expect("the key of another configuration is in it") = value;
        }
        json
    }
}

impl PartialEq for ConfigResult {
    fn eq(&self, other: &Self) -> bool {
        (Arc::ptr_eq(&self.base, &other.base) && self.changed == other.changed) || self.to_json() == other.to_json()
    }
}

impl ConfigResult {
    /// The whole configuration.
    pub fn to_json(&self) -> Value {
        self.clone().into()
    }

    /// The value of a key by its JSON pointer, such as `/run/seed`; null if there is none.
    pub fn get(&self, pointer: &str) -> &Value {
        let own = self.changed.iter().find_map(|(of, value)| {
            let rest = pointer.strip_prefix(of.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then(|| value.pointer(rest))
        });
        let value = own.unwrap_or_else(|| self.base.pointer(pointer));
        value.filter(|value| !value.is_object()).unwrap_or(&Value::Null)
    }

    /// Changes the configuration.
    pub fn change(&mut self, change: impl FnOnce(&mut Value)) {
        let mut json = std::mem::take(self).into();
        change(&mut json);
        *self = json.into();
    }

    /// Keeps of its own only what differs from another configuration, if both have the same keys.
    pub fn share(&mut self, other: &Self) {
        let (own, mut changed) = (self.to_json(), Vec::new());
        if differ(&mut String::new(), &other.base, &own, &mut changed) {
            *self = Self { base: Arc::clone(&other.base), changed };
        }
    }
}

/// Collects the values of `own` that differ from those of `base`; returns false if not all keys are the same, in one
/// order. Names of keys and policies need no escapes.
fn differ(pointer: &mut String, base: &Value, own: &Value, changed: &mut Vec<(String, Value)>) -> bool {
    let (Value::Object(of_base), Value::Object(of_own)) = (base, own) else {
        if base != own {
            changed.push((pointer.clone(), own.clone()));
        }
        return base.is_object() == own.is_object();
    };
    let length = pointer.len();
    of_base.len() == of_own.len()
        && of_base.iter().zip(of_own).all(|((name, base), (own_name, own))| {
            pointer.truncate(length);
            pointer.push('/');
            pointer.push_str(name);
            name == own_name && !name.contains(['/', '~']) && differ(pointer, base, own, changed)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A configuration, and the same one as it is once it shares what it can with another.
    fn sharing(own: &Value, other: &Value) -> (ConfigResult, bool) {
        let [mut sharing, other] = [own, other].map(|json| ConfigResult::from(json.clone()));
        sharing.share(&other);
        let is_shared = Arc::ptr_eq(&sharing.base, &other.base);
        (sharing, is_shared)
    }

    #[test]
    fn a_configuration_that_shares_another_is_what_it_was() {
        let base = json!({"run": {"seed": 1, "drain": false}, "ftl": {"gc": "greedy", "greedy": {"a": [1, 2]}}});
        let seeds = json!({"run": {"seed": 2, "drain": false}, "ftl": {"gc": "greedy", "greedy": {"a": [2]}}});
        let (config, is_shared) = sharing(&seeds, &base);
        assert!(is_shared && config.changed.len() == 2);
        assert_eq!(config, ConfigResult::from(seeds.clone()));
        assert_ne!(config, ConfigResult::from(base.clone()));
        assert_eq!(serde_json::to_string(&config).expect("JSON"), seeds.to_string());
        assert_eq!([config.get("/run/seed"), config.get("/run/drain")], [&json!(2), &json!(false)]);
        assert_eq!([config.get("/ftl/greedy/a/0"), config.get("/ftl/greedy/a/1")], [&json!(2), &Value::Null]);
        assert_eq!([config.get("/run"), config.get("/host/x"), config.get("/run/x")], [&Value::Null; 3]);
        let mut changed = config.clone();
        changed.change(|json| json["run"]["seed"] = 3.into());
        assert_eq!((changed.get("/run/seed"), config.get("/run/seed")), (&json!(3), &json!(2)));
        // What shares with something that shares itself.
        let (mut third, last) = (ConfigResult::from(base.clone()), config);
        third.share(&last);
        assert_eq!((third.to_json(), third.changed.len()), (base, 0));
    }

    #[test]
    fn configurations_with_other_keys_or_another_order_share_nothing() {
        let base = json!({"run": {"seed": 1, "drain": false}, "ftl": {}});
        for own in [
            json!({"run": {"drain": false, "seed": 1}, "ftl": {}}),
            json!({"run": {"seed": 1}, "ftl": {}}),
            json!({"run": {"seed": 1, "drain": false}, "host": {}}),
            json!({"run": {"seed": 1, "drain": false}, "ftl": 3}),
            json!({"run": {"seed": 1, "drain": {}}, "ftl": {}}),
        ] {
            let (config, is_shared) = sharing(&own, &base);
            assert!(!is_shared && config.to_json() == own, "{own}");
        }
    }
}
