//! Providers over real HTTP, and sessions with models that behave badly.

mod calls;
mod killed;
mod prompts;
mod server;
mod sessions;
