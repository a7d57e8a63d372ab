//! The audit: what is recorded of a write, whatever happens to the process, the disk and the files.

mod commands;
mod damage;
mod disk;
mod gone;
mod support;
mod writes;
