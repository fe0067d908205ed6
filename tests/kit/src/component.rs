//! Components made by hand, in text: what a test needs many of, small and each different.

use crate::hand_made::TYPES;

/// The text of a handler of one kind. `handle` is what it does before it gives back an empty result,
/// `fields` are more fields of its core module, and `mark` makes it differ from others.
#[must_use]
pub fn handler(kind: &str, handle: &str, fields: &str, mark: &str) -> String {
    let describe = format!(r#"{{"schema":1,"kinds":[{{"kind":"{kind}","summary":"{mark}"}}]}}"#);
    let length = describe.len();
    let describe = describe.replace('"', "\\\"");
    // A result area at 512: zeros are `ok` with empty lists.
    format!(
        r#"(component
  {TYPES}
  (core module $core
    (memory (export "memory") 1)
    {fields}
    (data (i32.const 1024) "{describe}")
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
    (func (export "describe") (param i32 i32) (result i32)
      (i32.store (i32.const 516) (i32.const 1024))
      (i32.store (i32.const 520) (i32.const {length}))
      (i32.const 512))
    (func (export "handle") (param i32) (result i32) {handle} (i32.const 512)))
  (core instance $core (instantiate $core))
  (func $describe (param "host-info" string) (result (result string (error string)))
    (canon lift (core func $core "describe") (memory $core "memory")
      (realloc (func $core "realloc"))))
  (func $handle (param "job" $job) (result (result $output (error $job-error)))
    (canon lift (core func $core "handle") (memory $core "memory")
      (realloc (func $core "realloc"))))
  (instance $handler (export "describe" (func $describe)) (export "handle" (func $handle)))
  (export "sandhog:job/handler@0.1.0" (instance $handler)))"#
    )
}

/// The text of a small component that is made of `width` to the power of `depth` instances.
#[must_use]
pub fn nested(depth: u32, width: u32) -> String {
    let mut inner = "(core module $m (func (export \"f\")))".to_owned();
    for _ in 0..width {
        inner += "(core instance (instantiate $m))";
    }
    let mut text = format!("(component {inner})");
    for level in 1..depth {
        let named = text.replacen("(component", &format!("(component $c{level}"), 1);
        let instances = format!("(instance (instantiate $c{level}))").repeat(width as usize);
        text = format!("(component {named} {instances})");
    }
    text
}

/// A function of many loops one after the other: the compiler's time grows with their square.
#[must_use]
pub fn many_loops(loops: usize) -> String {
    let one = "(loop $l (local.set 0 (i32.add (local.get 0) (i32.const 1))) (br_if $l (i32.lt_u (local.get 0) (local.get 1))))";
    format!("(func (param i32 i32) {})", one.repeat(loops))
}
