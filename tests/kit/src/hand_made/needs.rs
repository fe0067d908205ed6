//! What a hand-made handler may import, and the names its instructions call it by.

/// An interface, or a resource of the component's own, as each part of the component needs it.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    pub(super) import: &'static str,
    pub(super) lowered: &'static str,
    pub(super) with: &'static str,
    pub(super) called: &'static str,
}

/// `$after(nanoseconds) -> pollable`, `$block(pollable)`, `$poll(list, length, result)`,
/// `$let-go(pollable)`.
pub const TIMERS: Need = Need {
    import: r#"(import "wasi:io/poll@0.2.0" (instance $io-poll
    (export "pollable" (type $pollable (sub resource)))
    (export "[method]pollable.block" (func (param "self" (borrow $pollable))))
    (export "poll" (func (param "in" (list (borrow $pollable))) (result (list u32))))))
  (alias export $io-poll "pollable" (type $pollable))
  (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
    (alias outer 1 $pollable (type $outer))
    (export "pollable" (type $pollable (eq $outer)))
    (export "subscribe-duration" (func (param "when" u64) (result (own $pollable))))))"#,
    lowered: r#"(core func $after (canon lower (func $clock "subscribe-duration")))
  (core func $block (canon lower (func $io-poll "[method]pollable.block")))
  (core func $poll (canon lower (func $io-poll "poll") (memory $libc "memory")
    (realloc (func $libc "realloc"))))
  (core func $let-go (canon resource.drop $pollable))"#,
    with: r#"(with "timers" (instance (export "after" (func $after)) (export "block" (func $block))
    (export "poll" (func $poll)) (export "let-go" (func $let-go))))"#,
    called: r#"(import "timers" "after" (func $after (param i64) (result i32)))
    (import "timers" "block" (func $block (param i32)))
    (import "timers" "poll" (func $poll (param i32 i32 i32)))
    (import "timers" "let-go" (func $let-go (param i32)))"#,
};

/// `$random(length, result)`.
pub const RANDOM: Need = Need {
    import: r#"(import "wasi:random/random@0.2.0" (instance $wasi-random
    (export "get-random-bytes" (func (param "len" u64) (result (list u8))))))"#,
    lowered: r#"(core func $random (canon lower (func $wasi-random "get-random-bytes")
    (memory $libc "memory") (realloc (func $libc "realloc"))))"#,
    with: r#"(with "random" (instance (export "bytes" (func $random))))"#,
    called: r#"(import "random" "bytes" (func $random (param i64 i32)))"#,
};

/// `$exit(0 for success, 1 for failure)`.
pub const EXIT: Need = Need {
    import: r#"(import "wasi:cli/exit@0.2.0" (instance $cli-exit
    (export "exit" (func (param "status" (result))))))"#,
    lowered: r#"(core func $exit (canon lower (func $cli-exit "exit")))"#,
    with: r#"(with "exit" (instance (export "exit" (func $exit))))"#,
    called: r#"(import "exit" "exit" (func $exit (param i32)))"#,
};

/// `$stdout() -> stream`, `$room(stream, result)`, `$write(stream, bytes, length, result)`;
/// `$stdin() -> stream`, `$read(stream, length, result)`.
pub const STREAMS: Need = Need {
    import: r#"(import "wasi:io/error@0.2.0" (instance $io-error
    (export "error" (type (sub resource)))))
  (alias export $io-error "error" (type $io-error))
  (import "wasi:io/streams@0.2.0" (instance $io-streams
    (export "output-stream" (type $out (sub resource)))
    (export "input-stream" (type $in (sub resource)))
    (alias outer 1 $io-error (type $outer))
    (export "error" (type $error (eq $outer)))
    (type $stream-error (variant (case "last-operation-failed" (own $error)) (case "closed")))
    (export "stream-error" (type $named (eq $stream-error)))
    (export "[method]output-stream.check-write"
      (func (param "self" (borrow $out)) (result (result u64 (error $named)))))
    (export "[method]output-stream.write"
      (func (param "self" (borrow $out)) (param "contents" (list u8)) (result (result (error $named)))))
    (export "[method]input-stream.blocking-read"
      (func (param "self" (borrow $in)) (param "len" u64) (result (result (list u8) (error $named)))))))
  (alias export $io-streams "output-stream" (type $output-stream))
  (alias export $io-streams "input-stream" (type $input-stream))
  (import "wasi:cli/stdout@0.2.0" (instance $cli-stdout
    (alias outer 1 $output-stream (type $outer))
    (export "output-stream" (type $out (eq $outer)))
    (export "get-stdout" (func (result (own $out))))))
  (import "wasi:cli/stdin@0.2.0" (instance $cli-stdin
    (alias outer 1 $input-stream (type $outer))
    (export "input-stream" (type $in (eq $outer)))
    (export "get-stdin" (func (result (own $in))))))"#,
    lowered: r#"(core func $stdout (canon lower (func $cli-stdout "get-stdout")))
  (core func $stdin (canon lower (func $cli-stdin "get-stdin")))
  (core func $room (canon lower (func $io-streams "[method]output-stream.check-write")
    (memory $libc "memory")))
  (core func $write (canon lower (func $io-streams "[method]output-stream.write")
    (memory $libc "memory")))
  (core func $read (canon lower (func $io-streams "[method]input-stream.blocking-read")
    (memory $libc "memory") (realloc (func $libc "realloc"))))"#,
    with: r#"(with "streams" (instance (export "stdout" (func $stdout)) (export "stdin" (func $stdin))
    (export "room" (func $room)) (export "write" (func $write)) (export "read" (func $read))))"#,
    called: r#"(import "streams" "stdout" (func $stdout (result i32)))
    (import "streams" "stdin" (func $stdin (result i32)))
    (import "streams" "room" (func $room (param i32 i32)))
    (import "streams" "write" (func $write (param i32 i32 i32 i32)))
    (import "streams" "read" (func $read (param i32 i64 i32)))"#,
};

/// `$log(level, text, length, fields, length)`.
pub const LOG: Need = Need {
    import: r#"(import "sandhog:job/log@0.1.0" (instance $job-log
    (type $levels (enum "trace" "debug" "info" "warn" "error"))
    (export "level" (type $level (eq $levels)))
    (export "log" (func (param "level" $level) (param "message" string)
      (param "fields" (list (tuple string string)))))))"#,
    lowered: r#"(core func $log (canon lower (func $job-log "log") (memory $libc "memory")))"#,
    with: r#"(with "log" (instance (export "log" (func $log))))"#,
    called: r#"(import "log" "log" (func $log (param i32 i32 i32 i32 i32)))"#,
};

/// `$cancelled() -> 0 or 1`, `$checkpoint(bytes, length, result)`.
pub const CONTEXT: Need = Need {
    import: r#"(import "sandhog:job/context@0.1.0" (instance $context
    (export "cancelled" (func (result bool)))
    (export "checkpoint" (func (param "data" (list u8)) (result (result (error string)))))))"#,
    lowered: r#"(core func $cancelled (canon lower (func $context "cancelled")))
  (core func $checkpoint (canon lower (func $context "checkpoint") (memory $libc "memory")
    (realloc (func $libc "realloc"))))"#,
    with: r#"(with "context" (instance (export "cancelled" (func $cancelled))
    (export "checkpoint" (func $checkpoint))))"#,
    called: r#"(import "context" "cancelled" (func $cancelled (result i32)))
    (import "context" "checkpoint" (func $checkpoint (param i32 i32 i32)))"#,
};

/// `$progress(done, some total?, total, some note?, text, length)`.
pub const PROGRESS: Need = Need {
    import: r#"(import "sandhog:job/progress@0.1.0" (instance $job-progress
    (export "report" (func (param "done" u64) (param "total" (option u64))
      (param "note" (option string))))))"#,
    lowered: r#"(core func $progress (canon lower (func $job-progress "report")
    (memory $libc "memory")))"#,
    with: r#"(with "progress" (instance (export "report" (func $progress))))"#,
    called: r#"(import "progress" "report" (func $progress (param i64 i32 i64 i32 i32 i32)))"#,
};

/// `$config(key, length, result)`: 0 in the result's first byte when the operator set nothing.
pub const CONFIG: Need = Need {
    import: r#"(import "sandhog:job/config@0.1.0" (instance $job-config
    (export "get" (func (param "key" string) (result (option string))))))"#,
    lowered: r#"(core func $config (canon lower (func $job-config "get") (memory $libc "memory")
    (realloc (func $libc "realloc"))))"#,
    with: r#"(with "config" (instance (export "get" (func $config))))"#,
    called: r#"(import "config" "get" (func $config (param i32 i32 i32)))"#,
};

/// `$enqueue(kind, payload, content type, headers, options: each a place and a length; result)`.
pub const ENQUEUE: Need = Need {
    import: r#"(import "sandhog:job/enqueue@0.1.0" (instance $job-enqueue
    (type $pairs (list (tuple string string)))
    (type $wish (record (field "kind" string) (field "payload" (list u8))
      (field "content-type" string) (field "headers" $pairs) (field "options" $pairs)))
    (export "new-job" (type $new-job (eq $wish)))
    (type $refused (variant (case "invalid" string) (case "quota" string) (case "denied" string)
      (case "other" string)))
    (export "enqueue-error" (type $enqueue-error (eq $refused)))
    (export "enqueue"
      (func (param "job" $new-job) (result (result string (error $enqueue-error)))))))"#,
    lowered: r#"(core func $enqueue (canon lower (func $job-enqueue "enqueue")
    (memory $libc "memory") (realloc (func $libc "realloc"))))"#,
    with: r#"(with "enqueue" (instance (export "enqueue" (func $enqueue))))"#,
    called: r#"(import "enqueue" "enqueue"
      (func $enqueue (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))"#,
};

/// A resource of the component's own: `$own() -> handle`, and `$disown(handle)`, whose destructor
/// never ends.
pub const OWN: Need = Need {
    import: "",
    lowered: r#"(core module $ends (func (export "end") (param i32) (loop $l (br $l))))
  (core instance $ends (instantiate $ends))
  (type $owned (resource (rep i32) (dtor (func $ends "end"))))
  (core func $own (canon resource.new $owned))
  (core func $disown (canon resource.drop $owned))"#,
    with: r#"(with "own" (instance (export "own" (func $own)) (export "disown" (func $disown))))"#,
    called: r#"(import "own" "own" (func $own (param i32) (result i32)))
    (import "own" "disown" (func $disown (param i32)))"#,
};
