# shellcheck shell=bash
# Fetches the real programs that are profiled by the tests, the demo and the benchmark, into target/programs:
#
#   compiler.jar lodash.js   the Closure compiler and what it compiles
#   corpus/ corpus.files     sources for javac, and their absolute paths as a javac argument file
#   dumps/                   heap dumps that other tools wrote
#   classes/                 jars whose classes are rewritten: of Kotlin, of Scala, of Java compilers of all ages

programs=${target:?common.sh comes first}/programs
closure_version=20230802.0.0
lodash_version=4.17.21
corpus_jars="org.apache.commons:commons-lang3:3.17.0 commons-io:commons-io:2.18.0"

# npm_file PACKAGE FILE: one file out of an npm package.
npm_file() {
    local package=$1 file=$2 new
    [[ -f $programs/$file ]] && return
    need_command npm npm || return 1
    note "fetching $package"
    mkdir -p "$programs"
    new=$(mktemp -d "$programs/.new.XXXXXX")
    if (cd "$new" && npm pack --silent "$package" >/dev/null && tar -xzf ./*.tgz "package/$file"); then
        mv "$new/package/$file" "$programs/$file"
    fi
    rm -rf "$new"
    [[ -f $programs/$file ]]
}

fetch_closure() {
    npm_file "google-closure-compiler-java@$closure_version" compiler.jar && npm_file "lodash@$lodash_version" lodash.js
}

# corpus_from_maven DIR: the sources that are shipped on Maven Central; they depend on nothing but the JDK.
corpus_from_maven() {
    local jar
    need_command mvn maven && need_command unzip unzip || return 1
    for jar in $corpus_jars; do
        note "fetching the sources of $jar"
        mvn -q -B -Dstyle.color=never org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
            -Dartifact="$jar:jar:sources" -DoutputDirectory="$1/jars" >&2 || return 1
    done
    for jar in "$1"/jars/*.jar; do
        unzip -q -o "$jar" '*.java' -d "$1/corpus" || return 1
    done
}

fetch_corpus() {
    local new
    [[ -f $programs/corpus.files ]] && return
    mkdir -p "$programs"
    new=$(mktemp -d "$programs/.new.XXXXXX")
    if ! corpus_from_maven "$new"; then
        skip "shipped sources for javac: they could not be fetched; generated ones are compiled instead"
        rm -rf "$new/corpus"
        python3 scripts/lib/generate-sources.py "$new/corpus" || return 1
    fi
    rm -rf "$programs/corpus"
    mv "$new/corpus" "$programs/corpus" || return 1
    find "$programs/corpus" -name '*.java' | LC_ALL=C sort >"$new/corpus.files"
    mv "$new/corpus.files" "$programs/corpus.files" || return 1
    rm -rf "$new"
}

# Classes that other compilers and older versions made.
class_jars="org.jetbrains.kotlin:kotlin-stdlib:2.2.20 org.jetbrains.kotlin:kotlin-compiler-embeddable:2.2.20
    org.scala-lang:scala-library:2.13.16 org.codehaus.groovy:groovy-all:2.4.21 hsqldb:hsqldb:1.8.0.10
    xerces:xercesImpl:2.4.0 ant:ant:1.5.4 bouncycastle:bcprov-jdk14:138"

fetch_class_corpus() {
    local jar new
    [[ -d $programs/classes ]] && return
    need_command mvn maven || return 1
    mkdir -p "$programs"
    new=$(mktemp -d "$programs/.new.XXXXXX")
    for jar in $class_jars; do
        note "fetching the classes of $jar"
        if ! mvn -q -B -Dstyle.color=never org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
            -Dartifact="$jar" -DoutputDirectory="$new" >&2; then
            rm -rf "$new"
            return 1
        fi
    done
    mv "$new" "$programs/classes"
}

# Heap dumps of other tools that a crate has among its test files. Those of Eclipse MAT are in no registry: $HPROF_DUMPS may
# name folders that have them, such as a checkout of it.
fetch_dumps() {
    local new
    [[ -d $programs/dumps ]] && return
    mkdir -p "$programs"
    new=$(mktemp -d "$programs/.new.XXXXXX")
    note "fetching the heap dumps of hprof-slurp's tests"
    mkdir "$new/src" && touch "$new/src/lib.rs"
    printf '[package]\nname = "dumps"\nedition = "2024"\n[workspace]\n[dependencies]\nhprof-slurp = "=0.10.0"\n' >"$new/Cargo.toml"
    if (cd "$new" && cargo vendor --quiet >/dev/null); then
        mv "$new/vendor/hprof-slurp/test-heap-dumps" "$programs/dumps"
    fi
    rm -rf "$new"
    [[ -d $programs/dumps ]]
}

corpus_size() { wc -l <"$programs/corpus.files"; }

# The arguments that run them: `"$home/bin/javac" "${javac_corpus[@]}" DIRECTORY`, `"$home/bin/java"
# "${closure_lodash[@]}" FILE`, where DIRECTORY and FILE take the output.
# shellcheck disable=SC2034 # scripts that source this use them
javac_corpus=(-proc:none -nowarn -Xlint:none -encoding UTF-8 "@$programs/corpus.files" -d)
# shellcheck disable=SC2034
closure_lodash=(-jar "$programs/compiler.jar" -O SIMPLE --js "$programs/lodash.js" --js_output_file)
