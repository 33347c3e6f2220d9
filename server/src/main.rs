//! Entry of the binary; everything is in the library, so that tests can start a server in their own process.

fn main() -> std::process::ExitCode {
    server::cli::main()
}
