//! Columns, and which of them have room.

use ratatui::layout::Constraint;

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) is_right: bool,
    /// In cells of the terminal; `None` for what is left.
    width: Option<u16>,
    /// From which width of the screen on it is shown.
    from: u16,
}

pub(super) const fn text(title: &'static str, width: u16, from: u16) -> Column {
    Column {
        title,
        is_right: false,
        width: Some(width),
        from,
    }
}

pub(super) const fn right(title: &'static str, width: u16, from: u16) -> Column {
    Column {
        title,
        is_right: true,
        width: Some(width),
        from,
    }
}

/// One that takes what is left.
pub(super) const fn free(title: &'static str, from: u16) -> Column {
    Column {
        title,
        is_right: false,
        width: None,
        from,
    }
}

impl Column {
    pub(super) const fn is_shown(&self, screen: u16) -> bool {
        screen >= self.from
    }

    pub(super) fn constraint(&self) -> Constraint {
        match self.width {
            Some(width) => Constraint::Length(width),
            None => Constraint::Min(1),
        }
    }
}
