# shellcheck shell=bash
# The parts of `scripts/test-windows`.

windows_target=x86_64-pc-windows-gnu
# A folder of its own: the packages have other features there than in a build of the whole workspace.
windows_build=${target:?common.sh comes first}/windows
windows_hprof=$windows_build/$windows_target/debug/hprof.exe
windows_packages=(os format options profile heap jfr tables instrument memory locks names jvmti stacks output agent cli)

install_for_windows() {
    need_cargo
    rustup target add "$windows_target" >/dev/null 2>&1 || die "rustup could not add $windows_target"
    need_command x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64-win32 || die "the linker for Windows could not be installed"
}

windows_cargo() {
    CARGO_TARGET_DIR=$windows_build CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 cargo "$1" --locked --target "$windows_target" "${@:2}"
}

build_for_windows() {
    install_for_windows
    note "building the command for Windows"
    windows_cargo build -p hprof-cli >&2
}

# Wine, with a folder of its own in which it keeps its Windows.
start_wine() {
    need_command wine wine wine64 || die "Wine could not be installed"
    # The second line keeps Wine from asking whether it should install .NET and a browser.
    export WINEPREFIX=$target/wine WINEDEBUG=-all
    export WINEDLLOVERRIDES="mscoree,mshtml="
    local system=$WINEPREFIX/drive_c/windows/system32
    [[ -e $system/kernel32.dll ]] || wineboot --init >&2 || die "Wine cannot be set up"
    # Wine before 9 lacks a library that every program in Rust takes random bytes from.
    [[ -e $system/bcryptprimitives.dll ]] ||
        x86_64-w64-mingw32-gcc -shared -O1 -s -o "$system/bcryptprimitives.dll" scripts/lib/bcryptprimitives.c -ladvapi32
    # Wine's own services start with the first program, and say on its standard error what fails in them.
    # It fails if it is there already.
    wineserver --persistent || true
    trap 'wineserver --kill' EXIT
    wine cmd /c exit >/dev/null 2>&1 </dev/null
}

# run_windows_tests NAME...: the unit tests with these names, or all.
run_windows_tests() {
    install_for_windows
    start_wine
    note "building and running the unit tests for Windows"
    # Where Wine puts the stacks of threads, many may share a counter, which costs time alone.
    windows_cargo test "${windows_packages[@]/#/-phprof-}" --lib --bins --no-fail-fast \
        --config "target.$windows_target.runner='wine'" -- --skip threads_that_run_together_hardly_share_counters "$@"
}

# What the command prints on Windows and on Linux, from the same files.
compare_with_linux() {
    build_for_windows
    start_wine
    linux_hprof=${HPROF_CLI:-}
    if [[ -z $linux_hprof ]]; then
        cargo build --locked -p hprof-cli
        linux_hprof=$target/debug/hprof
    fi
    note "comparing what the command prints on Windows and on Linux"
    work=$(mktemp -d)
    trap 'wineserver --kill; rm -rf "$work"' EXIT
    mkdir "$work/windows" "$work/linux"
    export COLUMNS=100
    compare_profiles
    compare_dump
    check_paths
    check_refusals
    check_servers
    echo "$compared commands did the same on Windows and Linux"
}

compared=0

# on SYSTEM ARGUMENT...: the command, in the folder of that system.
on() {
    local program=("$linux_hprof")
    [[ $1 == windows ]] && program=(wine "$windows_hprof")
    (cd "$work/$1" && "${program[@]}" "${@:2}")
}

# same ARGUMENT...: the command prints the same on both systems and ends with the same status, and the files in both folders
# are the same afterwards.
same() {
    local system status
    for system in windows linux; do
        status=0
        on "$system" "$@" >"$work/$system.out" 2>"$work/$system.err" </dev/null || status=$?
        echo "$status" >"$work/$system.status"
    done
    # These differ by design: the systems' own words for what failed.
    diff "$work/linux.status" "$work/windows.status" >&2 || die "\`hprof $*\` ends with another status on Windows: $(cat "$work/windows.err")"
    diff "$work/linux.out" "$work/windows.out" >&2 || die "\`hprof $*\` prints something else on Windows"
    diff "$work/linux.err" "$work/windows.err" >&2 || die "\`hprof $*\` prints other messages on Windows"
    diff -r -x '*.index' "$work/linux" "$work/windows" >&2 || die "\`hprof $*\` writes something else on Windows"
    compared=$((compared + 1))
}

# expect TEXT STATUS ARGUMENT...: what the command says on Windows, and the status it ends with.
expect() {
    local output status=0
    output=$(on windows "${@:3}" 2>&1 </dev/null) || status=$?
    [[ $output == *"$1"* ]] || die "\`$1\` is missing in what \`hprof ${*:3}\` prints on Windows: $output"
    [[ $status == "$2" ]] || die "\`hprof ${*:3}\` ends with status $status on Windows, not $2"
}

compare_profiles() {
    local profile name
    for profile in crates/cli/tests/profiles/*.{hprof.gz,txt}; do
        name=$(basename "$profile")
        cp "$profile" "$work/windows/"
        cp "$profile" "$work/linux/"
        same check "$name"
        same top "$name"
        same tree "$name"
        same text "$name"
        same report "$name" -o "$name.html"
        same flame "$name" -o "$name.svg"
        same export "$name" --to pprof -o "$name.pb"
        same export "$name" --to collapsed
        same export "$name" --to json -o "$name.json"
    done
    same redact alloc.hprof.gz -o redacted.hprof
    same diff alloc.hprof.gz growth.hprof.gz
    same merge alloc.hprof.gz alloc.hprof.gz -o merged.hprof
    same growth growth.hprof.gz
    same options
    same options heap
    # The help of what needs an agent differs.
    for name in bash powershell; do expect "hprof" 0 completions "$name"; done
    expect "" 0 manual manual
    has_line_ends_of_unix "$work"/windows/manual/*
    rm -r "$work/windows/manual"
}

has_line_ends_of_unix() {
    if grep -l $'\r' -- "$@" >&2; then die "the command wrote line ends of Windows"; fi
}

compare_dump() {
    local java=java name
    [[ -z $(newest_compiler) ]] || java=$(newest_compiler)/bin/java
    if ! command -v "$java" >/dev/null; then
        skip "the comparison of what is printed of a heap dump: there is no JDK to make one"
        return
    fi
    "$java" scripts/lib/Dumped.java "$work/linux/heap.hprof" 300000
    cp "$work/linux/heap.hprof" "$work/windows/"
    same check heap.hprof
    same heap summary heap.hprof --no-index
    same heap index heap.hprof
    for name in histogram leaks threads loaders; do same heap "$name" heap.hprof; done
    same heap who heap.hprof --class java.lang.String
    same heap retained heap.hprof --by class
    [[ -e $work/windows/heap.hprof.index ]] || die "Windows has no index of the dump"
    same heap leaks heap.hprof --json
    same heap diff heap.hprof heap.hprof
    same heap leaks heap.hprof --no-index --memory 8m
    # Its bytes are random: equal ones stay equal, and nobody can guess what they were.
    expect "" 0 redact heap.hprof -o random.hprof
    expect STRING 0 check random.hprof
    rm "$work/windows/random.hprof"
    same export heap.hprof --to parquet -o tables
    same heap index heap.hprof --remove
}

# Drives, the separators of both systems, letters that no code page has, and paths that are longer than Windows had allowed.
check_paths() {
    local profile=alloc.hprof.gz long name="Übung 日本.hprof.gz"
    cp "$work/windows/$profile" "$work/windows/$name"
    expect STRING 0 check "$name"
    expect STRING 0 check "Z:${work//\//\\}\\windows\\$profile"
    expect STRING 0 check "Z:$work/windows/$profile"
    expect STRING 0 check "..\\windows\\.\\$profile"
    long=$(printf 'folder%.0s' {1..20})
    long=$long/$long/$long
    mkdir -p "$work/windows/$long"
    cp "$work/windows/$profile" "$work/windows/$long/"
    expect STRING 0 check "$long/$profile"
    expect STRING 0 check "\\\\?\\Z:${work//\//\\}\\windows\\${long//\//\\}\\$profile"
    expect "" 0 report "$long/$profile" -o "$long/page.html"
    expect "" 0 text "$long/$profile" -o NUL
    rm -r "$work/windows/${long%%/*}" "$work/windows/$name"
}

# What a system lacks, and wrong arguments.
check_refusals() {
    local command
    for command in "record -- java Main" "live 1" "leaks 1" "memory 1"; do
        # shellcheck disable=SC2086 # Words.
        expect "this command works on Linux alone" 1 $command
    done
    # Nobody has so high a number.
    for command in "attach 4294967292 cpu=samples" "status 4294967292" "dump 4294967292" "stop 4294967292"; do
        # shellcheck disable=SC2086 # Words.
        expect "no process 4294967292" 1 $command
    done
    expect "name what to measure" 2 attach 4294967292
    expect "no    programs" 1 doctor
    expect "x.hprof" 1 check 'C:\no such folder\x.hprof'
    expect "is the file to be read" 1 redact growth.hprof.gz -o GROWTH.hprof.gz
    expect "" 2 check --no-such-option
}

# What is served and received, and the end by Ctrl-C.
check_servers() {
    python3 scripts/lib/windows_servers.py "$work" alloc.hprof.gz "$linux_hprof" -- wine "$windows_hprof" || die "see above"
    compared=$((compared + 6))
}
