use std::process::ExitCode;

fn main() -> ExitCode {
    niagara_bridge::cli::main()
}
