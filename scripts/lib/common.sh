# shellcheck shell=bash
# Shared by all scripts: the paths, messages, the record of what was skipped, and --help; it brings in the
# rest of this directory too, and changes to the root of the repository.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root" || exit 1
target=$(realpath -m "${CARGO_TARGET_DIR:-$root/target}")
agent=$target/release/libhprof.so
cli=$target/release/hprof

# The parts that were left out, and why; scripts print them at their end with `report_skipped`.
skipped=()

note() { printf '== %s\n' "$*" >&2; }

die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

skip() {
    skipped+=("$*")
    printf 'skipped: %s\n' "$*" >&2
}

report_skipped() {
    if ((${#skipped[@]} == 0)); then
        echo "Nothing was skipped."
        return
    fi
    printf 'Skipped: %s\n' "${skipped[@]}"
}

# part NAME: from here on the script does NAME; `report_parts` prints how long each part took.
parts=()
part_name=
part_start=0
part() {
    end_part
    part_name=$*
    part_start=$SECONDS
    note "$part_name"
}

end_part() {
    if [[ -n $part_name ]]; then parts+=("$(printf '%5d s  %s' $((SECONDS - part_start)) "$part_name")"); fi
    part_name=
}

report_parts() {
    end_part
    printf '%s\n' "${parts[@]}" "$(printf '%5d s  in all' "$SECONDS")"
}

# The calling script's first comment is its help text.
show_help() {
    sed -n '2,${/^#/!q;s/^# \{0,1\}//;p}' "$0"
}

# Options that a user's shell gives to every JVM would change what is measured and printed.
clean_java_environment() {
    unset JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS JDK_JAVAC_OPTIONS _JAVA_HPROF_OPTIONS
    # File names of the JDK take other ways where the locale is not of UTF-8.
    export LC_ALL=C.UTF-8
}

build_release() {
    note "building the release agent"
    cargo build --locked --release --workspace
    [[ -f $agent ]] || die "the build left no $agent"
    [[ -x $cli ]] || die "the build left no $cli"
}

# shellcheck source=scripts/lib/install.sh
source scripts/lib/install.sh
# shellcheck source=scripts/lib/debian_jvms.sh
source scripts/lib/debian_jvms.sh
# shellcheck source=scripts/lib/jdks.sh
source scripts/lib/jdks.sh
# shellcheck source=scripts/lib/programs.sh
source scripts/lib/programs.sh
