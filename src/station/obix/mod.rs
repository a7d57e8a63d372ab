//! oBIX client, read side.

pub mod decode;
pub mod display;
pub mod encode;
pub mod href;
pub mod object;
pub mod paging;
pub mod record;
