# shellcheck shell=bash
# The steps of `scripts/package`. A platform is <architecture>-<C library> on Linux, and <architecture>-<system> elsewhere.

packaging=${target:?common.sh comes first}/package
dist=$packaging/dist
linux_platforms="x86_64-gnu aarch64-gnu x86_64-musl aarch64-musl"
other_platforms="x86_64-windows aarch64-macos x86_64-macos"
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
summary="Heap and CPU profiling agent for today's JVMs"
description="HPROF, which the JDK shipped until version 8, rebuilt for JDK 11, 17, 21,
25, 26 and 27: exact allocation sites, heap dumps, CPU samples, call times
and monitors; and the command that reads its files and brings it to
programs that are already running."
maintainer="The hprof developers <hprof@localhost>"
# Stands in for the time of the build wherever a format wants a time.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y Cargo.toml)}
export SOURCE_DATE_EPOCH

install_zig() {
    local venv=${tools:?}/zig
    [[ -x $venv/bin/cargo-zigbuild && -x $venv/bin/python-zig ]] && return
    need_pip || return 1
    python3 -c 'import ensurepip, venv' 2>/dev/null || apt_install "python3's venv is missing" python3-venv || return 1
    note "installing zig and cargo-zigbuild into $venv"
    python3 -m venv --clear "$venv" >&2 &&
        "$venv/bin/python" -m pip --disable-pip-version-check install --quiet ziglang==0.17.1 cargo-zigbuild==0.24.0 >&2
}

install_package_tools() {
    need_command cc gcc libc6-dev || die "a C linker is needed to build"
    need_cargo
    install_zig || die "zig and cargo-zigbuild could not be installed"
    objcopy=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/llvm-objcopy
    [[ -x $objcopy ]] || rustup component add llvm-tools >&2 || die "Rust's component llvm-tools could not be added"
}

is_linux() { [[ " $linux_platforms " == *" $1 "* ]]; }

# macOS has the command alone.
has_agent() { [[ $1 != *-macos ]]; }

# check_platforms PLATFORM...
check_platforms() {
    local platform
    for platform; do
        [[ " $linux_platforms $other_platforms " == *" $platform "* ]] ||
            die "there is no platform $platform, but $linux_platforms $other_platforms"
    done
}

rust_target() {
    case $1 in
    *-windows) echo "${1%-*}-pc-windows-gnu" ;;
    *-macos) echo "${1%-*}-apple-darwin" ;;
    *) echo "${1%-*}-unknown-linux-${1#*-}" ;;
    esac
}

# The paths of this machine, as they must not stand in the files.
remapped() {
    printf -- '--remap-path-prefix=%s=%s ' "$root" /hprof "${CARGO_HOME:-$HOME/.cargo}" /cargo "$(rustc --print sysroot)" /rust
}

# build_platform PLATFORM [CRATE...]: the library and the command, or those crates, through zig, which knows what each glibc has, and
# links the unwinder into the library.
build_platform() {
    local rust_target flags zig_target crates=("${@:2}")
    if ((${#crates[@]} == 0)); then
        crates=(hprof-cli)
        if has_agent "$1"; then crates+=(hprof-agent); fi
    fi
    rust_target=$(rust_target "$1")
    zig_target=$rust_target
    flags=$(remapped)
    case $1 in
    *-gnu) zig_target+=.2.17 ;;
    # A library that a musl process loads shares that process's libc.
    *-musl) flags+=" -C target-feature=-crt-static" ;;
    esac
    rustup target add "$rust_target" >/dev/null 2>&1 || die "rustup could not add $rust_target"
    case $1 in
    *-windows)
        need_command x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64-win32 || die "the linker for Windows could not be installed"
        note "building for $1"
        CARGO_TARGET_DIR=$packaging/build CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_PROFILE_RELEASE_STRIP=symbols \
            RUSTFLAGS="$flags -C link-arg=-Wl,--no-insert-timestamp" cargo build --release --target "$rust_target" --locked "${crates[@]/#/-p=}"
        return
        ;;
    *-macos)
        use_macos "${1%-*}"
        flags+=" $macos_flags"
        ;;
    *) compile_unwinder "$zig_target" "$flags" ;;
    esac
    note "building for $1"
    CARGO_TARGET_DIR=$packaging/build zigbuild "$zig_target" "$flags" --locked "${crates[@]/#/-p=}"
}

# use_macos ARCHITECTURE: what a build for macOS needs.
use_macos() {
    # zig brings the C library, and no frameworks.
    macos_flags="-C link-arg=-F$root/scripts/lib/frameworks -C link-arg=-s"
    # The oldest that Rust's programs run on, and that the wheels promise.
    MACOSX_DEPLOYMENT_TARGET=10.12
    [[ $1 == aarch64 ]] && MACOSX_DEPLOYMENT_TARGET=11.0
    export MACOSX_DEPLOYMENT_TARGET
}

# zigbuild TARGET FLAGS ARGUMENT...
zigbuild() {
    PATH=$tools/zig/bin:$PATH ZIG_GLOBAL_CACHE_DIR=$packaging/zig CARGO_INCREMENTAL=0 RUSTFLAGS=$2 \
        cargo zigbuild --release --target "$1" "${@:3}"
}

# compile_unwinder TARGET FLAGS: zig compiles LLVM's unwinder and what every program starts with for whoever first links them, and
# keeps them, with the folders of this machine in their debug information. This has that done, for a library and for a command
# that are built as ours are, and takes the folders out.
compile_unwinder() {
    local work=$packaging/unwinder/$1
    [[ -e $work/done ]] && return
    note "compiling the unwinder for $1"
    rm -rf "$work"
    mkdir -p "$work/src"
    {
        printf '[package]\nname = "unwinder"\nversion = "0.0.0"\nedition = "2024"\n[lib]\ncrate-type = ["cdylib"]\n[workspace]\n'
        sed -n '/^\[profile\.release\]/,/^$/p' Cargo.toml
    } >"$work/Cargo.toml"
    printf '%s\n' '#[unsafe(no_mangle)]' 'pub extern "C" fn unwinds() -> bool { std::panic::catch_unwind(|| ()).is_err() }' >"$work/src/lib.rs"
    echo 'fn main() { assert!(std::panic::catch_unwind(|| ()).is_ok()); }' >"$work/src/main.rs"
    (cd "$work" && CARGO_TARGET_DIR=$work/target zigbuild "$1" "$2" --quiet) || die "the unwinder for $1 could not be compiled"
    find "$packaging/zig/o" \( -name '*.a' -o -name '*.o' \) -exec "$objcopy" --strip-debug {} \;
    touch "$work/done"
}

# lay_out PLATFORM: what is installed, below target/package/root/<platform>, and its debug information beside that.
lay_out() {
    local built home=$packaging/root/$1 debug=$packaging/debug/$1
    built=$packaging/build/$(rust_target "$1")/release
    rm -rf "$home" "$debug"
    mkdir -p "$home"/{bin,lib,share/man/man1,share/doc/hprof,share/hprof} "$debug"
    split_debug "$built/hprof" "$home/bin/hprof" "$debug"
    split_debug "$built/libhprof.so" "$home/lib/libhprof.so" "$debug"
    chmod 644 "$home/lib/libhprof.so"
    cp LICENSE-MIT LICENSE-APACHE CHANGELOG.md "$dist/THIRD-PARTY.txt" "$home/share/doc/hprof/"
    cp -R docs "$home/share/doc/hprof/book"
    cp "$dist"/hprof_fleet-*.whl "$home/share/hprof/"
    command_of_this_machine manual "$home/share/man/man1"
    gzip -9 -n "$home"/share/man/man1/*.1
    touch_all "$home" "$debug"
}

# The manual pages are the same on all platforms, so the command that this machine can run makes them: where that is among
# the chosen platforms, it is built already.
command_of_this_machine() {
    local platform
    platform=$(uname -m)-gnu
    # shellcheck disable=SC2154 # scripts/package sets it.
    if [[ " ${chosen[*]} " == *" $platform "* ]]; then
        "$packaging/build/$(rust_target "$platform")/release/hprof" "$@"
    else
        cargo run --locked --quiet -p hprof-cli -- "$@"
    fi
}

split_debug() {
    local from=$1 to=$2 debug
    debug=$3/$(basename "$1").debug
    "$objcopy" --only-keep-debug "$from" "$debug"
    "$objcopy" --strip-all --add-gnu-debuglink="$debug" "$from" "$to"
}

touch_all() { find "$@" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +; }

pack() {
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --format=gnu \
        --transform "s,^\.,$2," -C "$1" -cf - . | gzip -9 -n >"$dist/$2.tar.gz"
}

make_tarballs() {
    pack "$packaging/root/$1" "hprof-$version-linux-$1"
    pack "$packaging/debug/$1" "hprof-$version-linux-$1-debug"
}

# The Python package for many files, which needs no platform.
make_fleet_wheel() { python3 scripts/lib/make_fleet_wheel.py "$dist"; }

make_wheel() { python3 scripts/lib/make_wheel.py "$packaging/root/$1" "$1" "$version" "$dist"; }

# The licences of every crate that is linked into the library or the command, with their texts.
list_licences() {
    local platform rust_targets=()
    note "listing licences"
    for platform in $linux_platforms; do rust_targets+=("$(rust_target "$platform")"); done
    python3 scripts/lib/third_party.py "${rust_targets[@]}" >"$dist/THIRD-PARTY.txt"
}

# lay_out_elsewhere PLATFORM: what another system than Linux gets, below target/package/elsewhere/<platform>.
lay_out_elsewhere() {
    local built rust_target notes home=$packaging/elsewhere/$1
    rust_target=$(rust_target "$1")
    built=$packaging/build/$rust_target/release
    rm -rf "$home"
    case $1 in
    *-windows)
        notes=$home
        mkdir -p "$home"
        cp "$built/hprof.exe" "$built/hprof.dll" "$home/"
        ;;
    *)
        notes=$home/share/doc/hprof
        mkdir -p "$home"/{bin,share/man/man1} "$notes"
        cp "$built/hprof" "$home/bin/"
        command_of_this_machine manual "$home/share/man/man1"
        gzip -9 -n "$home"/share/man/man1/*.1
        ;;
    esac
    cp LICENSE-MIT LICENSE-APACHE CHANGELOG.md "$notes/"
    python3 scripts/lib/third_party.py "$rust_target" >"$notes/THIRD-PARTY.txt"
    cp -R docs "$notes/book"
    touch_all "$home"
}

# pack_elsewhere PLATFORM: the zip for Windows, the tarball for macOS, and the wheel.
pack_elsewhere() {
    local home=$packaging/elsewhere/$1 name=hprof-$version-${1#*-}-${1%-*}
    case $1 in
    *-windows) python3 scripts/lib/make_zip.py "$home" "$name" "$dist" ;;
    *) pack "$home" "$name" ;;
    esac
    python3 scripts/lib/make_wheel.py "$home" "$1" "$version" "$dist"
}

make_deb() {
    local architecture=amd64 root=$packaging/deb
    if ! command -v dpkg-deb >/dev/null; then
        skip "the .deb: it takes Debian's dpkg-deb"
        return
    fi
    [[ $1 == aarch64-* ]] && architecture=arm64
    rm -rf "$root"
    mkdir -p "$root/DEBIAN"
    cp -a "$packaging/root/$1" "$root/usr"
    debian_notes "$root/usr/share/doc/hprof"
    cat >"$root/DEBIAN/control" <<END
Package: hprof
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -sk --apparent-size "$root/usr" | cut -f 1)
Depends: libc6 (>= 2.17)
Section: devel
Priority: optional
Description: $summary
 ${description//$'\n'/$'\n' }
END
    touch_all "$root"
    dpkg-deb --root-owner-group -Zxz --build "$root" "$dist/hprof_${version}_$architecture.deb" >/dev/null
}

# debian_notes FOLDER: the copyright and the changelog, as Debian wants them.
debian_notes() {
    cat - LICENSE-MIT >"$1/copyright" <<END
hprof is licensed under the Apache License, Version 2.0 (/usr/share/common-licenses/Apache-2.0), or, as you like, under
the terms below. THIRD-PARTY.txt, beside this file, has those of what is linked in.

END
    gzip -9 -n >"$1/changelog.gz" <<END
hprof ($version) stable; urgency=low

  * What is new stands in CHANGELOG.md.

 -- $maintainer  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
END
}

make_rpm() {
    local architecture=${1%-*} work=$packaging/rpm
    if ! need_command rpmbuild rpm; then
        skip "the .rpm: rpmbuild could not be installed"
        return
    fi
    rm -rf "$work"
    mkdir -p "$work"
    cat >"$work/hprof.spec" <<END
Name: hprof
Version: $version
Release: 1
Summary: $summary
License: MIT OR Apache-2.0
Packager: $maintainer
AutoReqProv: no
Requires: glibc >= 2.17

%description
$description

%install
mkdir -p %{buildroot}
cp -a $packaging/root/$1 %{buildroot}/usr

%files
/usr/bin/hprof
%attr(755, root, root) /usr/lib/libhprof.so
/usr/share/man/man1/*
/usr/share/doc/hprof
/usr/share/hprof
END
    # What it is made from is stripped already, and may be of another machine.
    rpmbuild --quiet -bb --target "$architecture-linux" \
        -D "_topdir $work" -D "_rpmdir $work" -D "_build_id_links none" -D "_buildhost hprof" -D "__os_install_post %{nil}" \
        -D "use_source_date_epoch_as_buildtime 1" -D "clamp_mtime_to_source_date_epoch 1" -D "_binary_payload w6.xzdio" \
        "$work/hprof.spec" >&2
    mv "$work/$architecture/hprof-$version-1.$architecture.rpm" "$dist/"
}

# put_into_jar NAME FILE...
put_into_jar() {
    local home=$packaging/jar/native/$1
    mkdir -p "$home"
    cp "${@:2}" "$home/"
    (cd "$home" && sha256sum -- * >"$packaging/SHA256" && mv "$packaging/SHA256" .)
}

# make_jars PLATFORM...
make_jars() {
    local platform artifact
    if ! need_command mvn maven; then
        skip "the jars: Maven could not be installed"
        return
    fi
    rm -rf "$packaging/jar"
    for platform in "$@"; do
        if is_linux "$platform"; then
            put_into_jar "linux-$platform" "$packaging/root/$platform"/{bin/hprof,lib/libhprof.so}
        else
            put_into_jar "${platform#*-}-${platform%-*}" "$packaging/elsewhere/$platform"/{hprof.exe,hprof.dll}
        fi
    done
    mkdir -p "$packaging/jar/META-INF"
    cp LICENSE-MIT LICENSE-APACHE "$dist/THIRD-PARTY.txt" "$packaging/jar/META-INF/"
    note "building the jars"
    mvn -q -B -ntp -Dstyle.color=never -f java/pom.xml clean verify -DbuildDirectory="$packaging/maven" \
        -Dproject.build.outputTimestamp="$SOURCE_DATE_EPOCH" -Dhprof.native="$packaging/jar" >&2
    cp java/pom.xml "$dist/hprof-parent-$version.pom"
    for artifact in hprof hprof-junit; do
        cp "$packaging/maven/$artifact/$artifact-$version"{,-sources,-javadoc}.jar "$dist/"
        cp "java/$artifact/pom.xml" "$dist/$artifact-$version.pom"
    done
}

print_sizes() {
    printf '%12s  %s\n' bytes file
    (cd "$packaging" && find . -type f \( -path './root/*/bin/hprof' -o -path './root/*/libhprof.so' -o -path './elsewhere/*/hprof.???' -o -path './elsewhere/*/bin/hprof' \) -exec stat -c '%12s  %n' {} +)
    (cd "$dist" && stat -c '%12s  %n' -- *)
}

# reproduce PLATFORM...: the same commit in another folder, with nothing built before.
reproduce() {
    local copy
    git diff --quiet HEAD || die "there are changes that are not committed: the copy would not have them"
    "$0" "$@" >/dev/null
    copy=$(mktemp -d)
    git archive HEAD | tar -x -C "$copy"
    mkdir "$copy/target"
    ln -s "$tools" "$copy/target/tools"
    env -u CARGO_TARGET_DIR "$copy/scripts/package" "$@" >/dev/null
    diff -r "$dist" "$copy/target/package/dist" || die "the packages differ; the copy is in $copy"
    diff -r "$packaging/debug" "$copy/target/package/debug" || die "the debug information differs; the copy is in $copy"
    rm -rf "$copy"
    echo "the same, byte for byte: $(cd "$dist" && echo *)"
}

# Checks what would be uploaded with each registry's own tool. Nothing leaves the machine.
check_uploads() {
    local venv=$tools/twine repository=$packaging/maven-repository
    if "$venv/bin/python" -m twine --version >/dev/null 2>&1 || { need_pip && python3 -m venv --clear "$venv" && "$venv/bin/pip" install --quiet twine==7.0.0; }; then
        "$venv/bin/python" -m twine check --strict "$dist"/*.whl
    else
        skip "twine check: it could not be installed"
    fi
    if need_command mvn maven; then
        note "deploying to the Maven repository $repository"
        rm -rf "$repository"
        mvn -q -B -ntp -Dstyle.color=never -f java/pom.xml deploy -DbuildDirectory="$packaging/maven" -Dhprof.native="$packaging/jar" \
            -Dproject.build.outputTimestamp="$SOURCE_DATE_EPOCH" -DaltDeploymentRepository="local::file:$repository" >&2
        python3 scripts/lib/check_central.py "$repository"
    else
        skip "the deployment of the jars: Maven could not be installed"
    fi
    if command -v dpkg-scanpackages >/dev/null; then
        (cd "$dist" && dpkg-scanpackages --multiversion . /dev/null)
    else
        skip "the index of a Debian repository: dpkg-scanpackages, of dpkg-dev, is missing"
    fi
    # No address is decided yet; and an agent is loaded by its path, and so needs no soname.
    if need_command lintian lintian; then
        lintian --no-cfg --allow-root --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog \
            --suppress-tags sharedobject-in-library-directory-missing-soname --fail-on error "$dist"/*.deb
    else
        skip "lintian: it could not be installed"
    fi
    if need_command rpmlint rpmlint; then
        rpmlint --rpmlintrc scripts/lib/rpmlintrc "$dist"/*.rpm
    else
        skip "rpmlint: it could not be installed"
    fi
    if command -v rpm >/dev/null; then
        rpm --checksig "$dist"/*.rpm
    else
        skip "rpm --checksig: it is not installed"
    fi
    (cd "$dist" && sha256sum --check --quiet SHA256SUMS && echo "SHA256SUMS: all as they should be")
}
