//! Recovery as a decision table.
