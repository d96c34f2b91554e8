//! JSON Schemas of what is written: they follow from the types.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

/// A generator of schemas of types as they are written, where a key may be absent.
pub fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_serialize().with_transform(AbsentKeys).into_generator()
}

/// Takes `null` out of the values of keys that may be absent: such a key is left out where it has no value.
#[derive(Clone)]
struct AbsentKeys;

impl Transform for AbsentKeys {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
        for (name, property) in properties {
            if !required.iter().any(|key| key == name) {
                remove_null(property);
            }
        }
    }
}

fn remove_null(schema: &mut Value) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [kind] = &types[..] {
            schema["type"] = kind.clone();
        }
    }
    if let Some(Value::Array(alternatives)) = schema.get_mut("anyOf") {
        alternatives.retain(|alternative| alternative["type"] != "null");
        if let ([Value::Object(only)], Value::Object(schema)) = (&alternatives.clone()[..], schema) {
            schema.remove("anyOf");
            schema.extend(only.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Serialize;
    use serde_json::json;

    use super::*;

    #[derive(Serialize, JsonSchema)]
    struct Inner {
        count: u8,
    }

    #[derive(Serialize, JsonSchema)]
    struct Outer {
        #[serde(skip_serializing_if = "Option::is_none")]
        absent: Option<u8>,
        #[serde(skip_serializing_if = "Option::is_none")]
        inner: Option<Inner>,
        null: Option<bool>,
    }

    #[test]
    fn a_key_that_may_be_absent_is_never_null_and_others_may_be() {
        let schema = generator().into_root_schema_for::<Outer>();
        assert_eq!(schema.get("required"), Some(&json!(["null"])));
        let properties = &schema.as_value()["properties"];
        assert_eq!(properties["absent"]["type"], "integer");
        assert_eq!(properties["inner"], json!({"$ref": "#/$defs/Inner"}));
        assert_eq!(properties["null"]["type"], json!(["boolean", "null"]));
    }
}
