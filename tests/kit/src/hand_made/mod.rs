//! Components written by hand, for what no compiler would make: a handler of one module, into whose
//! functions a test puts its own instructions.

mod needs;

pub use needs::{
    CONFIG, CONTEXT, ENQUEUE, EXIT, LOG, Need, OWN, PROGRESS, RANDOM, STREAMS, TIMERS,
};

/// The core of a hand-made handler: what its module has beside memory and exports, and the bodies
/// of its functions.
#[derive(Debug, Clone, Copy)]
pub struct HandMade<'a> {
    /// The interfaces it calls.
    pub needs: &'a [Need],
    /// More parts of the component.
    pub parts: &'a str,
    /// And these so many times.
    pub copies: (usize, &'a str),
    /// More fields of the core module.
    pub fields: &'a str,
    /// Parts of the component that come after the core module's instance, `$core`.
    pub after: &'a str,
    /// What `handle` does before it gives back an empty result.
    pub handle: &'a str,
    /// How `handle` is lifted, beside its memory: `(post-return …)`.
    pub lifted: &'a str,
    /// What `realloc(old, old size, align, size)` does before it gives back address 4096.
    pub realloc: &'a str,
    /// What `describe` does before it answers.
    pub asked: &'a str,
    /// The JSON that `describe` gives back.
    pub describe: &'a str,
    /// Pages of memory from the start.
    pub pages: u32,
}

impl HandMade<'static> {
    /// Completes with an empty result.
    pub const PLAIN: Self = Self {
        needs: &[],
        parts: "",
        copies: (0, ""),
        fields: "",
        after: "",
        handle: "",
        lifted: "",
        realloc: "",
        asked: "",
        describe: r#"{"schema":1,"kinds":[{"kind":"hand-made"}]}"#,
        pages: 1,
    };
}

impl Default for HandMade<'_> {
    fn default() -> Self {
        HandMade::PLAIN
    }
}

impl HandMade<'_> {
    /// The component's text. Its memory is exported by an instance of its own, so that functions
    /// of the host can be lowered into it before the module that calls them is made.
    #[must_use]
    pub fn text(&self) -> String {
        let Self {
            parts,
            fields,
            after,
            handle,
            lifted,
            realloc,
            asked,
            describe,
            pages,
            ..
        } = self;
        let (imports, lowered, with, called) = self.joined();
        let copies = self.copies.1.repeat(self.copies.0);
        let length = describe.len();
        let describe = describe.replace('\\', "\\\\").replace('"', "\\\"");
        // A result area at 512: zeros are `ok` with empty lists.
        format!(
            r#"(component
  {TYPES}
  {imports}
  (core module $libc
    (memory (export "memory") {pages})
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) {realloc} (i32.const 4096)))
  (core instance $libc (instantiate $libc))
  {lowered}
  {parts}
  {copies}
  (core module $core
    (import "libc" "memory" (memory {pages}))
    {called}
    {fields}
    (data (i32.const 1024) "{describe}")
    (func (export "describe") (param i32 i32) (result i32) {asked}
      (i32.store (i32.const 516) (i32.const 1024))
      (i32.store (i32.const 520) (i32.const {length}))
      (i32.const 512))
    (func (export "handle") (param i32) (result i32) {handle} (i32.const 512)))
  (core instance $core (instantiate $core (with "libc" (instance $libc)) {with}))
  {after}
  (func $describe (param "host-info" string) (result (result string (error string)))
    (canon lift (core func $core "describe") (memory $libc "memory")
      (realloc (func $libc "realloc"))))
  (func $handle (param "job" $job) (result (result $output (error $job-error)))
    (canon lift (core func $core "handle") {lifted} (memory $libc "memory")
      (realloc (func $libc "realloc"))))
  (instance $handler (export "describe" (func $describe)) (export "handle" (func $handle)))
  (export "sandhog:job/handler@0.1.0" (instance $handler)))"#
        )
    }

    /// The bytes of the component.
    ///
    /// # Panics
    ///
    /// When a test's own instructions are no text of a component.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let text = self.text();
        wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn joined(&self) -> (String, String, String, String) {
        let join = |part: fn(&Need) -> &'static str| {
            let parts: Vec<&str> = self.needs.iter().map(part).collect();
            parts.join("\n  ")
        };
        (
            join(|need| need.import),
            join(|need| need.lowered),
            join(|need| need.with),
            join(|need| need.called),
        )
    }
}

/// The contract's types, as a component imports them.
pub(crate) const TYPES: &str = r#"
  (import "sandhog:job/types@0.1.0" (instance $types
    (type $pair (tuple string string))
    (type $job (record (field "id" string) (field "kind" string) (field "queue" string)
      (field "attempt" u32) (field "max-attempts" u32) (field "enqueued-at-ms" u64)
      (field "deadline-ms" u64) (field "idempotency-key" string) (field "headers" (list $pair))
      (field "content-type" string) (field "payload" (list u8))
      (field "checkpoint" (option (list u8)))))
    (export "job" (type (eq $job)))
    (type $output (record (field "content-type" string) (field "payload" (list u8))))
    (export "output" (type (eq $output)))
    (type $failure (record (field "code" string) (field "message" string)
      (field "details" (list $pair))))
    (export "failure" (type $named-failure (eq $failure)))
    (type $job-error (variant (case "retryable" $named-failure)
      (case "retry-after" (tuple u64 $named-failure)) (case "permanent" $named-failure)
      (case "snooze" u64) (case "discard" string) (case "other" $named-failure)))
    (export "job-error" (type (eq $job-error)))))
  (alias export $types "job" (type $job))
  (alias export $types "output" (type $output))
  (alias export $types "job-error" (type $job-error))"#;
