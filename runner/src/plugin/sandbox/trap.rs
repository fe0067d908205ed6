//! Traps in the words of a job's history.

use sandhog_model::TrapKind;
use wasmtime::Trap;

/// What the trap is called, and one line about it.
pub(crate) fn describe(trap: Trap) -> (TrapKind, String) {
    let kind = match trap {
        Trap::UnreachableCodeReached => TrapKind::Unreachable,
        Trap::MemoryOutOfBounds => TrapKind::OutOfBounds,
        Trap::TableOutOfBounds => TrapKind::TableOutOfBounds,
        Trap::StackOverflow => TrapKind::StackOverflow,
        Trap::IntegerDivisionByZero => TrapKind::DivideByZero,
        Trap::IntegerOverflow => TrapKind::IntegerOverflow,
        Trap::BadConversionToInteger => TrapKind::BadConversion,
        Trap::IndirectCallToNull | Trap::BadSignature => TrapKind::IndirectCall,
        _ => TrapKind::Unknown,
    };
    let cause = match kind {
        TrapKind::Unreachable => "the handler aborted".into(),
        TrapKind::OutOfBounds => "the handler reached outside its memory".into(),
        TrapKind::TableOutOfBounds => "the handler reached outside a table of functions".into(),
        TrapKind::StackOverflow => "the handler ran out of stack".into(),
        TrapKind::DivideByZero => "the handler divided an integer by zero".into(),
        TrapKind::IntegerOverflow => "the handler overflowed an integer".into(),
        TrapKind::BadConversion => {
            "the handler turned a float into an integer that cannot hold it".into()
        }
        TrapKind::IndirectCall => {
            "the handler called a function that is not there or of another type".into()
        }
        TrapKind::Unknown => format!("the handler trapped: {}", text(trap)),
    };
    (kind, cause)
}

/// The engine's own text, without its prefix.
fn text(trap: Trap) -> String {
    let text = trap.to_string();
    text.strip_prefix("wasm trap: ").unwrap_or(&text).to_owned()
}
