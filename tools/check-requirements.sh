#!/bin/sh
# Names in one sentence what this machine lacks for a build. Usage: check-requirements.sh PYTHON
python=${1:-python3}

fail() {
    echo "Daybreak cannot be built: $1." >&2
    exit 1
}

command -v cargo >/dev/null 2>&1 || fail "cargo was not found; install Rust 1.90 or newer (https://rustup.rs)"
rust=$(rustc --version 2>/dev/null | cut -d ' ' -f 2)
minor=$(echo "$rust" | cut -d . -f 2)
[ "${minor:-0}" -ge 90 ] || fail "Rust ${rust:-(unknown)} is too old; 1.90 or newer is needed"
command -v cc >/dev/null 2>&1 || fail "no C compiler was found; Rust links with it (on Debian: apt install gcc)"
command -v "$python" >/dev/null 2>&1 || fail "$python was not found; install Python 3.11 or newer"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$("$python" --version) is too old; 3.11 or newer is needed (make PYTHON=...)"
"$python" -c 'import venv, ensurepip' 2>/dev/null ||
    fail "$python has no venv module (on Debian: apt install python3-venv)"
