# shellcheck shell=bash
# The part of `scripts/test-windows` about how programs end, with the profile, and about samples.

compile_ends() {
    "$(newest_compiler)/bin/javac" -nowarn -Xlint:-options -g --release 11 -d "${work:?}/classes" \
        java-tests/samples/{Exits,Spin,Churn,Inlined,Paths}.java java-tests/oom/Leak.java
}

# ended STATUS OPTIONS ARGUMENT...: the program ends with this status on Windows.
ended() {
    local status=0
    (cd "$work/windows" && wine "${windows_jre:?}/bin/java.exe" "-agentpath:Z:${work//\//\\}\\hprof.dll=$2" -XX:+UseSerialGC -cp ../classes \
        "${@:3}" >out 2>&1 </dev/null) || status=$?
    [[ $status == "$1" ]] || die "\`${*:3}\` with \`$2\` ends with status $status on Windows, not $1: $(cat "$work/windows/out")"
}

# has FILE TEXT...: what the last program wrote into a file of its folder, or printed (`out`), has these texts.
has() {
    local text
    for text in "${@:2}"; do
        grep -Eq -- "$text" "$work/windows/$1" || die "$1 lacks \`$text\`: $(tail -n 40 "$work/windows/$1")"
    done
}

check_ends() {
    check_exits
    check_killed
    check_exhausted
    check_disks
    check_sampled
    echo "programs that end, are killed, have no memory or no disk, and many samples: as expected"
}

check_exits() {
    local way
    for way in return:0 exit:3 halt:4 throw:1; do
        ended "${way#*:}" "cpu=samples,interval=5,depth=3,file=${way%:*}.txt" Exits "${way%:*}"
        has "${way%:*}.txt" '^ +1 .* Exits[.]busy$' '^CPU SAMPLES END$' '^\(end of the profile'
    done
}

# TerminateProcess: what was dumped before can be read.
check_killed() {
    local folder=$work/windows pid
    (cd "$folder" && exec wine "$windows_jre/bin/java.exe" "-agentpath:Z:${work//\//\\}\\hprof.dll=cpu=samples,interval=5,format=b,file=killed.hprof" \
        -XX:+UseSerialGC -cp ../classes Exits wait >waiting 2>&1 </dev/null) &
    await "$folder/waiting" ready
    pid=$(attached list | awk '/ Exits wait/ { print $1 }')
    says dumped dump "$pid"
    wine taskkill /f /pid "$pid" >/dev/null 2>&1 </dev/null
    wait $! || true
    says "CPU SAMPLES" check killed.hprof
    says "Exits.busy" top killed.hprof
}

check_exhausted() {
    ended 1 heap=sites,depth=4,file=exhausted.txt -Xmx64m Leak die
    has exhausted.txt ' Leak[$]Order$' '^SITES END$'
    (cd "$work/windows" && wine ../hprof.exe text exhausted.oom-1.hprof -o exhausted.text </dev/null) || die "the file of oom= cannot be read"
    has exhausted.text '^Exhausted: +Java heap space' '^Stack: .*Leak[.]fill' '^SITES END$'
    # Of 20,000 bytes each, most of 64 MB.
    has exhausted.text ' (2[5-9]|3[0-9])[0-9]{2} +[0-9]+ +[0-9]+ +[0-9]+ byte\[\]$'
}

check_disks() {
    local folder=$work/windows file
    for file in 'Z:\proc\x.txt' 'no folder\x.txt' ..; do
        ended 1 "heap=sites,file=$file" Exits exit
        has out "^hprof: option file=.*must be a file of your own that can be written"
    done
    mkdir "$folder/small"
    if ! mount -t tmpfs -o size=32k none "$folder/small" 2>/dev/null; then
        skip "a full disk on Windows: this user may not mount a file system"
        return
    fi
    trap 'wineserver --kill; umount "$work/windows/small"; rm -rf "$work"' EXIT
    ended 3 heap=sites,depth=8,cutoff=0,file=small/x.txt Exits exit
    has out "hprof: small/x.txt: .*; the profile ends here, the program continues"
    has small/x.txt "^TRACE "
    ended 3 cpu=samples,heap=sites,depth=8,format=b,file=small/x.hprof Exits exit
    has out "hprof: small/x.hprof: .*; the profile ends here, the program continues"
    says TRACE check small/x.hprof
    ended 3 heap=dump,format=b,file=small/dump.hprof Exits exit
    has out "hprof: no heap dump: it may take .*; the program continues"
    umount "$folder/small"
    trap 'wineserver --kill; rm -rf "$work"' EXIT
}

# Who is charged, and of what. Wine lacks a function of Windows that Java 21 and later call for IPv6.
check_sampled() {
    sampled_as_known depth=3 Spin -Djava.net.preferIPv4Stack=true Spin
    sampled_as_known depth=4 Inlined Inlined 2000
    sampled_as_known depth=64 Paths -Xmx256m Paths 10000
    sampled_as_known interval=1,depth=64 Churn -Xmx100m -Xss1m Churn 10000
    has out "^churned"
    ended 0 cpu=samples,file=default.txt Exits return
    has default.txt '^Samples: +engine=async$'
    ended 0 cpu=samples,engine=jvmti,verbose=y,file=safepoints.txt Exits return
    has out "^engine=jvmti, safepoint-biased;"
    has safepoints.txt '^ +1 .* Exits[.]busy$'
}

# sampled_as_known OPTIONS PROGRAM ARGUMENT...: the samples are what the program says of itself. A share of few samples, as on a busy
# machine, may be far off by chance: then more runs are added.
sampled_as_known() {
    local tries profiles=()
    for tries in 1 2 3 4; do
        ended 0 "cpu=samples,engine=async,interval=5,cutoff=0,verbose=y,$1,file=samples-$tries.txt" "${@:3}"
        has "samples-$tries.txt" '^CPU SAMPLES END$'
        profiles+=("$work/windows/samples-$tries.txt")
        if python3 scripts/lib/windows_samples.py "$2" "$work/windows/out" "${profiles[@]}"; then return; fi
    done
    die "the samples of $2 are not those of its methods, in $tries runs"
}
