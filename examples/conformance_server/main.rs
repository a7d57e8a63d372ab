//! A server for the official conformance suite: its fixtures beside our own tools, on the transport of the product.
//!
//! The suite cannot send a bearer, so everybody is let in; it listens on this machine only.

mod fixtures;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let address = std::env::args().nth(1);
    let address = address.as_deref().unwrap_or("127.0.0.1:0");
    let listener = TcpListener::bind(address).await?;
    let server = fixtures::serve(listener, CancellationToken::new()).await?;
    println!("{}", server.endpoint());
    server.wait().await;
    Ok(())
}
