//! The contract with guests, generated from `wit/`.
#![allow(missing_docs, unreachable_pub, clippy::all)]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "handler-plugin",
    imports: {
        "sandhog:job/context.checkpoint": async,
        "sandhog:job/context.sleep": async,
        default: exact,
    },
    exports: { default: async },
});
