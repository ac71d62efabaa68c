//! Asks the Python environment that Lazyloom is installed in how to link with its library.
//!
//! PYTHON names its interpreter (python3 if it is not set). Without one that has Lazyloom,
//! pkg-config is asked for "lazyloom".

use std::env;
use std::process::Command;

fn output(program: &str, arguments: &[&str]) -> Result<String, String> {
    let done = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if done.status.success() {
        Ok(String::from_utf8_lossy(&done.stdout).trim().to_string())
    } else {
        Err(format!("{program}: {}", String::from_utf8_lossy(&done.stderr).trim()))
    }
}

fn main() {
    println!("cargo:rerun-if-env-changed=PYTHON");
    let python = env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let flags = output(&python, &["-m", "lazyloom_capi", "--libs"]).or_else(|first| {
        output("pkg-config", &["--libs", "lazyloom"]).map_err(|second| {
            format!(
                "Lazyloom was not found: {first}; {second}; \
                 set PYTHON to the interpreter of the environment that it is installed in"
            )
        })
    });
    let flags = flags.unwrap_or_else(|message| panic!("{message}"));
    for flag in flags.split_whitespace() {
        if let Some(folder) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={folder}");
            // for programs of this package; others read DEP_LAZYLOOM_LIBRARY in a build.rs
            println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
            println!("cargo:library={folder}");
        } else if let Some(name) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={name}");
        }
    }
}
