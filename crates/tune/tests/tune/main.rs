//! Searches on recorded spaces, and sessions over a workbench that computes times from names.

mod killed;
mod recorded;
mod session;
mod workbench;
